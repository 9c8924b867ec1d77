"""One API group's PodGroups: where they are watched, and how their status is written.

Koordinator's definition has no `status` subresource, the coscheduling plugin's no `status.scheduled`.
"""

from __future__ import annotations

from urllib.parse import quote

from koordpy.api.decode import Decoder
from koordpy.api.meta import ObjectMeta
from koordpy.api.podgroup import VERSION, PodGroup, PodGroupStatus
from koordpy.controllers.podgroup.gangs import Roster
from koordpy.controllers.runtime.statuswriter import StatusWriter
from koordpy.kube.client import Client
from koordpy.kube.watch.reflector import Resource

_decode = Decoder("PodGroup", PodGroup)


class PodGroupApi:
    """A sink of one API group's PodGroups, and the way to write their status."""

    def __init__(self, group: str, roster: Roster) -> None:
        self.group = group
        self._roster = roster
        self._path = f"/apis/{group}/{VERSION}"
        self._writer = StatusWriter(_decode, self._path_of, mark="phase")

    @property
    def resource(self) -> Resource[PodGroup]:
        return Resource(f"{self._path}/podgroups", _decode, optional=True)

    def upsert(self, obj: PodGroup) -> None:
        """A PodGroup appeared or changed."""
        self._roster.put(self.group, obj)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - a sink is told both
        """A PodGroup is gone."""
        self._roster.drop(self.group, key)

    def differ(self, wanted: PodGroupStatus, known: PodGroupStatus) -> bool:
        """Whether writing would change anything."""
        return self._writer.differ(wanted, known)

    async def write(self, client: Client, pod_group: PodGroup, status: PodGroupStatus) -> None:
        """Write the status; raises NotFound when the PodGroup is gone, Conflict when it has changed meanwhile."""
        self._roster.answered(self.group, await self._writer.write(client, pod_group.metadata, status))

    def _path_of(self, meta: ObjectMeta) -> str:
        return f"{self._path}/namespaces/{quote(meta.namespace)}/podgroups/{quote(meta.name)}"
