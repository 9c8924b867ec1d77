"""Random worlds with declared run times: promises are kept, and nobody who may start is left asleep.

More of them by hand: `BACKFILL_SEEDS=1000:2000 pytest tests/scheduler/test_backfill_worlds.py`.
"""

from __future__ import annotations

import os

import pytest

from tests.scheduler.backfill_world import BackfillWorld

pytestmark = pytest.mark.random


def _seeds() -> range:
    first, _, last = os.environ.get("BACKFILL_SEEDS", "0:100").partition(":")
    return range(int(first), int(last))


# In it a job that was owed a start was woken by each pod that ended, instead of the job that has the reservation.
ONCE_WRONG = (1344,)


@pytest.mark.parametrize("seed", [*_seeds(), *ONCE_WRONG])
def test_a_promise_is_kept_whatever_is_backfilled(seed: int) -> None:
    BackfillWorld(seed).run()
