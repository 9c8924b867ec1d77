"""Which victims count as the right ones."""

from typing import Any

import pytest

from tests.differential.answer import Answer
from tests.differential.preempting import AS_CHEAP, CHEAPER, HELPED, IN_VAIN, LEAVING, SAME, compare, cost

Json = dict[str, Any]

REFUSED = "0/2 nodes are available: 2 Insufficient cpu."
EARLY, LATE = "2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z"
INCOMING = {"kind": "Pod", "metadata": {"name": "new", "namespace": "a"}, "spec": {"priority": 100}}


def pod(name: str, priority: int = 0, started: str = EARLY, **metadata: Any) -> Json:
    meta = {"name": name, "namespace": "a", **metadata}
    return {"kind": "Pod", "metadata": meta, "spec": {"priority": priority}, "status": {"startTime": started}}


def budget(allowed: int, **labels: str) -> Json:
    return {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": f"budget-{allowed}", "namespace": "a"},
        "spec": {"selector": {"matchLabels": labels}},
        "status": {"disruptionsAllowed": allowed},
    }


def evicting(*names: str) -> Answer:
    """A pod is promised a node, for which these have to leave, or nobody but those who are leaving."""
    return Answer(message=REFUSED, promised="n1", victims=frozenset(f"a/{name}" for name in names))


NOBODY = Answer(message=REFUSED)


def test_the_same_victims_are_no_disagreement():
    assert compare(evicting("x"), evicting("x"), [pod("x")], INCOMING) == (SAME, [])


def test_another_victim_that_costs_the_same_is_no_disagreement():
    assert compare(evicting("x"), evicting("y"), [pod("x"), pod("y")], INCOMING) == (AS_CHEAP, [])


def test_a_cheaper_victim_is_no_disagreement():
    assert compare(evicting("x"), evicting("y"), [pod("x", 7), pod("y", 5)], INCOMING) == (CHEAPER, [])


def test_a_dearer_victim_is_a_disagreement():
    assert compare(evicting("x"), evicting("y"), [pod("x", 5), pod("y", 7)], INCOMING).found


def test_evicting_where_the_other_does_not_is_a_disagreement():
    assert compare(evicting("x"), NOBODY, [pod("x")], INCOMING).found
    assert compare(NOBODY, evicting("x"), [pod("x")], INCOMING).found


def test_koordpy_alone_may_keep_the_pods_that_another_wants_near():
    wanted = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}
    incoming = INCOMING | {"spec": {"priority": 100, "affinity": wanted}}
    assert compare(NOBODY, evicting("x"), [pod("x")], incoming) == (HELPED, [])
    assert compare(evicting("x"), NOBODY, [pod("x")], incoming).found


def test_every_byte_counts_of_what_is_said_when_nobody_can_help():
    kube, koordpy = (Answer(message=f"{REFUSED} preemption: {said}") for said in ("not eligible.", "not eligible"))
    assert compare(kube, kube, [], INCOMING) == (IN_VAIN, [])
    assert compare(kube, koordpy, [], INCOMING).found


def test_whoever_is_leaving_is_waited_for_and_no_victim():
    leaving = pod("x", deletionTimestamp=LATE)
    assert compare(evicting("x"), evicting(), [leaving], INCOMING) == (LEAVING, [])
    assert compare(evicting("x"), evicting("x"), [leaving], INCOMING).found
    assert compare(evicting("x"), evicting("y"), [leaving, pod("y")], INCOMING).found
    assert compare(evicting("x"), NOBODY, [leaving], INCOMING).found


def test_waiting_for_somebody_who_is_leaving_costs_less_than_any_victim():
    assert compare(evicting("y"), evicting(), [pod("x", deletionTimestamp=LATE), pod("y")], INCOMING) == (LEAVING, [])


@pytest.mark.parametrize(
    ("cheaper", "dearer"),
    [
        ([pod("x", 9)], [pod("y", 0, labels={"app": "web"})]),  # a violated budget before a higher priority
        ([pod("x", 1), pod("y", 1)], [pod("z", 2)]),  # the highest priority before how many there are
        ([pod("x", 2)], [pod("y", 2), pod("z", -5)]),  # how many before the sum of priorities
        ([pod("x", 2, LATE)], [pod("y", 2, EARLY)]),
        ([pod("x", 2, LATE), pod("y", 1, EARLY)], [pod("x", 2, EARLY), pod("y", 1, LATE)]),
    ],
)
def test_what_victims_cost_follows_the_contract(cheaper: list[Json], dearer: list[Json]):
    budgets = [budget(0, app="web")]
    assert cost(cheaper, budgets) < cost(dearer, budgets)


def test_a_budget_is_violated_only_beyond_what_it_allows():
    three = [pod(name, labels={"app": "web"}) for name in "xyz"]
    assert cost(three, [budget(2, app="web")]).violations == 1


def test_a_budget_that_selects_everybody_covers_nobody():
    assert cost([pod("x", labels={"app": "web"})], [budget(0)]).violations == 0
