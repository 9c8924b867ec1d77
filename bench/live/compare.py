"""koordpy of two checkouts side by side, in rounds: whether a change made anything slower.

Both run in the environment of the bench, on fresh control planes, and in turn: the first one changes from round to
round. Nothing is recorded: these figures mean something only beside each other.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bench.figures import BenchError, Figure, ratio
from bench.live.measures import Measure, measures
from bench.live.report import configurations
from bench.live.rounds import OURS, Result
from bench.live.scheduler import Scheduler, Site
from bench.live.schedulers import koordpy_definitions, koordpy_flags
from bench.table import table

ROOT = Path(__file__).parents[2]
AGAINST = "against"
WORKLOADS = ("gangs-500x20", "basic", "streaming-short", "preempt")
WORSE, BETTER, SAME = "WORSE", "better", "within the spread"
_COMMAND_SECONDS = 30


def checkout(name: str, directory: Path) -> Scheduler:
    """koordpy as it is in this directory, which need not be installed."""
    root = directory.resolve()
    return Scheduler(
        name,
        lambda site: _command(root, site),
        configuration=f"{root}, {_commit(root)}",
        definitions=lambda: koordpy_definitions(root / "crds"),
        built=lambda: _prepare(root),
    )


def _command(root: Path, site: Site) -> list[str]:
    """-P: without it Python would look for koordpy in the directory of the bench first."""
    return ["/usr/bin/env", f"PYTHONPATH={root}", sys.executable, "-P", "-m", "koordpy", *koordpy_flags(site)]


def _prepare(root: Path) -> None:
    """Check that what runs is what was asked for, and not what is installed; compile it, or the first run would."""
    where = _output([sys.executable, "-P", "-c", "import koordpy; print(koordpy.__file__)"], PYTHONPATH=str(root))
    if Path(where).parent != root / "koordpy":
        raise BenchError(f"{root} is no checkout of koordpy: `import koordpy` there finds {where or 'nothing'}")
    _output([sys.executable, "-m", "compileall", "-q", str(root / "koordpy")])


def _commit(root: Path) -> str:
    described = _output(["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=10"])
    return f"commit {described}" if described else "no commit"


def _output(command: list[str], **environment: str) -> str:
    done = subprocess.run(
        command,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=_COMMAND_SECONDS,
    )
    return done.stdout.strip()


def report(result: Result) -> str:
    """Medians with their spread, the ratio of each, and whether the spreads overlap."""
    rows = [_row(each, result.figures.get(each.name, {})) for each in measures(result.workload)]
    header = (result.workload.title, OURS, AGAINST, f"{OURS} / {AGAINST}", "")
    problems = [f"- {each.text}" for each in result.problems]
    return "\n\n".join([table(header, [row for row in rows if row]), configurations(result), *problems])


def _row(measure: Measure, figures: dict[str, Figure]) -> tuple[str, ...]:
    if not {OURS, AGAINST} <= figures.keys():
        return ()
    ours, theirs = figures[OURS], figures[AGAINST]
    return (measure.name, ours.written(), theirs.written(), ratio(ours, theirs), verdict(measure, ours, theirs))


def verdict(measure: Measure, ours: Figure, theirs: Figure) -> str:
    """Different only if no sample of the one reaches into the samples of the other."""
    if min(ours.samples) > max(theirs.samples):
        return BETTER if measure.more_is_better else WORSE
    if max(ours.samples) < min(theirs.samples):
        return WORSE if measure.more_is_better else BETTER
    return SAME
