"""Draws what was recorded of the Philly trace: waits with and without backfill, and queues beside their fair shares.

Reads figures and writes one PNG; it measures nothing, and draws nothing that was not recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from bench.figures import BenchError, Figure, number
from bench.philly.backfill import MEAN, SIZES, SLOWEST, VARIANTS, name_of
from bench.philly.fairness import DUE, EVERY_S, HAS, QUEUES, series

Last = Mapping[str, tuple[str, Figure]]  # by name, with the date of the record

_COLOURS = ("#b8b8b8", "#d1495b", "#edae49")
_HAS, _DUE = "#5b7c99", "#d1495b"
_TITLES = {MEAN: "mean wait", SLOWEST: "95 of 100 wait at most"}


def draw(last: Last, path: Path) -> None:
    """Above, waits by the size of jobs; below, a panel for each queue."""
    mpl.use("Agg")
    canvas = plt.figure(figsize=(12, 7.4))
    above, below = canvas.subfigures(2, 1, height_ratios=(1.15, 1))
    waits = above.subplots(1, 2)
    for axes, measure in zip(waits, _TITLES, strict=True):
        _draw_waits(axes, measure, last)
    above.legend(
        *waits[0].get_legend_handles_labels(), ncols=len(VARIANTS), fontsize=8, frameon=False, loc="upper center"
    )
    panels = below.subplots(1, len(QUEUES), sharey=True)
    for axes, queue in zip(panels, QUEUES, strict=True):
        _draw_queue(axes, queue, last)
    panels[0].set_ylabel("GPUs", fontsize=8)
    panels[-1].legend(fontsize=8, frameon=False, loc="upper right")
    above.subplots_adjust(top=0.84, bottom=0.12, left=0.06, right=0.99, wspace=0.12)
    below.subplots_adjust(top=0.82, bottom=0.13, left=0.06, right=0.99)
    canvas.savefig(path, dpi=110, metadata={"Software": None})  # the same figures give the same bytes
    plt.close(canvas)


def _draw_waits(axes: Axes, measure: str, last: Last) -> None:
    width = 0.8 / len(VARIANTS)
    for place, (variant, colour) in enumerate(zip(VARIANTS, _COLOURS, strict=True)):
        values = [_newest(name_of(measure, size, variant.name), last).value / 60 for size in SIZES]
        at = [group + (place - 1) * width for group in range(len(SIZES))]
        axes.bar(at, values, width * 0.95, color=colour, label=variant.name)
        for x, value in zip(at, values, strict=True):
            axes.text(x, value, number(value), ha="center", va="bottom", fontsize=8)
    axes.set_xticks(range(len(SIZES)), list(SIZES), fontsize=8)
    axes.set_title(f"{_TITLES[measure]}, hours", fontsize=10, loc="left")
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_queue(axes: Axes, queue: str, last: Last) -> None:
    has, due = (_newest(series(kind, queue), last).samples for kind in (HAS, DUE))
    days = [place * EVERY_S / 86_400 for place in range(len(has))]
    axes.fill_between(days, has, step="post", color=_HAS, alpha=0.6, linewidth=0, label="in use")
    axes.step(days, due, where="post", color=_DUE, linewidth=0.9, label="fair share")
    axes.set_title(queue, fontsize=10, loc="left")
    axes.set_xlabel("days", fontsize=8)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def _newest(begins: str, last: Last) -> Figure:
    """Of the figures whose names begin so: they differ in how many jobs were played."""
    found = [each for name, each in last.items() if name.startswith(begins)]
    if not found:
        raise BenchError("the Philly trace is not recorded: run `python -m bench backfill` and `fairness` first")
    return max(found, key=lambda each: each[0])[1]
