"""The PodGroups of one API group: the sink of their watch, and the writer of their status.

The definitions in use differ: Koordinator's has no `status` subresource, the coscheduling plugin's no
`status.scheduled`. `StatusWriter` finds that out, once for each API group.
"""

from __future__ import annotations

from urllib.parse import quote

from koordpy.api.decode import Decoder
from koordpy.api.meta import ObjectMeta
from koordpy.api.podgroup import VERSION, PodGroup, PodGroupStatus
from koordpy.controllers.podgroup.gangs import GangIndex
from koordpy.controllers.runtime.statuswriter import StatusWriter
from koordpy.kube.client import Client

_decode = Decoder("PodGroup", PodGroup)


class PodGroupApi:
    """One API group. It is the sink of the watch of its PodGroups, and writes their status."""

    def __init__(self, group: str, gangs: GangIndex) -> None:
        self._group, self._gangs = group, gangs
        self._path = f"/apis/{group}/{VERSION}"
        self._writer = StatusWriter(_decode, self._path_of, probe="phase")

    def upsert(self, obj: PodGroup) -> None:
        """A PodGroup was added or updated."""
        self._gangs.upsert_pod_group(self._group, obj)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - a sink gets both
        """A PodGroup was deleted."""
        self._gangs.remove_pod_group(self._group, key)

    def differs(self, wanted: PodGroupStatus, known: PodGroupStatus) -> bool:
        """Whether a write would change anything."""
        return self._writer.differs(wanted, known)

    async def write(self, client: Client, pod_group: PodGroup, status: PodGroupStatus) -> None:
        """Write the status; raises NotFound when the PodGroup was deleted, Conflict when it was updated meanwhile."""
        self._gangs.record_write(self._group, await self._writer.write(client, pod_group.metadata, status))

    def _path_of(self, meta: ObjectMeta) -> str:
        return f"{self._path}/namespaces/{quote(meta.namespace)}/podgroups/{quote(meta.name)}"
