"""The planning figures as a table: beside their targets, and beside the last run."""

from __future__ import annotations

from bench.figures import Figure, number
from bench.table import table

HEADER = ("median (spread)", "target", "of target", "last", "of last")


def report(figures: list[Figure], last: dict[str, tuple[str, Figure]], title: str = "planning, in memory") -> str:
    return table((title, *HEADER), [_row(figure, last) for figure in figures])


def _row(figure: Figure, last: dict[str, tuple[str, Figure]]) -> tuple[str, ...]:
    target = _against(figure, figure.target)
    _, before = last.get(figure.name, ("", None))
    return (figure.name, figure.written(), *target, *_against(figure, before.value if before else None))


def _against(figure: Figure, other: float | None) -> tuple[str, str]:
    if other is None:
        return "", ""
    return number(other), f"{figure.value / other:.2f}x" if other else "-"
