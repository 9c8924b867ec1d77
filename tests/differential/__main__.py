"""`python -m tests.differential`: many cases, or one again (`--seed 17`), against the real kube-scheduler."""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from tests.controlplane.server import ControlPlane
from tests.differential.features import ENABLED, TABLE, Features
from tests.differential.kube_scheduler import KubeScheduler
from tests.differential.recording import recorded
from tests.differential.report import Tally
from tests.differential.run import run
from tests.differential.shrink import shrink
from tests.differential.stage import stage

REGRESSIONS = Path(__file__).parent / "regressions"


def main() -> None:
    arguments = _arguments()
    with (
        tempfile.TemporaryDirectory(prefix="koordpy-differential-") as temporary,
        ControlPlane() as control_plane,
        KubeScheduler(control_plane, Path(temporary)) as scheduler,
    ):
        tally = asyncio.run(_compare(control_plane, scheduler, arguments))
    print(tally.story())
    for number, each in enumerate(tally.disagreements if arguments.keep else ()):
        suffix = f"-{number + 1}" if number else ""
        (REGRESSIONS / f"{arguments.keep}{suffix}.yaml").write_text(recorded(each.asked))
    sys.exit(1 if tally.disagreements else 0)


async def _compare(control_plane: ControlPlane, scheduler: KubeScheduler, arguments: argparse.Namespace) -> Tally:
    first, count = (arguments.first, arguments.count) if arguments.seed is None else (arguments.seed, 1)
    async with stage(control_plane, scheduler) as built:
        tally = await run(built, range(first, first + count), arguments.features)
        if arguments.shrink or arguments.keep:
            tally.disagreements = [await shrink(built, each) for each in tally.disagreements]
        return tally


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("--seed", type=int, help="only this case, printed in full where the answers differ")
    parser.add_argument("--shrink", action="store_true", help="make each disagreement as small as it can be")
    parser.add_argument("--keep", metavar="NAME", help="also write it to regressions/NAME.yaml")
    parser.add_argument("--count", type=int, default=3000, help="cases to compare (3000)")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first of them (0)")
    parser.add_argument("--features", type=_features, default=ENABLED, help="all, or a comma-separated choice")
    return parser.parse_args()


def _features(text: str) -> Features:
    if text == "all":
        return frozenset(TABLE)
    chosen = frozenset(text.split(","))
    if unknown := chosen - TABLE.keys():
        raise argparse.ArgumentTypeError(f"no such feature: {', '.join(sorted(unknown))}; there are {', '.join(TABLE)}")
    return chosen


if __name__ == "__main__":
    main()
