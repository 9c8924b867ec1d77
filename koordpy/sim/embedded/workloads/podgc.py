"""Pod garbage collection: pods whose node does not exist are marked as failed and deleted, after a quarantine.

Such a node has no kubelet that could end them, so whoever waits for that end would wait for ever: `kubectl delete`, and
a Job that counts a pod, or replaces it, when it has ended. A node that is back in time keeps its pods.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from koordpy.sim.embedded.pods import with_condition
from koordpy.sim.embedded.workloads.control import PODS, Control
from koordpy.sim.embedded.workloads.pods import phase

if TYPE_CHECKING:
    from koordpy.sim.embedded.backend import Backend
    from koordpy.sim.embedded.store import Change, Stored
    from koordpy.sim.embedded.workloads.dependents import Dependents

Obj = dict[str, Any]

# kube-controller-manager waits 40 seconds and looks every 20: too long for somebody who tries things.
QUARANTINE_S = 10.0
_NODES = "nodes"


class PodCollector:
    """With a quarantine of None it collects nothing: then somebody else decides about nodes that are gone."""

    def __init__(self, backend: Backend, dependents: Dependents, quarantine_s: float | None) -> None:
        self._store = backend.store
        self._control = Control(backend, dependents, "pod-garbage-collector-controller")
        self._quarantine_s = quarantine_s
        self._missing: dict[str, float] = {}  # nodes, and when their quarantine is over; the first comes first

    @property
    def due(self) -> float | None:
        """When there is something to collect, in the time of the loop."""
        return next(iter(self._missing.values()), None)

    def hear(self, change: Change) -> bool:
        """Begin the quarantine of a node, or end it; returns whether one has begun."""
        node = _node_of(change)
        if not node or self._quarantine_s is None:
            return False
        if self._store.get(_NODES, "", node) is not None:
            self._missing.pop(node, None)
            return False
        if node in self._missing:
            return False
        self._missing[node] = asyncio.get_running_loop().time() + self._quarantine_s
        return True

    def collect(self, now: float) -> None:
        gone = {node for node, over in self._missing.items() if over <= now}
        if not gone:
            return
        for pod in self._store.items(PODS):
            if pod.obj["spec"].get("nodeName") in gone:
                self._control.delete(self._failed(pod))
        for node in gone:  # last: what is written here begins no quarantine anew
            del self._missing[node]

    def _failed(self, pod: Stored) -> Stored:
        """The pod as failed, unless it had ended before: then its outcome is known."""
        if phase(pod.obj) in ("Succeeded", "Failed"):
            return pod
        condition: Obj = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC"}
        condition |= {"message": "PodGC: node no longer exists", "lastProbeTime": None}
        status = with_condition(pod.obj, condition | {"lastTransitionTime": self._control.now})
        return self._store.replace(pod, {**pod.obj, "status": {**status, "phase": "Failed"}})


def _node_of(change: Change) -> str:
    """The node that the change is about, or that a pod is bound to; empty if there is none."""
    if change.new.storage == _NODES:
        return change.new.key[1]
    if change.new.storage == PODS and change.kind != "DELETED":
        return str(change.new.obj["spec"].get("nodeName") or "")
    return ""
