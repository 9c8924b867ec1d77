"""The objects of gangs into the state, one sink for each API version, and whether they can exist at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from koordpy.api.meta import ObjectMeta
from koordpy.api.podgroup.claims import owner_gang
from koordpy.api.podgroup.frontends import FRONT_END_OF_API, gang_id
from koordpy.api.podgroup.gangobject import GangObject
from koordpy.api.podgroup.schedulingspec import SchedulingSpec, controller_of, gang_object_of
from koordpy.scheduler.wakeups import Wakeups
from koordpy.state.cluster import Cluster


class _Object:
    """Whatever has metadata."""

    metadata: ObjectMeta


T = TypeVar("T", bound=_Object)


class PodGroupSink(Generic[T]):
    """The sink of the watch of PodGroups of one API version; `read` is the adapter of its API family."""

    def __init__(self, api_version: str, read: Callable[[T], GangObject], cluster: Cluster, wakeups: Wakeups) -> None:
        self._api_version, self._read = api_version, read
        self._front_end = FRONT_END_OF_API[api_version]
        self._cluster, self._wakeups = cluster, wakeups

    def upsert(self, pod_group: T) -> None:
        self._set(pod_group.metadata.key, self._read(pod_group))

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - of one name there is one at a time
        self._set(key, None)

    def _set(self, key: str, obj: GangObject | None) -> None:
        self._cluster.set_gang_object(self._api_version, gang_id(self._front_end, key), obj)
        self._wakeups.deliver()


class SchedulingSpecSink:
    """The sink of the watch of SchedulingSpecs. They are joined to pods by their controller, and not by name."""

    def __init__(self, api_version: str, cluster: Cluster, wakeups: Wakeups) -> None:
        self._api_version, self._cluster, self._wakeups = api_version, cluster, wakeups
        self._gangs: dict[str, str] = {}  # namespace/name -> the gang of its owner
        self._specs: dict[str, dict[str, GangObject]] = {}  # gang -> SchedulingSpecs of that owner, by key

    def upsert(self, spec: SchedulingSpec) -> None:
        key, owner = spec.metadata.key, controller_of(spec.metadata)
        gang = owner_gang(spec.metadata.namespace, owner) if owner is not None else ""
        if self._gangs.get(key, gang) != gang:
            self.remove(key, "")
        if gang:
            self._gangs[key] = gang
            self._specs.setdefault(gang, {})[key] = gang_object_of(spec)
            self._set(gang)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - of one name there is one at a time
        gang = self._gangs.pop(key, "")
        if gang:
            self._specs[gang].pop(key, None)
            self._set(gang)

    def _set(self, gang: str) -> None:
        """Of several SchedulingSpecs of one owner the oldest counts."""
        specs = self._specs[gang]
        if not specs:
            del self._specs[gang]
        oldest = min(specs.values(), key=lambda each: (each.created or "", each.name), default=None)
        self._cluster.set_gang_object(self._api_version, gang, oldest)
        self._wakeups.deliver()


class GangDefinitions:
    """Which objects of gangs are installed."""

    def __init__(self, cluster: Cluster, wakeups: Wakeups) -> None:
        self._cluster, self._wakeups = cluster, wakeups

    def served(self, api_version: str, served: bool) -> None:
        self._cluster.set_served(FRONT_END_OF_API[api_version], api_version, served=served)
        self._wakeups.deliver()
