"""How pictures look: light, few lines, and colours that the colour-blind can tell apart (those of Okabe and Ito)."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
GREY, INK = "#c4c4c4", "#333333"

mpl.use("Agg")


def plain(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=9)


def save(path: Path) -> None:
    plt.savefig(path, dpi=110, metadata={"Software": None})
    plt.close()
