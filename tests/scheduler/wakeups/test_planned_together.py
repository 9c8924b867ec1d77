"""Single pods that are alike are planned in one breath, and go where they would have gone one by one."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from koordpy.plan.placement import batch
from koordpy.scheduler import attempt as module
from koordpy.scheduler.queue.ticket import State
from tests.plan.constraints import HOSTNAME, affinity, pod_term, selector
from tests.scheduler.wakeups.rig import Rig


def run(rig: Rig) -> None:
    """Everything that is active, the way the scheduler's loop does it."""
    while (ticket := rig.scheduler.next_ticket()) is not None:
        rig.scheduler.attempts.run(ticket)


def where(rig: Rig) -> dict[str, str]:
    return {pod.name: pod.node for pod in rig.cluster.pods.values()}


def one_by_one(monkeypatch: pytest.MonkeyPatch, story: Callable[[Rig], None]) -> tuple[dict[str, str], dict[str, str]]:
    """The same story told twice: in one breath, and pod by pod."""
    together, alone = Rig(), Rig()
    story(together)
    run(together)
    monkeypatch.setattr(module, "_MOST_TOGETHER", 1)
    story(alone)
    run(alone)
    return where(together), where(alone)


@pytest.mark.parametrize("seed", range(30))
def test_pods_go_where_they_would_have_gone_one_by_one(monkeypatch, seed) -> None:
    def story(rig: Rig) -> None:
        dice = random.Random(seed)
        for number in range(dice.randint(1, 6)):
            rig.node(f"n{number}", cpu=dice.randint(1, 6), labels={"zone": f"z{number % 2}"})
        for number in range(dice.randint(2, 30)):
            given: dict = {"cpu": dice.choice((1, 1, 1, 2)), "priority": dice.choice((0, 0, 5))}
            if dice.random() < 0.2:
                given["node_selector"] = {"zone": "z0"}
            rig.pod(f"p{number:02}", **given)

    together, alone = one_by_one(monkeypatch, story)
    assert together == alone


def test_a_hundred_pods_of_a_shape_are_planned_a_few_times(monkeypatch) -> None:
    plans = []
    fill = batch.fill
    monkeypatch.setattr(batch, "fill", lambda *given: plans.append(given[1]) or fill(*given))
    rig = Rig()
    rig.node("n1", cpu=100)
    for number in range(100):
        rig.pod(f"p{number:03}", cpu=1)
    run(rig)
    assert set(where(rig).values()) == {"n1"}
    assert plans == [64, 36]


def test_those_that_do_not_fit_are_refused_and_sleep() -> None:
    rig = Rig()
    rig.node("n1", cpu=2)
    for number in range(5):
        rig.pod(f"p{number}", cpu=1)
    run(rig)
    assert [rig.where(f"p{number}") for number in range(5)] == ["n1", "n1", *[State.UNSCHEDULABLE] * 3]


def test_pods_that_mind_each_other_are_planned_one_by_one() -> None:
    rig = Rig()
    apart = affinity(apart=[pod_term(HOSTNAME, selector(app="x"))])
    for number in range(3):
        rig.node(f"n{number}", cpu=9)
    for number in range(4):
        rig.pod(f"p{number}", cpu=1, labels={"app": "x"}, affinity=apart)
    run(rig)
    assert sorted(rig.where(f"p{number}") for number in range(3)) == ["n0", "n1", "n2"]
    assert rig.where("p3") is State.UNSCHEDULABLE


def test_somebody_more_important_who_is_woken_meanwhile_goes_first() -> None:
    """`high` wants to be beside an app: once its first pod is there, the second slot belongs to `high`."""
    rig = Rig()
    rig.node("n1", cpu=2)
    rig.pod("high", cpu=1, priority=9, affinity=affinity(near=[pod_term(HOSTNAME, selector(app="x"))]))
    run(rig)
    assert rig.where("high") is State.UNSCHEDULABLE
    for number in range(3):
        rig.pod(f"p{number}", cpu=1, labels={"app": "x"})
    run(rig)
    assert rig.where("high") == "n1"
    assert rig.where("p0") == "n1"


def test_a_mistake_in_planning_many_costs_only_the_first(monkeypatch) -> None:
    def broken(*_: object) -> list[int]:
        raise RuntimeError("no")

    monkeypatch.setattr(batch, "fill", broken)
    rig = Rig()
    rig.node("n1", cpu=9)
    for number in range(2):
        rig.pod(f"p{number}", cpu=1)
    ticket = rig.scheduler.next_ticket()
    assert ticket is not None
    rig.scheduler.attempts.run(ticket)
    assert rig.where("p0") is State.BACKOFF
    assert rig.where("p1") is State.ACTIVE
