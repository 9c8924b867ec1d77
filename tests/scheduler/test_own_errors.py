"""Errors of our own: what was assumed is given back, and everything derived is made anew."""

from __future__ import annotations

import pytest

from koordpy.api.pod import Pod
from koordpy.api.podgroup.coscheduling import SIGS_GROUP, PodGroup
from koordpy.scheduler.execute.bind import Binder
from koordpy.scheduler.jobs import Jobs
from koordpy.scheduler.planning import Planning
from koordpy.scheduler.queue.active import ActiveQueue
from koordpy.scheduler.queue.heap import TicketHeap
from koordpy.scheduler.queue.queue import JobQueue
from koordpy.scheduler.queue.ticket import State
from koordpy.state.cluster import Cluster
from koordpy.state.gangs.gang import Gang
from tests.builders import typed, with_identity
from tests.scheduler.gangs.rig import GangRig, member_json, pod_group_json
from tests.scheduler.wakeups.rig import Rig, uid


class Once:
    """Raises at its n-th call, before or after it did its work."""

    def __init__(self, monkeypatch, owner: type, name: str, *, at: int = 1) -> None:
        self._left, original = at, getattr(owner, name)

        def call(*args, **given):
            self._left -= 1
            if self._left == 0:
                raise RuntimeError("a mistake of ours")
            return original(*args, **given)

        monkeypatch.setattr(owner, name, call)


def attempt(rig: Rig) -> None:
    ticket = rig.scheduler.next_ticket()
    assert ticket is not None
    rig.scheduler.attempts.run(ticket)


@pytest.mark.parametrize(("owner", "name"), [(Binder, "release"), (Cluster, "assume")])
def test_an_error_after_a_pod_was_reserved_unreserves_it(monkeypatch, owner: type, name: str):
    rig = Rig()
    rig.node("n1", cpu=1)
    rig.pod("p", cpu=1)
    Once(monkeypatch, owner, name)
    attempt(rig)
    assert (rig.where("p"), rig.cluster.nodes.requested[0].sum()) == (State.BACKOFF, 0)
    rig.settle()
    assert rig.where("p") == "n1"


@pytest.mark.parametrize("at", [1, 2, 3])
def test_an_error_in_the_middle_of_a_gang_leaves_nothing_of_it_assumed(monkeypatch, at: int):
    rig = GangRig()
    rig.node("n1", cpu=3)
    rig.gang("a", 3)
    rig.members("a", 3)
    Once(monkeypatch, Cluster, "assume", at=at)
    attempt(rig)
    assert rig.nodes_of("a") == []
    rig.settle()
    assert rig.nodes_of("a") == ["n1"] * 3


@pytest.mark.parametrize(
    ("owner", "name", "at"),
    [
        (JobQueue, "put_back", 1),
        (JobQueue, "_push_active", 1),
        (ActiveQueue, "pop_equivalent", 1),
        (TicketHeap, "pop", 3),
    ],
)
def test_an_error_over_pods_that_are_planned_together_loses_none_of_them(monkeypatch, owner: type, name: str, at: int):
    """Those behind the first are popped with it, and put back if they do not fit."""
    rig = Rig()
    for pod in ("p", "q", "r"):
        rig.pod(pod, cpu=1)
    Once(monkeypatch, owner, name, at=at)
    attempt(rig)
    rig.settle()
    assert [rig.where(pod) for pod in ("p", "q", "r")] == [State.UNSCHEDULABLE] * 3


def test_an_error_of_ours_over_one_pod_neither_loses_it_nor_disturbs_others(monkeypatch):
    rig = Rig()
    rig.node("n1", cpu=2)
    Once(monkeypatch, Jobs, "pod_changed")
    rig.pod("p", cpu=1)
    rig.pod("q", cpu=1)
    rig.settle()
    assert (rig.where("p"), rig.where("q")) == ("n1", "n1")


def test_an_object_over_which_we_always_fail_is_left_out(monkeypatch):
    rig = Rig()
    rig.node("n1", cpu=2)
    original = Cluster.upsert_pod

    def poisoned(self, pod):
        if pod.metadata.name == "poison":
            raise RuntimeError("always")
        return original(self, pod)

    monkeypatch.setattr(Cluster, "upsert_pod", poisoned)
    rig.pod("poison", cpu=1)
    rig.pod("p", cpu=1)
    rig.settle()
    assert rig.where("p") == "n1"
    assert uid("poison") not in rig.cluster.pods


def test_counting_anew_gives_the_same_counts():
    rig = GangRig()
    for name in ("n1", "n2"):
        rig.node(name, cpu=8)
    rig.pod("fan", on="n1", labels={"app": "web"}, cpu=1)
    rig.gang("a", 2)
    rig.members("a", 2, cpu=2)
    rig.settle()
    before = rig.cluster.nodes.requested.tobytes(), rig.nodes_of("a")
    rig.cluster.recount()
    assert (rig.cluster.nodes.requested.tobytes(), rig.nodes_of("a")) == before


def test_after_an_error_a_pod_is_told_again_why_it_waits_even_if_the_api_server_still_says_so(monkeypatch):
    """That planning has failed is on its way to the API server, and would be the last that the pod is told."""
    rig = GangRig()
    rig.node("n1", cpu=1)
    rig.member("p", cpu=2)
    rig.settle()
    why = rig.message("p")
    told = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": why}
    pod = member_json("p", cpu=2) | {"status": {"conditions": [told]}}
    rig.pods.upsert(typed(pod, Pod))
    rig.queue.flush(older_than_s=-1.0)
    Once(monkeypatch, Planning, "plan")
    attempt(rig)
    assert rig.message("p").startswith("planning failed")
    rig.built.parts.recovery.run()
    rig.settle()
    assert rig.message("p") == why


def test_an_error_over_a_pod_group_that_was_made_again_does_not_count_members_of_its_predecessor(monkeypatch):
    rig = GangRig()
    rig.gang("a", 2)
    rig.member("a-1", "a", on="n1", phase="Succeeded", created="2029-01-01T00:00:00Z")
    gang = rig.cluster.gangs.get("default/a")
    assert gang is not None
    assert gang.started
    Once(monkeypatch, Gang, "begin_anew")
    again = with_identity(pod_group_json("a", 2))
    again["metadata"] |= {"uid": "another", "creationTimestamp": "2030-01-01T00:00:00Z"}
    rig.pod_groups[SIGS_GROUP].upsert(typed(again, PodGroup))
    assert not gang.started
