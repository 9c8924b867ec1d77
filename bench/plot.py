"""Draws the recorded figures: schedulers side by side, and how the cost of planning grows.

Reads records and writes two PNGs; it measures nothing, and draws nothing that was not recorded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from bench.figures import BenchError, Figure, number
from bench.live.measures import RATE
from bench.live.rounds import OURS, recorded_figures
from bench.live.schedulers import SCHEDULERS
from bench.live.workloads import workload
from bench.planning import growth
from bench.planning.suite import FULL

Figures = Mapping[str, Figure]

COLOURS = {OURS: "#d1495b", "bare client": "#b8b8b8"}
OTHERS = "#5b7c99"


@dataclass(frozen=True)
class Panel:
    """One measure of one workload, a bar for each scheduler."""

    title: str
    workload: str
    measure: str
    unit: str
    more_is_better: bool = False


PANELS = (
    Panel("500 gangs of 20, 1,000 nodes", "gangs-500x20", RATE.name, "pods/s", more_is_better=True),
    Panel("20 gangs of 500, 1,000 nodes", "gangs-20x500", RATE.name, "pods/s", more_is_better=True),
    Panel("500 gangs of 20, 5,000 nodes", "large", RATE.name, "pods/s", more_is_better=True),
    Panel("5,000 single pods", "basic", RATE.name, "pods/s", more_is_better=True),
    Panel("one gang of 5,000: start to last bind", "gang-1x5000", "process start to last bind", "s"),
    Panel("a gang among many: 99 of 100 wait at most", "streaming-short", "wait of a gang, 99 of 100", "ms"),
    Panel("a gang of 250 preempts", "preempt", "last member made to last bound", "s"),
    Panel("100 gangs behind one that never fits", "never-fits", "process start to last bind", "s"),
    Panel("the scheduler's CPU for a pod (500 gangs of 20)", "gangs-500x20", "CPU of the scheduler per pod", "ms"),
)


def bars(panel: Panel, figures: Figures) -> dict[str, Figure]:
    """The recorded figures of a panel, by scheduler."""
    return recorded_figures(panel.measure, workload(panel.workload), list(SCHEDULERS.values()), figures)


def draw_schedulers(figures: Figures, path: Path, caption: str) -> None:
    """Only panels of which there is something to show; a scheduler without a bar did not finish, or was not run."""
    shown = [(panel, found) for panel in PANELS if (found := bars(panel, figures))]
    if not shown:
        raise BenchError("no run of the live bench is recorded: run `python -m bench live` first")
    mpl.use("Agg")
    columns = min(3, len(shown))
    rows = math.ceil(len(shown) / columns)
    canvas, grid = plt.subplots(rows, columns, figsize=(4.6 * columns, 2.5 * rows + 0.4), squeeze=False)
    for axes in grid.flat[len(shown) :]:
        axes.set_axis_off()
    for axes, (panel, found) in zip(grid.flat, shown, strict=False):
        _draw_panel(axes, panel, found)
    canvas.supxlabel(caption, fontsize=8, color="#555555")
    _save(path)


def _draw_panel(axes: Axes, panel: Panel, found: dict[str, Figure]) -> None:
    names = list(reversed(found))
    values = [found[name].value for name in names]
    errors = (
        [max(0.0, found[name].value - found[name].low) for name in names],
        [max(0.0, found[name].high - found[name].value) for name in names],
    )
    colours = [COLOURS.get(name, OTHERS) for name in names]
    axes.barh(names, values, color=colours, xerr=errors, error_kw={"ecolor": "#333333", "lw": 0.8, "capsize": 2})
    for row, name in enumerate(names):
        axes.text(found[name].high, row, f"  {number(found[name].value)}", va="center", fontsize=8)
    axes.set_xlim(0, max(found[name].high for name in names) * 1.22)
    axes.set_title(panel.title, fontsize=10, loc="left")
    axes.set_xlabel(f"{panel.unit}, {'more' if panel.more_is_better else 'less'} is better", fontsize=8)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def draw_growth(figures: Figures, path: Path) -> None:
    """Both axes logarithmic: a straight line of slope one is a cost that grows with its cause."""
    by_nodes = {count: growth.name_of(FULL.growth_gang, count) for count in FULL.growth_nodes}
    by_size = {size: growth.name_of(size, FULL.growth_cluster) for size in FULL.growth_sizes}
    curves = [
        (f"a gang of {FULL.growth_gang}", "nodes", _points(by_nodes, figures)),
        (f"{FULL.growth_cluster:,} nodes", "pods of the gang", _points(by_size, figures)),
    ]
    if not all(points for _, _, points in curves):
        raise BenchError("planning is not recorded in full: run `python -m bench plan` first")
    mpl.use("Agg")
    _, grid = plt.subplots(1, 2, figsize=(9.2, 3.4), sharey=True)
    for axes, (title, label, points) in zip(grid, curves, strict=True):
        axes.loglog([x for x, _ in points], [figure.value for _, figure in points], marker="o", color=COLOURS[OURS])
        for x, figure in points:
            at = (-5, 5)  # points from the dot, off the line
            said = f"{number(figure.value)} ms"
            axes.annotate(said, (x, figure.value), at, textcoords="offset points", fontsize=8, ha="right")
        axes.set_title(f"planning: {title}", fontsize=10, loc="left")
        axes.set_xlabel(label, fontsize=8)
        axes.grid(which="major", color="#e5e5e5")
        axes.spines[["top", "right"]].set_visible(False)
    grid[0].set_ylabel("ms for the whole gang", fontsize=8)
    _save(path)


def _points(names: Mapping[int, str], figures: Figures) -> list[tuple[int, Figure]]:
    return [(x, figures[name]) for x, name in names.items() if name in figures]


def _save(path: Path) -> None:
    plt.tight_layout()
    plt.savefig(path, dpi=110, metadata={"Software": None})  # the same figures give the same bytes
    plt.close()


def caption(dates: Iterable[str], machine: str) -> str:
    """When and on what, in one line."""
    days = sorted({date[:10] for date in dates})
    return f"{days[0] if len(days) == 1 else f'{days[0]} to {days[-1]}'}, {machine}"
