"""Two jobs that are nominated to one node, each for victims of its own."""

from __future__ import annotations

from tests.scheduler.queues.rig import QueueRig
from tests.scheduler.wakeups.rig import uid


def two_on_one_node() -> QueueRig:
    """Each of two jobs evicts one of the two pods on the only node."""
    rig = QueueRig()
    rig.node("n0", cpu=2)
    for name in ("low-1", "low-2"):
        rig.member(name, on="n0", priority=0)
    for name in ("a", "b"):
        rig.member(name, priority=10)
    rig.settle()
    assert rig.evicted() == ["low-1", "low-2"]
    return rig


def test_whoever_is_nominated_beside_another_waits_for_the_victims_of_both():
    rig = two_on_one_node()
    rig.gone("low-1")
    rig.settle()
    assert rig.message("a").endswith("not eligible due to a terminating pod on the nominated node.")
    assert rig.cluster.pods[uid("a")].nominated_node == "n0"


def test_both_start_when_the_last_victim_has_left():
    rig = two_on_one_node()
    rig.gone("low-1")
    rig.settle()
    rig.gone("low-2")
    rig.settle()
    assert rig.is_placed("a")
    assert rig.is_placed("b")
