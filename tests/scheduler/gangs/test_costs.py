"""A change costs what changed and not the gang. Operations are counted, not seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from tests.scheduler.gangs.rig import GangRig, saying

FEW, MANY = 250, 1000
# Twice the linear cost would be a heap or a hash table growing; four times is a loop within a loop.
MOST = 1.5


def operations(act: Callable[[], None]) -> int:
    """Lines of koordpy that are run."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        if event == "line":
            count += 1
        return trace if "koordpy" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return count


def growth(arrive: Callable[[GangRig, int], Callable[[], None]]) -> float:
    """How much dearer one of many is than one of few."""
    costs = []
    for count in (FEW, MANY):
        rig = GangRig()
        rig.node("n1", cpu=4 * MANY, pods=4 * MANY)
        act = arrive(rig, count)
        costs.append(operations(act) / count)
    return costs[1] / costs[0]


def of_a_pod_group(rig: GangRig, count: int) -> Callable[[], None]:
    rig.gang("a", count)
    return lambda: rig.members("a", count)


def without_a_minimum_to_reach(rig: GangRig, count: int) -> Callable[[], None]:
    return lambda: rig.members("a", count)


def with_two_opinions(rig: GangRig, count: int) -> Callable[[], None]:
    def arrive() -> None:
        for number in range(count):
            rig.member(f"a-{number}", says=saying("a", count, wait=f"{1 + number % 2}m"))

    return arrive


def beside_one_that_is_ready(rig: GangRig, count: int) -> Callable[[], None]:
    """All but one are gated."""
    rig.gang("a", count)
    rig.member("a-0", "a")
    return lambda: rig.members("a", count, gated=True)


def losing_their_gates(rig: GangRig, count: int) -> Callable[[], None]:
    rig.gang("a", count)
    rig.members("a", count, gated=True)
    return lambda: rig.members("a", count)


def after_the_start(rig: GangRig, count: int) -> Callable[[], None]:
    rig.gang("a", 1)
    rig.member("a-0", "a", on="n1")
    return lambda: rig.members("a", count)


def being_bound(rig: GangRig, count: int) -> Callable[[], None]:
    """And as many are left over."""
    rig.gang("a", count)
    rig.members("a", count)
    rig.settle()
    rig.members("b", count)
    for number in range(1, count + 1):
        rig.member(f"left-{number}", "a", cpu=10 * MANY)

    def arrive() -> None:
        for number in range(1, count + 1):
            rig.member(f"a-{number}", "a", on="n1")

    return arrive


def leaving(rig: GangRig, count: int) -> Callable[[], None]:
    rig.gang("a", count)
    rig.members("a", count)

    def leave() -> None:
        for number in range(1, count + 1):
            rig.gone(f"a-{number}")

    return leave


@pytest.mark.parametrize(
    "arrive",
    [
        of_a_pod_group, without_a_minimum_to_reach, with_two_opinions, beside_one_that_is_ready, losing_their_gates,
        after_the_start, being_bound, leaving,
    ],
)  # fmt: skip
def test_the_last_of_many_members_costs_no_more_than_the_first(arrive):
    assert growth(arrive) < MOST
