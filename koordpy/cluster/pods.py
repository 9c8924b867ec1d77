"""Pod records: what is kept of a pod after its API object is gone from memory."""

from __future__ import annotations

import msgspec

from koordpy.cluster.shapes import Shape


class PodRecord(msgspec.Struct, gc=False, eq=False):
    """One pod, tracked by UID: a pod recreated under the same name is another pod.

    `node` is where the pod counts as usage: bound there by the API server (`bound`), or assumed there by us.
    """

    uid: str
    namespace: str
    name: str
    scheduler: str
    shape: Shape | None  # None while the pod cannot be read; `defect` says why
    priority: int
    created: float
    version: str  # resourceVersion
    node: str = ""
    bound: bool = False
    terminating: bool = False
    gated: bool = False
    defect: str = ""
    refusal_seen: str = ""  # the message of its PodScheduled=False condition, as the API server has it

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def schedulable(self) -> bool:
        """May be attempted: not placed, not on its way out, not held back by a gate."""
        return not (self.node or self.terminating or self.gated)
