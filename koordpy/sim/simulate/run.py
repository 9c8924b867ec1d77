"""Many worlds one after the other, and what is told of them."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable

from koordpy.sim.simulate.history import drawn
from koordpy.sim.simulate.shrink import shortest
from koordpy.sim.simulate.world import Outcome, play

Tell = Callable[[str], object]


def play_all(seeds: range, tell: Tell, *, record: bool = False, shrink: bool = True) -> int:
    """How many failed, at most 1."""
    began, failed, binds, longest = time.perf_counter(), [], 0, 0.0
    for seed in seeds:
        outcome = play(drawn(seed))
        gc.collect()  # a world is a large circle of references, and nothing is collected while it runs
        binds += outcome.binds
        longest = max(longest, outcome.rested_s)
        if record:
            _tell_all(tell, outcome.record)
        if outcome.wrong:
            failed.append(seed)
            _tell_all(tell, failure(outcome, shrink=shrink))
    minutes = (time.perf_counter() - began) / 60
    worlds = f"{len(seeds)} worlds, {binds} binds" if len(seeds) > 1 else f"seed {seeds[0]}, {binds} binds"
    rested = f"at rest after at most {longest:.0f} s"
    pace = f", {len(seeds) / minutes:.0f} worlds a minute" if len(seeds) > 1 else f", history {outcome.digest[:16]}"
    tell(f"{worlds}, {rested}{pace}: {f'{len(failed)} wrong: {failed}' if failed else 'nothing wrong'}")
    return int(bool(failed))


def failure(outcome: Outcome, *, shrink: bool) -> list[str]:
    """What a person needs to look into it."""
    told = [f"seed {outcome.history.seed} is wrong:", *(f"  {wrong}" for wrong in outcome.wrong)]
    if shrink:
        before = len(outcome.history.steps) + len(outcome.history.windows)
        outcome = shortest(outcome)
        after = len(outcome.history.steps) + len(outcome.history.windows)
        told += [
            f"  with {after} of its {before} steps and faults:",
            *(f"    {line}" for line in outcome.history.lines()),
        ]
        told += [f"    so that {wrong}" for wrong in outcome.wrong]
    return [*told, "  what each process believed then:", *(f"    {line}" for line in outcome.beliefs)]


def _tell_all(tell: Tell, lines: Iterable[str]) -> None:
    for line in lines:
        tell(line)
