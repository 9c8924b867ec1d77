"""What is pending and why, as metrics tell it: every pod has one reason, and sums are the truth."""

from __future__ import annotations

import json

import pytest
from prometheus_client import REGISTRY

from koordpy.app.gauges import Gauges
from koordpy.app.pending import REASONS, pending_in
from tests.scheduler.frontends.rig import of_kai
from tests.scheduler.gangs.rig import GangRig, saying
from tests.scheduler.queues.rig import QueueRig
from tests.scheduler.test_backfill import TimedRig
from tests.scheduler.wakeups.rig import Rig

GATHER = {"gatherStrategy": [{"layer": "Rack", "strategy": "MustGather"}]}


@pytest.fixture
def rig() -> GangRig:
    return GangRig()


def refreshed(rig: Rig, *, leads: bool = True, wall: float = 0.0) -> None:
    Gauges(lambda: rig.built, lambda: leads, clock=rig.hand_clock, wall=lambda: wall).refresh()


def value(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(name, labels)


# --- reasons ---


def test_a_pod_that_was_not_attempted_yet_is_queued(rig):
    rig.node("n1", cpu=4)
    rig.member("p")
    assert dict(pending_in(rig.built).pods) == {("", "queued"): 1}


def test_a_pod_for_which_too_little_is_free_waits_for_resources(rig):
    rig.node("n1", cpu=2)
    rig.member("other", on="n1")
    rig.member("p", cpu=2)
    rig.settle()
    assert dict(pending_in(rig.built).pods) == {("", "resources"): 1}


def test_a_pod_that_no_empty_node_would_have_room_for_never_fits(rig):
    rig.node("n1", cpu=1)
    rig.member("p", cpu=2)
    rig.settle()
    assert dict(pending_in(rig.built).pods) == {("", "never"): 1}


def test_a_gang_that_the_empty_cluster_would_not_hold_never_fits(rig):
    rig.node("n1", cpu=2)
    rig.gang("a", 3)
    rig.members("a", 3)
    rig.settle()
    assert dict(pending_in(rig.built).gangs) == {("", "never"): 1}


def test_a_pod_that_matches_no_node_waits_for_its_constraints(rig):
    rig.node("n1", cpu=4)
    rig.member("p", node_selector={"disk": "ssd"})
    rig.settle()
    assert dict(pending_in(rig.built).pods) == {("", "constraints"): 1}


def test_a_gang_without_all_of_its_members_is_incomplete(rig):
    rig.node("n1", cpu=4)
    rig.gang("a", 3)
    rig.members("a", 2)
    rig.settle()
    found = pending_in(rig.built)
    assert (dict(found.gangs), dict(found.pods)) == ({("", "incomplete"): 1}, {("", "incomplete"): 2})


def test_a_gang_without_its_pod_group_is_incomplete(rig):
    rig.members("a", 2)
    rig.settle()
    assert dict(pending_in(rig.built).gangs) == {("", "incomplete"): 1}


def test_a_gang_that_does_not_fit_waits_for_resources_with_every_member(rig):
    rig.node("n1", cpu=3)
    rig.member("other", on="n1")
    rig.gang("a", 3)
    rig.members("a", 3)
    rig.settle()
    found = pending_in(rig.built)
    assert (dict(found.gangs), dict(found.pods)) == ({("", "resources"): 1}, {("", "resources"): 3})


def test_a_gang_whose_min_resources_are_not_free_waits_for_resources(rig):
    rig.node("n1", cpu=2)
    rig.gang("a", 1, cpu="9")
    rig.members("a", 1)
    rig.settle()
    assert dict(pending_in(rig.built).gangs) == {("", "resources"): 1}


def test_gangs_that_start_together_are_counted_each(rig):
    rig.node("n1", cpu=2)
    rig.member("other", on="n1")
    for name in ("a", "b"):
        rig.gang(name, 1, says=saying(groups=["a", "b"]))
        rig.members(name, 1)
    rig.settle()
    assert dict(pending_in(rig.built).gangs) == {("", "resources"): 2}


def test_what_a_gang_holds_at_permit_waits_and_the_rest_of_it_says_what_it_lacks(rig):
    rig.node("n1", cpu=3)
    rig.member("other", on="n1")
    rig.gang("a", 3, says=saying(mode="NonStrict"))
    rig.members("a", 3)
    rig.settle()
    found = pending_in(rig.built)
    assert (dict(found.gangs), dict(found.pods)) == ({("", "waiting"): 1}, {("", "waiting"): 2, ("", "resources"): 1})
    assert (found.held, found.requested) == ({"cpu": 2.0}, {("", "cpu"): 1.0})


def test_gated_and_timed_out_pods_are_named_and_ask_for_nothing(rig):
    rig.node("n1", cpu=1)
    rig.member("gated", gated=True)
    rig.gang("a", 2)
    rig.member("a-1", "a", says={"gang.scheduling.koordinator.sh/timeout": "true"})
    rig.settle()
    found = pending_in(rig.built)
    assert (dict(found.pods), found.requested) == ({("", "gated"): 1, ("", "timed_out"): 1}, {})


def test_a_job_that_room_is_kept_for_is_preempting():
    rig = Rig()
    rig.node("n1", cpu=1)
    rig.pod("leaving", on="n1", cpu=1)
    rig.pod("p", cpu=1, promised="n1")
    assert dict(pending_in(rig.built).pods) == {("", "preempting"): 1}


def test_a_pod_that_cannot_be_read_is_an_error(rig):
    rig.node("n1", cpu=1)
    rig.member("p", cpu="many")
    rig.settle()
    assert dict(pending_in(rig.built).pods) == {("", "error"): 1}


def test_a_gang_that_must_be_gathered_and_cannot_waits_for_the_topology(rig):
    rig.node("n1", cpu=4)
    rig.gang("a", 1, says={"gang.scheduling.koordinator.sh/network-topology-spec": json.dumps(GATHER)})
    rig.members("a", 1)
    rig.settle()
    assert dict(pending_in(rig.built).gangs) == {("", "topology"): 1}


def test_pods_that_are_bound_in_flight_leaving_or_anothers_are_not_pending(rig):
    rig.node("n1", cpu=4)
    rig.member("bound", on="n1")
    rig.member("placed")
    rig.member("other", scheduler="another")
    rig.settle()
    assert dict(pending_in(rig.built).pods) == {}


# --- what they ask for ---


def test_requests_of_pending_pods_are_added_up_by_resource(rig):
    rig.node("n1", cpu=1, memory="1Gi")
    for name in ("a", "b"):
        rig.member(name, cpu="1500m", memory="2Gi")
    rig.settle()
    assert pending_in(rig.built).requested == {("", "cpu"): 3.0, ("", "memory"): 4.0 * 2**30}


def test_names_that_pods_invent_are_no_labels(rig):
    rig.node("n1", cpu=1)
    rig.member("p", cpu=2, example__com_x=1)
    rig.settle()
    assert set(pending_in(rig.built).requested) == {("", "cpu")}


# --- gauges ---


def test_every_reason_is_there_also_with_nothing_pending(rig):
    refreshed(rig)
    for reason in REASONS:
        for name in ("koordpy_pending_gangs", "koordpy_pending_pods", "koordpy_oldest_pending_seconds"):
            assert value(name, queue="", reason=reason) == 0


def test_the_oldest_pod_of_each_reason_gives_the_age(rig):
    rig.node("n1", cpu=2)
    rig.member("other", on="n1")
    for name, created in (("old", "1970-01-01T00:01:40Z"), ("new", "1970-01-01T00:03:20Z")):
        rig.member(name, cpu=2, created=created)
    rig.settle()
    refreshed(rig, wall=1000)
    assert value("koordpy_oldest_pending_seconds", queue="", reason="resources") == 900


def test_a_standby_tells_nothing_of_what_is_pending(rig):
    rig.member("p")
    refreshed(rig)
    assert value("koordpy_pending_pods", queue="", reason="queued") == 1
    refreshed(rig, leads=False)
    assert value("koordpy_pending_pods", queue="", reason="queued") is None


def test_what_is_held_and_asked_for_is_there_for_the_resources_of_either(rig):
    rig.node("n1", cpu=3)
    rig.member("other", on="n1")
    rig.gang("a", 3, says=saying(mode="NonStrict"))
    rig.members("a", 3)
    rig.settle()
    refreshed(rig)
    assert value("koordpy_waiting_requests", resource="cpu") == 2
    assert value("koordpy_pending_requests", queue="", resource="cpu") == 1
    assert value("koordpy_pending_requests", queue="", resource="memory") == 0
    assert value("koordpy_gang_waiting") == 1


def test_the_gang_that_has_held_room_for_longest_tells_for_how_long(rig):
    refreshed(rig)
    assert value("koordpy_longest_waiting_seconds") == 0
    rig.node("n1", cpu=3)
    rig.member("other", on="n1")
    rig.gang("a", 3, says=saying(mode="NonStrict"))
    rig.members("a", 3)
    rig.attempt()
    rig.hand_clock.now += 100
    refreshed(rig)
    assert value("koordpy_longest_waiting_seconds") == 100


# --- queues ---


def test_a_pod_that_its_queue_has_no_room_for_waits_for_the_queue():
    rig = QueueRig()
    rig.node("n1", cpu=4)
    rig.has_queue("a", cpu=(0, 1))
    rig.jobs_of("a", 2)
    rig.settle()
    assert dict(pending_in(rig.built).pods) == {("a", "queue"): 1}


def test_what_waits_is_told_by_queue_and_what_is_outside_with_none():
    rig = QueueRig()
    rig.node("n1", cpu=2)
    rig.has_queue("a")
    rig.has_queue("b")
    rig.member("other", on="n1", cpu=2)
    rig.kai("g", minMember=2, queue="a")
    for name in ("g-1", "g-2"):
        rig.member(name, says=of_kai("g"))
    rig.job("p", "b")
    rig.member("free")
    rig.settle()
    found = pending_in(rig.built)
    assert dict(found.gangs) == {("a", "resources"): 1}
    assert dict(found.pods) == {("a", "resources"): 2, ("b", "resources"): 1, ("", "resources"): 1}
    assert found.requested == {("a", "cpu"): 2.0, ("b", "cpu"): 1.0, ("", "cpu"): 1.0}


def test_names_of_queues_that_jobs_invent_are_no_labels():
    rig = QueueRig()
    rig.node("n1", cpu=4)
    rig.has_queue("a")
    rig.kai("g", minMember=1, queue="invented")
    rig.member("g-1", says=of_kai("g"))
    rig.job("p", "made-up")
    rig.settle()
    found = pending_in(rig.built)
    assert (dict(found.gangs), dict(found.pods)) == ({("", "queue"): 1}, {("", "queue"): 2})
    assert found.requested == {("", "cpu"): 2.0}


def test_the_oldest_pod_of_each_queue_gives_its_age():
    rig = QueueRig()
    rig.node("n1", cpu=1)
    rig.has_queue("a")
    rig.has_queue("b")
    rig.member("other", on="n1")
    for queue, created in (("a", "1970-01-01T00:01:40Z"), ("b", "1970-01-01T00:03:20Z")):
        rig.job(queue, queue, created=created)
    rig.settle()
    refreshed(rig, wall=1000)
    ages = [value("koordpy_oldest_pending_seconds", queue=queue, reason="resources") for queue in ("a", "b", "")]
    assert ages == [900, 800, 0]


def test_a_queue_that_is_gone_is_told_no_more():
    rig = QueueRig()
    rig.has_queue("a")
    rig.job("p", "a")
    refreshed(rig)
    assert value("koordpy_pending_pods", queue="a", reason="queued") == 1
    rig.no_queue("a")
    refreshed(rig)
    assert value("koordpy_pending_pods", queue="a", reason="queued") is None
    assert value("koordpy_pending_requests", queue="a", resource="cpu") is None


def test_a_quota_is_told_unless_it_is_unlimited_or_not_counted():
    rig = QueueRig()
    rig.has_queue("a", cpu=(2, -1))
    rig.has_queue("b", cpu=(-1, -1))
    refreshed(rig)
    assert value("koordpy_queue_quota", queue="a", resource="cpu") == 2
    assert value("koordpy_queue_quota", queue="a", resource="gpu") is None
    assert value("koordpy_queue_quota", queue="b", resource="cpu") is None


def test_queues_are_measured_in_cpus():
    rig = QueueRig()
    rig.node("n1", cpu=4)
    rig.has_queue("a", cpu=(0, 1))
    rig.jobs_of("a", 2)
    rig.settle()
    refreshed(rig)
    found = [
        value(f"koordpy_queue_{what}", queue="a", resource="cpu") for what in ("allocated", "requested", "fair_share")
    ]
    assert found == [1.0, 2.0, 1.0]
    assert value("koordpy_queue_pending_pods", queue="a") == 2  # one of them is about to be bound


def test_a_pod_that_waits_to_be_grouped_is_incomplete():
    rig = QueueRig()
    rig.node("n1", cpu=4)
    rig.grouper()
    rig.owned("p", "job")
    rig.settle()
    assert dict(pending_in(rig.built).pods) == {("", "incomplete"): 1}


# --- reservations ---


def reserved() -> TimedRig:
    """`big` waits for the node that is busy for ten seconds, and `small` was started on the other one meanwhile."""
    rig = TimedRig(nodes=2)
    rig.runs("busy", "n0", 10)
    rig.gang_of("big", 2)
    rig.settle()
    rig.pending("small", 8)
    rig.settle()
    return rig


def test_a_reserved_start_is_told_with_the_time_until_then():
    rig = reserved()
    refreshed(rig, wall=rig.hand_clock.now + 3)
    assert (value("koordpy_reservations"), value("koordpy_reserved_start_seconds")) == (1, pytest.approx(7, abs=1))


def test_backfilled_pods_are_counted_and_others_are_not():
    refreshed(reserved())
    assert value("koordpy_backfilled_pods") == 1


def test_a_standby_tells_of_no_reservation():
    refreshed(reserved(), leads=False)
    names = ("koordpy_reservations", "koordpy_reserved_start_seconds", "koordpy_backfilled_pods")
    assert [value(name) for name in names] == [0, 0, 0]
