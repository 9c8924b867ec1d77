"""Gangs that are alike sleep together and one is woken for all; those that only look alike do not."""

from __future__ import annotations

import pytest

from koordpy import metrics
from tests.scheduler.gangs.rig import GangRig, saying


def entered(queue: str = "") -> float:
    """How many pods have entered a queue, or any, since the process began."""
    samples = [sample for family in metrics.INCOMING_PODS.collect() for sample in family.samples]
    return sum(s.value for s in samples if s.name.endswith("_total") and s.labels["queue"].startswith(queue))


def attempts_failed() -> float:
    """Attempts that were refused; a gang has two pods here."""
    return entered("unschedulable") / 2


def parked(rig: GangRig, *gangs: str, minimum: int = 2) -> None:
    """Gangs that do not fit, as alike as can be."""
    for gang in gangs:
        for number in range(minimum):
            rig.member(f"{gang}-{number}", says=saying(gang, minimum))
    rig.settle()


def test_one_freed_slot_costs_few_attempts_however_many_gangs_wait_for_it():
    rig = GangRig()
    rig.node("n1", cpu=2)
    rig.member("old", on="n1", cpu=2)
    parked(rig, *(f"g{number:03}" for number in range(500)))
    before = attempts_failed()
    rig.gone("old")
    rig.settle()
    started = {pod.gang for pod in rig.cluster.pods.values() if pod.node}
    assert len(started) == 1
    assert attempts_failed() - before <= 2


def test_room_for_half_a_gang_wakes_nobody():
    rig = GangRig()
    rig.node("n1", cpu=2)
    rig.member("old-1", on="n1")
    rig.member("old-2", on="n1")
    parked(rig, "a", "b")
    before = entered()
    rig.gone("old-1")
    assert entered() == before


@pytest.mark.parametrize("unready", ["partner", "pod group"])
def test_a_gang_that_is_not_ready_is_no_scout_for_those_that_are(unready):
    """It has the same demands as the others, and its refusal names no cure: that is true for it alone."""
    rig = GangRig()
    rig.node("n1", cpu=2)
    rig.member("old", on="n1", cpu=2)
    parked(rig, "a")
    for number in range(2):
        if unready == "partner":
            rig.member(f"b-{number}", says=saying("b", 2, groups=["nobody"]))
        else:
            rig.member(f"b-{number}", "b", says=saying(minimum=2))
    rig.settle()
    rig.gone("old")
    rig.settle()
    assert rig.nodes_of("a") == ["n1", "n1"]
