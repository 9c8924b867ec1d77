"""PodGroups into gangs."""

from __future__ import annotations

from koordpy.api.podgroup import PodGroup
from koordpy.scheduler.wakeups import Wakeups
from koordpy.state.cluster import Cluster


class PodGroupSink:
    """The sink of the watch of PodGroups of one API group."""

    def __init__(self, api_group: str, cluster: Cluster, wakeups: Wakeups) -> None:
        self._api_group, self._cluster, self._wakeups = api_group, cluster, wakeups

    def upsert(self, pod_group: PodGroup) -> None:
        self._set(pod_group.metadata.key, pod_group)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - of one name there is one at a time
        self._set(key, None)

    def _set(self, key: str, pod_group: PodGroup | None) -> None:
        self._cluster.set_pod_group(self._api_group, key, pod_group)
        self._wakeups.deliver()
