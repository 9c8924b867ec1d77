"""The live figures as tables: one for each workload, schedulers side by side, koordpy as a ratio to each of them."""

from __future__ import annotations

from bench.figures import Figure, ratio
from bench.live.rounds import Results
from bench.live.workloads import Workload
from bench.table import table

OURS = "koordpy"


def report(results: Results, last: dict[str, tuple[str, Figure]]) -> str:
    tables = [_table(workload, results.figures[workload.name], last) for workload in results.workloads]
    return "\n\n".join(tables)


def _table(workload: Workload, figures: dict[str, dict[str, Figure]], last: dict[str, tuple[str, Figure]]) -> str:
    names = list(next(iter(figures.values())))
    others = [name for name in names if name != OURS and OURS in names]
    header = (workload.title, *names, *(f"{OURS} / {other}" for other in others), f"{names[0]} / last")
    rows = []
    for measure, by_scheduler in figures.items():
        ratios = [ratio(by_scheduler[OURS], by_scheduler[other]) for other in others]
        before = last.get(by_scheduler[names[0]].name)
        since = ratio(by_scheduler[names[0]], before[1]) if before else ""
        rows.append((measure, *(by_scheduler[name].written() for name in names), *ratios, since))
    return table(header, rows)
