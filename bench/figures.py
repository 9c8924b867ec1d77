"""Figures: one measured quantity, all its samples, and how they are written.

A figure is known by its name, which holds everything that matters for comparing it (sizes included): a figure of the
same name in the last record is the same measurement. It knows nothing about how it was measured.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass

# With fewer samples than this the spread is all of them; with more, the middle four fifths.
FEW = 10


class BenchError(Exception):
    """A measurement could not be made, or measured something else than it says; `str()` is for the user."""


@dataclass(frozen=True)
class Figure:
    """`value` is the median of the samples."""

    name: str
    unit: str
    samples: tuple[float, ...]
    target: float | None = None  # not to be exceeded
    configuration: str = ""  # of the scheduler that was measured

    def __post_init__(self) -> None:
        if not self.samples:
            raise BenchError(f"figure {self.name!r} has no samples: nothing was measured")

    @property
    def value(self) -> float:
        return statistics.median(self.samples)

    @property
    def low(self) -> float:
        return min(self.samples) if len(self.samples) < FEW else percentile(self.samples, 10)

    @property
    def high(self) -> float:
        return max(self.samples) if len(self.samples) < FEW else percentile(self.samples, 90)

    def written(self) -> str:
        """`0.41 (0.39-0.52) ms`."""
        spread = f" ({number(self.low)}-{number(self.high)})" if len(self.samples) > 1 else ""
        return f"{number(self.value)}{spread} {self.unit}".rstrip()


def percentile(samples: tuple[float, ...], percent: float) -> float:
    """The nearest sample: a figure that nobody measured would be worse than a rough one."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def number(value: float) -> str:
    """Three significant digits, without an exponent."""
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.3f}"


def ratio(figure: Figure, other: Figure) -> str:
    """How many times the other it is. Samples of the same round are compared with each other, where there are such."""
    if other.value == 0:
        return "-"
    middle = f"{figure.value / other.value:.2f}x"
    if len(figure.samples) == 1 or len(figure.samples) != len(other.samples) or 0 in other.samples:
        return middle
    pairs = [mine / theirs for mine, theirs in zip(figure.samples, other.samples, strict=True)]
    return f"{middle} ({min(pairs):.2f}-{max(pairs):.2f})"
