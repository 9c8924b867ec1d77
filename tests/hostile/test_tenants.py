"""What others pay for a hostile tenant, counted in work and not in time."""

from __future__ import annotations

import pytest

from tests.hostile.tenants import Pod as TypedPod
from tests.hostile.tenants import Stage, hostile_pod, large_gang, odd_pods, pod_group, selectors, typed
from tests.scheduler.gangs.test_costs import operations

OTHERS = 50


class Counting:
    """Attempts that a stage makes."""

    def __init__(self, stage: Stage) -> None:
        self.attempts = 0
        attempts = stage.rig.scheduler.attempts
        run = attempts.run

        def counted(ticket):
            self.attempts += 1
            run(ticket)

        attempts.run = counted


def attempts_for_others(pods, group=None) -> int:
    """With all the hostile objects there, and looked at once."""
    stage = Stage(nodes=4)
    stage.ingest([typed(obj, TypedPod) for obj in pods], group)
    stage.rest()
    counting = Counting(stage)
    stage.others(OTHERS)
    return counting.attempts


@pytest.mark.parametrize(
    ("pods", "group"),
    [
        (odd_pods(500), None),
        (large_gang(500), pod_group(500)),
        (large_gang(2), pod_group(3, "x" * 2**20)),
        ([hostile_pod("one", cpu=1000)], None),
    ],
    ids=["odd pods", "a large gang", "large annotations", "one pod"],
)
def test_pods_that_wait_cost_others_no_attempt(pods, group):
    assert attempts_for_others(pods, group) <= OTHERS + 1


def test_pods_that_wait_for_others_are_tried_once_while_they_back_off():
    assert attempts_for_others(selectors(100)) <= OTHERS + 100 + 1


def test_a_pod_that_is_placed_costs_the_same_however_many_others_wait_for_something_else():
    def cost(waiting: int) -> int:
        stage = Stage(nodes=4)
        stage.ingest([typed(obj, TypedPod) for obj in odd_pods(waiting)])
        stage.rest()
        return operations(lambda: stage.others(20))

    assert cost(400) < 1.5 * cost(100)


def test_a_large_gang_is_one_attempt():
    stage = Stage(nodes=4)
    counting = Counting(stage)
    stage.ingest([typed(obj, TypedPod) for obj in large_gang(500)], pod_group(500))
    stage.rest()
    assert counting.attempts <= 2
