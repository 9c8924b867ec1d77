"""Claims, volumes, classes and drivers, each kind into its own table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic

from koordpy.kube.watch.sinks import T
from koordpy.scheduler.wakeups import Wakeups
from koordpy.state.cluster import Cluster


class StorageSink(Generic[T]):
    """The sink of the watch of one kind; `on_change` wakes pods whose volumes are being bound."""

    def __init__(self, table: dict[str, T], cluster: Cluster, wakeups: Wakeups, on_change: Callable[[], None]) -> None:
        self._table, self._cluster, self._wakeups, self._on_change = table, cluster, wakeups, on_change

    def upsert(self, obj: T) -> None:
        self._table[obj.metadata.key] = obj
        self._changed()

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002
        self._table.pop(key, None)
        self._changed()

    def _changed(self) -> None:
        self._cluster.storage_changed()
        self._on_change()
        self._wakeups.deliver()
