"""The ends of pods as columns: who has left by when, for sums over tens of thousands of pods.

Made of a list of ends once per search, from the cluster as it is then, and never kept: nodes and shapes change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from koordpy.plan.reservations.ends import End
from koordpy.state.arrays import Ints
from koordpy.state.cluster import Cluster
from koordpy.state.occupancy import ShapeRows
from koordpy.state.trial import Trial


class Departures:
    """Pods in the order in which they leave."""

    def __init__(self, ends: Sequence[End], cluster: Cluster) -> None:
        at = [end.at for end in ends if end.pod.shape is not None]
        pods = [end.pod for end in ends if end.pod.shape is not None]
        shapes = [pod.shape for pod in pods]
        code = {shape: number for number, shape in enumerate(dict.fromkeys(shapes))}
        self._shapes = [shape for shape in code if shape is not None]
        self._at = np.array(at, dtype=np.float64)  # [E]
        self._codes: Ints = np.array([code[shape] for shape in shapes], dtype=np.int64)  # [E], into the shapes
        self.rows = cluster.nodes.rows_of(pod.node for pod in pods)  # [E]; -1 where the node is gone

    def __len__(self) -> int:
        return len(self._at)

    def times(self) -> npt.NDArray[np.float64]:
        """When pods leave, each time once."""
        return np.unique(self._at)

    def at(self, number: int) -> float:
        """When that one leaves, counted from 0."""
        return float(self._at[number])

    def left_by(self, at: float) -> int:
        """How many have left by then."""
        return int(np.searchsorted(self._at, at, side="right"))

    def take_off(self, number: int, trial: Trial) -> None:
        """The first so many have left their nodes."""
        known = self.rows[:number] >= 0
        rows, codes = self.rows[:number][known], self._codes[:number][known]
        width = int(rows.max(initial=0)) + 1
        places, counts = np.unique(codes * width + rows, return_counts=True)
        by_shape: dict[int, dict[int, int]] = defaultdict(dict)
        for place, count in zip(places.tolist(), counts.tolist(), strict=True):
            by_shape[place // width][place % width] = count
        taken: list[ShapeRows] = [(self._shapes[each], moved) for each, moved in by_shape.items()]
        if taken:
            trial.place_counts(taken, -1)

    def freed(self, resources: Sequence[int]) -> Ints:
        """`[K, E]`: what each frees of each of these resources."""
        amounts: Ints = np.zeros((len(resources), len(self._shapes)), dtype=np.int64)
        for number, shape in enumerate(self._shapes):
            asked = dict(zip(shape.rows.tolist(), shape.amounts.tolist(), strict=True))
            amounts[:, number] = [asked.get(each, 0) for each in resources]
        return amounts[:, self._codes]
