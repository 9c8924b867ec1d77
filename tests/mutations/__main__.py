"""`make mutations`: breaks product code in small ways, and sees whether the simulation finds each of them."""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys

from tests.mutations.breaking import break_it, chosen

CAUGHT, SURVIVED, UNREACHED = "caught", "survived", "never reached"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("--count", type=int, default=120, help="how many breakages are tried")
    parser.add_argument("--draw", type=int, default=0, help="which ones: another number gives others")
    parser.add_argument("--seeds", type=int, default=60, help="how many worlds each has to survive")
    parser.add_argument("--only", type=int, help="this one of them, in this process")
    given = parser.parse_args()
    if given.only is not None:
        print(try_one(given.count, given.draw, given.only, given.seeds))
    else:
        try_all(given)


def try_all(given: argparse.Namespace) -> None:
    results: dict[str, list[str]] = {CAUGHT: [], SURVIVED: [], UNREACHED: []}
    for number, breakage in enumerate(chosen(given.count, given.draw)):
        own = [f"--count={given.count}", f"--draw={given.draw}", f"--seeds={given.seeds}", f"--only={number}"]
        command = [sys.executable, "-m", "tests.mutations", *own]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
            told = run.stdout.strip() or f"{CAUGHT}: the process ended: {run.stderr.strip().splitlines()[-1:]}"
        except subprocess.TimeoutExpired:
            told = f"{CAUGHT}: a world did not end"
        results[told.partition(":")[0]].append(str(breakage))
        print(f"{number:3} {breakage}\n      {told}", flush=True)
    reached = len(results[CAUGHT]) + len(results[SURVIVED])
    share = len(results[CAUGHT]) / max(1, reached)
    print(f"{len(results[CAUGHT])} of {reached} that were reached were caught ({share:.0%});")
    print(f"{len(results[UNREACHED])} were never reached; {len(results[SURVIVED])} survived:")
    for each in results[SURVIVED]:
        print(f"  {each}")


def try_one(count: int, draw: int, number: int, seeds: int) -> str:
    reached = break_it(chosen(count, draw)[number])
    from koordpy.sim.simulate.history import drawn
    from koordpy.sim.simulate.world import play

    for seed in range(seeds):
        wrong = play(drawn(seed)).wrong
        gc.collect()
        if wrong:
            return f"{CAUGHT}: seed {seed}: {wrong[0][:200]}"
    return f"{SURVIVED}: reached {reached[0]} times" if reached[0] else f"{UNREACHED}: in {seeds} worlds"


if __name__ == "__main__":
    main()
