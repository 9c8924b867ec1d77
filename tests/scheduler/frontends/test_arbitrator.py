"""Gangs by SchedulingSpecs: pods and spec are joined by the UID of their controller."""

from __future__ import annotations

from koordpy.api.pod import Pod
from tests.builders import typed
from tests.scheduler.frontends.rig import MADE_BY_GROUPER, FrontEndRig, of_kai, owned_json


def rig_with(cpu: int, **labels: str) -> FrontEndRig:
    rig = FrontEndRig()
    rig.node("n", cpu=cpu, labels=labels)
    return rig


def test_pods_of_an_owner_without_a_spec_start_one_by_one():
    rig = rig_with(cpu=1)
    rig.owned("j-1", "job")
    rig.owned("j-2", "job")
    rig.settle()
    assert len(rig.placed()) == 1


def test_pods_of_an_owner_with_a_spec_are_a_gang():
    rig = rig_with(cpu=1)
    rig.spec("job", 2)
    rig.owned("j-1", "job")
    rig.owned("j-2", "job")
    rig.settle()
    assert rig.placed() == []
    assert "gang default/job: 1 of 2 members fit" in rig.message("j-1")


def test_a_spec_that_comes_after_the_pods_makes_them_a_gang():
    rig = rig_with(cpu=1)
    rig.owned("j-1", "job")
    rig.owned("j-2", "job")
    rig.spec("job", 2)
    rig.settle()
    assert rig.placed() == []
    rig.node("more", cpu=1)
    rig.settle()
    assert rig.placed() == ["j-1", "j-2"]


def test_pods_of_a_spec_that_goes_are_ordinary_pods_again():
    rig = rig_with(cpu=1)
    rig.spec("job", 2)
    rig.owned("j-1", "job")
    rig.settle()
    assert rig.placed() == []
    rig.no_spec("job")
    rig.settle()
    assert rig.placed() == ["j-1"]


def test_an_owner_made_again_under_its_name_is_another_job():
    rig = rig_with(cpu=8)
    rig.spec("job", 2, uid="first")
    rig.owned("j-1", "job", uid="first")
    rig.owned("j-2", "job", uid="second")
    rig.settle()
    assert rig.placed() == ["j-2"]


def test_pods_of_a_queue_job_wait_for_their_spec():
    rig = rig_with(cpu=8)
    rig.owned("q-1", "qj", kind="QueueJob")
    rig.settle()
    assert rig.placed() == []
    assert rig.message("q-1") == "the pods of default/qj wait for their SchedulingSpec, which does not exist"
    rig.spec("qj", 1)
    rig.settle()
    assert rig.placed() == ["q-1"]


def test_the_node_selector_of_a_spec_narrows_that_of_its_pods():
    rig = rig_with(cpu=8)
    rig.node("fast", cpu=1, labels={"disk": "ssd"})
    rig.spec("job", 1, nodeSelector={"disk": "ssd"})
    rig.owned("j-1", "job")
    rig.owned("j-2", "job")
    rig.settle()
    assert rig.nodes_of("job@u-job") == ["fast"]


def test_selectors_that_exclude_each_other_say_so():
    rig = rig_with(cpu=8, disk="ssd")
    rig.spec("job", 1, nodeSelector={"disk": "ssd"})
    rig.owned("j-1", "job", node_selector={"disk": "tape"})
    rig.settle()
    assert rig.placed() == []
    assert "its nodeSelector disk=tape and that of SchedulingSpec default/job, disk=ssd, exclude each other" in (
        rig.message("j-1")
    )


def test_a_selector_that_changes_is_followed():
    rig = rig_with(cpu=8)
    rig.spec("job", 1, nodeSelector={"disk": "ssd"})
    rig.owned("j-1", "job")
    rig.settle()
    assert rig.placed() == []
    rig.spec("job", 1)
    rig.settle()
    assert rig.placed() == ["j-1"]


def test_the_priority_of_a_spec_orders_its_job():
    rig = rig_with(cpu=1)
    rig.spec("low", 1, priority=1)
    rig.owned("low-1", "low", priority=10)
    rig.spec("high", 1, priority=5)
    rig.owned("high-1", "high")
    rig.settle()
    assert rig.placed() == ["high-1"]


def test_a_pod_group_of_our_own_grouper_never_outranks_a_spec():
    rig = rig_with(cpu=8)
    rig.kai("pg-job", minMember=1, labels=MADE_BY_GROUPER)
    rig.spec("job", 2)
    rig.owned("j-1", "job", says=of_kai("pg-job"))
    rig.settle()
    assert rig.placed() == []
    assert "gang default/job is incomplete: 1 of 2 members" in rig.message("j-1")


def test_a_pod_group_of_a_users_outranks_a_spec():
    rig = rig_with(cpu=8)
    rig.kai("mine", minMember=1)
    rig.spec("job", 2)
    rig.owned("j-1", "job", says=of_kai("mine"))
    rig.settle()
    assert rig.placed() == ["j-1"]


def test_members_that_succeeded_before_the_spec_was_seen_count():
    rig = rig_with(cpu=1)
    done = owned_json("j-0", "job", phase="Succeeded", created="2026-01-01T00:00:01Z")
    rig.pods.upsert(typed(done, Pod))
    rig.spec("job", 2)
    rig.owned("j-1", "job")
    rig.settle()
    assert rig.placed() == ["j-1"]


def test_a_profile_may_ask_for_a_spec_of_every_pod_with_a_controller():
    rig = rig_with(cpu=8)
    rig.cluster.claims._needing_spec = ("koord-scheduler",)
    rig.owned("j-1", "job")
    rig.member("bare")
    rig.settle()
    assert rig.placed() == ["bare"]
    rig.spec("job", 1)
    rig.settle()
    assert rig.placed() == ["bare", "j-1"]
