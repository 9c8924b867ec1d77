"""PodGroups into gangs, and whether there are PodGroups at all."""

from __future__ import annotations

import structlog

from koordpy.api.podgroup import PodGroup
from koordpy.scheduler.wakeups import Wakeups
from koordpy.state.cluster import Cluster

log = structlog.get_logger()


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


class PodGroupDefinitions:
    """Whether PodGroups are installed, in one of their API groups at least; said once if not."""

    def __init__(self, cluster: Cluster, wakeups: Wakeups) -> None:
        self._cluster, self._wakeups = cluster, wakeups

    def served(self, api_group: str, served: bool) -> None:
        gangs = self._cluster.gangs
        before = gangs.pod_groups_served
        gangs.set_served(api_group, served=served)
        if before and not gangs.pod_groups_served:
            log.warning(
                "podgroups_not_installed",
                hint="koordpy crds | kubectl apply -f -; until then pods that name a PodGroup wait",
            )
        elif gangs.pod_groups_served and not before:
            log.info("podgroups_installed", api_group=api_group)
        self._wakeups.deliver()
