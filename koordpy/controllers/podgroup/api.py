"""The PodGroups of one API version: the sink of their watch, and the writer of their status.

The definitions in use differ: Koordinator's has no `status` subresource, the coscheduling plugin's no
`status.scheduled`, KAI's newer ones no `status.phase`. `StatusWriter` finds that out, once for each API version.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from koordpy.api.meta import ObjectMeta, Struct
from koordpy.controllers.podgroup.gangs import GangIndex
from koordpy.controllers.podgroup.kinds import PodGroupKind
from koordpy.controllers.runtime.statuswriter import StatusWriter
from koordpy.kube.client import Client


class PodGroupApi:
    """One API version. It is the sink of the watch of its PodGroups, and writes their status."""

    def __init__(self, kind: PodGroupKind, gangs: GangIndex) -> None:
        self.kind, self._gangs = kind, gangs
        self._writer = StatusWriter(kind.decode, self._path_of, probe=kind.probe)

    def upsert(self, obj: Any) -> None:
        """A PodGroup was added or updated."""
        self._gangs.upsert_pod_group(self.kind, obj)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - a sink gets both
        """A PodGroup was deleted."""
        self._gangs.remove_pod_group(self.kind, key)

    def differs(self, wanted: Struct, known: Struct) -> bool:
        """Whether a write would change anything."""
        return self._writer.differs(wanted, known)

    async def write(self, client: Client, meta: ObjectMeta, status: Struct) -> None:
        """Write the status; raises NotFound when the PodGroup was deleted, Conflict when it was updated meanwhile."""
        self._gangs.record_write(self.kind, await self._writer.write(client, meta, status))

    def _path_of(self, meta: ObjectMeta) -> str:
        return f"/apis/{self.kind.api_version}/namespaces/{quote(meta.namespace)}/podgroups/{quote(meta.name)}"
