"""PriorityClasses, which the objects of gangs may name; those of pods are resolved by the API server."""

from __future__ import annotations

from koordpy.api.policy import PriorityClass
from koordpy.scheduler.wakeups import Wakeups
from koordpy.state.cluster import Cluster


class PriorityClassSink:
    """The sink of the watch of PriorityClasses."""

    def __init__(self, cluster: Cluster, wakeups: Wakeups) -> None:
        self._cluster, self._wakeups = cluster, wakeups

    def upsert(self, priority_class: PriorityClass) -> None:
        self._set(priority_class.metadata.name, priority_class.value)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - of one name there is one at a time
        self._set(key, None)

    def _set(self, name: str, value: int | None) -> None:
        self._cluster.set_priority_class(name, value)
        self._wakeups.deliver()
