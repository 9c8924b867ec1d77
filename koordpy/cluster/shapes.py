"""Shapes: everything that filters and scores read from a pod, shared by all pods that agree in it.

The thousand members of a gang differ in name and have one shape, so they cost one filter pass and not a
thousand. A shape is found by the packed bytes of its content; two shapes are equal only if they are one object.
"""

from __future__ import annotations

import msgspec
import numpy as np

from koordpy.api.pod import Pod
from koordpy.cluster.arrays import Ints
from koordpy.cluster.requests import PodRequests, requests_of
from koordpy.cluster.resources import ResourceTable


class Shape:
    """One class of interchangeable pods. Compared and hashed by identity."""

    __slots__ = ("amounts", "rows", "scored")

    def __init__(self, asked: PodRequests, resources: ResourceTable) -> None:
        names = sorted(asked.needed, key=resources.row)
        self.rows: Ints = np.array([resources.row(name) for name in names], dtype=np.intp)  # [K]
        self.amounts: Ints = np.array([asked.needed[name] for name in names], dtype=np.int64)  # [K]
        self.scored: Ints = np.array(asked.scored, dtype=np.int64)  # [2]: cpu, memory


class ShapeTable:
    """Gives pods of equal content the same shape."""

    def __init__(self, resources: ResourceTable) -> None:
        self._resources = resources
        self._shapes: dict[bytes, Shape] = {}
        self._pack = msgspec.msgpack.Encoder(order="deterministic").encode

    def shape_of(self, pod: Pod) -> Shape:
        """The shape of a pod; raises MalformedValue for a request that cannot be read."""
        asked = requests_of(pod.spec)
        key = self._pack(asked)
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = Shape(asked, self._resources)
        return shape
