"""Random worlds with queues: limits hold at every step, nobody who would fit is left asleep, and evictions stop.

More of them by hand: `QUEUE_SEEDS=1000:2000 pytest tests/scheduler/queues/test_worlds.py`.
"""

from __future__ import annotations

import os

import pytest

from tests.scheduler.queues.world import EqualWorld, QueueWorld

pytestmark = pytest.mark.random


def _seeds() -> range:
    first, _, last = os.environ.get("QUEUE_SEEDS", "0:100").partition(":")
    return range(int(first), int(last))


@pytest.mark.parametrize("seed", _seeds())
def test_a_world_of_single_pods_comes_to_rest_as_it_should(seed: int) -> None:
    QueueWorld(seed, simple=True).run()


@pytest.mark.parametrize("seed", _seeds())
def test_a_world_of_gangs_comes_to_rest_as_it_should(seed: int) -> None:
    QueueWorld(seed).run()


@pytest.mark.parametrize("seed", _seeds())
def test_equal_queues_that_want_everything_end_within_one_job_of_each_other(seed: int) -> None:
    EqualWorld(seed).run()
