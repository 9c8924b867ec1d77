"""The label keys that selectors ask for: only these make pods differ in shape.

Anybody can invent keys, in selectors and on pods. A key that no pod carries costs a lookup; one that pods carry, a walk
over the pods, once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from koordpy.state.pods import PodRecord
from koordpy.state.shapes import ShapeTable, keys_asked_by
from koordpy.state.workloads import Workloads

_FEW = 64  # keys that selectors ask for; those that none asks for any more are dropped only beyond this


class LabelKeys:
    """Which keys are asked for, and how many pods carry which."""

    def __init__(self, shapes: ShapeTable, workloads: Workloads) -> None:
        self._shapes, self._workloads = shapes, workloads
        self._carried: Counter[str] = Counter()  # how many pods carry a label of each key
        self._most = _FEW

    def learn(self, keys: Iterable[str]) -> set[str]:
        """Selectors ask for these keys; returns those that are new and that pods carry, which need other shapes."""
        new = set(keys) - self._shapes.selected_keys
        if not new:
            return new
        self._shapes.ask_for(new)
        if len(self._shapes.selected_keys) > self._most:
            self._drop(keep=new)
        return new & self._carried.keys()

    def count(self, before: PodRecord | None, now: PodRecord | None) -> None:
        """A pod appeared, changed or left."""
        if before is not None and now is not None and before.labels == now.labels:
            return
        for key in before.labels if before is not None else ():
            self._carried[key] -= 1
            if not self._carried[key]:
                del self._carried[key]
        for key in now.labels if now is not None else ():
            self._carried[key] += 1

    def recount(self, pods: Iterable[PodRecord]) -> None:
        """Count anew, from the pods alone."""
        self._carried = Counter(key for pod in pods for key in pod.labels)

    def _drop(self, keep: set[str]) -> None:
        """Keys that no selector asks for any more, or that nobody carries and nobody asks for, cost nothing again.

        Those that pods carry stay: dropping and learning them would give all these pods other shapes each time.
        """
        asked = self._workloads.selected_keys().union(keep, *(keys_asked_by(shape) for shape in self._shapes))
        self._shapes.keep_asking_for(asked | self._carried.keys())
        self._most = max(_FEW, 2 * len(self._shapes.selected_keys))
