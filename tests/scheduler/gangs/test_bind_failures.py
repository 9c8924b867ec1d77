"""A bind that fails after the gang was complete: only its pod goes back, and it is never left behind."""

from __future__ import annotations

from typing import Any

import pytest

from koordpy.kube.errors import ApiError, Forbidden, NotFound
from koordpy.scheduler.queue.ticket import State
from tests.scheduler.gangs.rig import GangRig, saying
from tests.scheduler.wakeups.rig import uid

POLICIES = ("once-satisfied", "waiting-and-running", "only-waiting")


class Binds:
    """An API server that takes binds, but for pods that it refuses."""

    def __init__(self) -> None:
        self.refused: set[str] = set()
        self.error: ApiError = Forbidden("a webhook says no", status=403)
        self.bound: dict[str, str] = {}

    async def write(self, method: str, path: str, body: Any, **_: object) -> bytes:
        if path.endswith("/binding"):
            name = body["metadata"]["name"]
            if name in self.refused:
                raise self.error
            self.bound[name] = body["target"]["name"]
        return b"{}"


def send(rig: GangRig, most: int = 100) -> None:
    """Carry out the binds that were decided."""
    binds = rig.lanes.binds
    for _ in range(min(most, len(binds))):
        call: Any = binds._calls.get_nowait()()
        with pytest.raises(StopIteration):
            call.send(None)


def half_bound(policy: str) -> tuple[GangRig, Binds]:
    """Three of four members are bound, and the watch has said so; the bind of `a-1` was refused."""
    api = Binds()
    rig = GangRig(client=api)
    rig.node("n1", cpu=4)
    rig.gang("a", 4, says=saying(policy=policy))
    rig.members("a", 4)
    rig.settle()
    api.refused = {"a-1"}
    send(rig)
    for name, node in api.bound.items():
        rig.member(name, "a", on=node)
    api.refused = set()
    return rig, api


@pytest.mark.parametrize("policy", POLICIES)
def test_the_pod_whose_bind_failed_follows_its_gang(policy):
    rig, api = half_bound(policy)
    assert set(api.bound) == {"a-2", "a-3", "a-4"}
    rig.settle()
    send(rig)
    assert api.bound["a-1"] == "n1"


def test_the_pod_whose_bind_failed_follows_its_gang_although_others_have_finished_already():
    rig, api = half_bound("only-waiting")
    rig.member("a-2", "a", on="n1", phase="Succeeded")
    rig.settle()
    send(rig)
    assert api.bound["a-1"] == "n1"


def test_a_gang_that_only_counts_waiting_members_does_so_again_once_it_was_complete():
    rig, _ = half_bound("only-waiting")
    rig.settle()
    rig.member("a-1", "a", on="n1")
    rig.gone("a-4")
    rig.member("a-5", "a")
    rig.settle()
    assert rig.where("a-5") is None
    assert rig.message("a-5").startswith("gang default/a is incomplete: 1 of 4 members")


def test_it_does_so_again_also_if_the_news_is_that_a_member_that_ran_has_succeeded():
    """`a-0` runs from before; of the next two one is bound and one is not; two of two are there when `a-0` succeeds."""
    api = Binds()
    rig = GangRig(client=api)
    rig.node("n1", cpu=3)
    rig.gang("a", 2, says=saying(policy="only-waiting"))
    rig.member("a-0", "a", on="n1")
    rig.members("a", 2)
    rig.settle()
    api.refused = {"a-2"}
    send(rig, 1)
    rig.member("a-1", "a", on="n1")
    send(rig)
    rig.member("a-0", "a", on="n1", phase="Succeeded")
    rig.settle()
    assert rig.where("a-2") is None
    assert rig.message("a-2").startswith("gang default/a is incomplete: 1 of 2 members")


def test_a_member_that_was_terminating_and_succeeds_is_replaced():
    """Three of four run when a new leader comes and the fourth is terminating; that it succeeds counts for nothing."""
    rig = GangRig()
    rig.node("n1", cpu=8)
    rig.gang("a", 4, says=saying(policy="only-waiting"))
    rig.members("a", 3, on="n1")
    rig.member("a-4", "a", on="n1", terminating=True)
    rig.hand_over()
    rig.member("a-4", "a", on="n1", terminating=True, phase="Succeeded")
    rig.member("a-5", "a")
    rig.settle()
    assert rig.where("a-5") == "n1"


def test_a_pod_whose_bind_failed_joins_those_that_were_left_over():
    """Two small ones were to start, and the large one was left over; the node of the small ones is gone meanwhile."""
    api = Binds()
    rig = GangRig(client=api)
    rig.node("n1", cpu=2)
    rig.gang("a", 2)
    rig.members("a", 2)
    rig.member("a-3", "a", cpu=8)
    rig.settle()
    rig.no_node("n1")
    rig.node("n2", cpu=2)
    api.refused = {"a-1", "a-2"}
    send(rig)
    rig.settle()
    assert rig.nodes_of("a") == ["n2", "n2"]


def test_a_bind_that_fails_after_the_group_changed_leaves_no_ticket_of_the_old_one():
    api = Binds()
    rig = GangRig(client=api)
    rig.node("n1", cpu=2)
    rig.gang("a", 2)
    rig.members("a", 2)
    rig.settle()
    rig.gang("a", 2, says=saying(groups=["b"]))
    api.refused = {"a-1", "a-2"}
    send(rig)
    rig.settle()
    assert rig.queue._tickets.keys() == rig.jobs._groups.keys() == {"default/a,default/b"}
    assert rig.message("a-1").startswith("gang default/b does not exist")


def test_a_bind_that_keeps_failing_is_tried_again_ever_more_rarely():
    api = Binds()
    rig = GangRig(client=api)
    rig.node("n1", cpu=2)
    rig.gang("a", 2)
    rig.members("a", 2)
    api.refused = {"a-1", "a-2"}
    waits = []
    for _ in range(5):
        rig.settle()
        send(rig)
        ticket = rig.queue._tickets["default/a"]
        assert ticket.state is State.BACKOFF
        waits.append(round(ticket.ready_at - rig.hand_clock.now))
    assert waits == [1, 2, 4, 8, 10]
    assert rig.throttle._said.keys() == {uid("a-1"), uid("a-2")}


def test_a_bind_that_fails_when_its_gang_sleeps_again_does_not_break_the_wake_ups():
    """The first bind fails, the gang is refused because its node is gone, and only then the second bind fails."""
    api = Binds()
    rig = GangRig(client=api)
    rig.node("n1", cpu=2)
    rig.gang("a", 2)
    rig.members("a", 2)
    rig.settle()
    rig.node("n1", cpu=0)
    api.refused = {"a-1", "a-2"}
    send(rig, 1)
    rig.settle()
    assert rig.queue._tickets["default/a"].state is State.UNSCHEDULABLE
    send(rig, 1)
    rig.settle()
    for cpu in (1, 2):
        rig.node("n1", cpu=cpu)
        rig.settle()
    assert rig.nodes_of("a") == ["n1", "n1"]


def test_a_pod_is_not_lost_by_a_mistake_of_ours_in_its_bind():
    class Broken(Binds):
        async def write(self, method: str, path: str, body: Any, **_: object) -> bytes:
            raise RuntimeError("nobody has thought of this")

    rig = GangRig(client=Broken())
    rig.node("n1", cpu=1)
    rig.pod("p", cpu=1)
    rig.settle()
    send(rig)
    assert not rig.cluster.pods[uid("p")].node
    assert rig.queue.counts()[State.BACKOFF] == 1


def test_a_pod_that_is_said_to_be_gone_and_is_not_is_tried_again():
    api = Binds()
    api.error = NotFound("no such pod", status=404)
    api.refused = {"p"}
    rig = GangRig(client=api)
    rig.node("n1", cpu=1)
    rig.pod("p", cpu=1)
    rig.settle()
    send(rig)
    assert not rig.cluster.pods[uid("p")].node
    assert rig.queue.counts()[State.BACKOFF] == 1
