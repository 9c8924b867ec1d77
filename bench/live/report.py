"""The live figures as tables: schedulers side by side, and koordpy as a ratio to each of them."""

from __future__ import annotations

from bench.figures import Figure, ratio
from bench.live.measures import RATE
from bench.live.rounds import OURS, Result
from bench.table import table

CEILING = "bare client"
NONE = "-"


def report(result: Result, last: dict[str, tuple[str, Figure]]) -> str:
    """Figures, ratios, in which configuration each scheduler ran, and what went wrong."""
    problems = "\n".join(f"- {each.text}" for each in result.problems)
    parts = [_figures(result), _ratios(result, last), configurations(result), problems]
    return "\n\n".join(part for part in parts if part)


def configurations(result: Result) -> str:
    ran = {name: each.configuration for figures in result.figures.values() for name, each in figures.items()}
    return "\n".join(f"{name}: {configuration}" for name, configuration in ran.items())


def _figures(result: Result) -> str:
    names = _names(result)
    rows = [
        (measure, *(figures[name].written() if name in figures else NONE for name in names))
        for measure, figures in result.figures.items()
    ]
    rates = result.figures.get(RATE.name, {})
    if CEILING in rates:
        shares = (f"{rates[n].value / rates[CEILING].value:.0%}" if n in rates else NONE for n in names)
        rows.insert(1, ("  of what a bare client gets", *shares))
    return table((result.workload.title, *names), rows)


def _ratios(result: Result, last: dict[str, tuple[str, Figure]]) -> str:
    """Ours to each of the others of the same run, and to our own last record."""
    others = [name for name in _names(result) if name != OURS]
    rows = []
    for measure, figures in result.figures.items():
        if (ours := figures.get(OURS)) is None:
            return ""
        before = last.get(ours.name)
        ratios = (ratio(ours, figures[name]) if name in figures else NONE for name in others)
        rows.append((measure, *ratios, f"{ratio(ours, before[1])} of {before[0][:10]}" if before else NONE))
    return table((f"{OURS} / ...", *others, "its last record"), rows)


def _names(result: Result) -> list[str]:
    """In the order of the schedulers, the ones without any right run included."""
    named = [name for figures in result.figures.values() for name in figures]
    return list(dict.fromkeys((*named, *(problem.scheduler for problem in result.problems))))
