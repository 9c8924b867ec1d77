"""Worlds by the hundred: whatever fails, nothing happens that never may, and in the end everything is as it should.

`make chaos` plays more of them. To look at a failure: `koordpy simulate --seed N`.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from koordpy.sim.simulate.history import drawn
from koordpy.sim.simulate.run import failure
from koordpy.sim.simulate.world import play


@pytest.mark.random
@pytest.mark.parametrize("seed", range(int(os.environ.get("SIMULATION_SEEDS", "200"))))
def test_whatever_fails_nothing_happens_that_never_may_and_all_comes_right(seed: int):
    outcome = play(drawn(seed))
    assert not outcome.wrong, "\n".join(failure(outcome, shrink=False))


@pytest.mark.process
@pytest.mark.parametrize("seed", [4, 7])
def test_a_seed_gives_the_same_history_in_every_process(seed: int):
    records = [_record(seed, hash_seed) for hash_seed in ("1", "2")]
    assert len(records[0].splitlines()) > 300
    assert records[0] == records[1]


def _record(seed: int, hash_seed: str) -> str:
    command = [sys.executable, "-m", "koordpy", "simulate", "--seed", str(seed), "--record"]
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=100).stdout
