"""One API group's PodGroups: where they are watched, and how their status is written.

Definitions in the wild differ, and are replaced while we run: Koordinator's has no `status` subresource, the
coscheduling plugin's no `status.scheduled`. What the answer to a write shows is believed until another shows otherwise.
"""

from __future__ import annotations

from urllib.parse import quote

import msgspec

from koordpy.api.decode import Decoder
from koordpy.api.errors import MalformedObject
from koordpy.api.podgroup import VERSION, PodGroup, PodGroupStatus
from koordpy.controllers.roster import Roster
from koordpy.kube.client import MERGE_PATCH, Client
from koordpy.kube.errors import NotFound, Unavailable
from koordpy.kube.reflector import Resource

_decode = Decoder("PodGroup", PodGroup)


class PodGroupApi:
    """A sink of one API group's PodGroups, and the way to write their status."""

    def __init__(self, group: str, roster: Roster) -> None:
        self.group = group
        self._roster = roster
        self._path = f"/apis/{group}/{VERSION}"
        self._has_status = True  # as a subresource
        self._not_kept: frozenset[str] = frozenset()  # fields of the status that the definition does not know

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
        return bool(_differences(wanted, known) - self._not_kept)

    async def write(self, client: Client, pod_group: PodGroup, status: PodGroupStatus) -> None:
        """Write the status; raises NotFound when the PodGroup is gone, Conflict when it has changed meanwhile."""
        for subresource in (self._has_status, not self._has_status):
            try:
                answer = await self._patch(client, pod_group, status, subresource=subresource)
            except NotFound:
                continue  # no such subresource, or no such object: the other path knows
            if answer.status.phase == status.phase:  # else it was ignored: this is not the way to a status
                self._has_status = subresource
                self._learn(status, answer.status)
                self._roster.answered(self.group, answer)
                return
        raise NotFound(f"PodGroup {pod_group.metadata.key} of {self.group} is gone, or keeps no status", status=404)

    def _learn(self, written: PodGroupStatus, answered: PodGroupStatus) -> None:
        """Which fields are dropped on the way in; one whose value is the default does not tell."""
        telling = _differences(written, PodGroupStatus())
        self._not_kept = (self._not_kept - telling) | _differences(written, answered)

    async def _patch(
        self, client: Client, pod_group: PodGroup, status: PodGroupStatus, *, subresource: bool
    ) -> PodGroup:
        meta = pod_group.metadata
        path = f"{self._path}/namespaces/{quote(meta.namespace)}/podgroups/{quote(meta.name)}"
        fields = {name: value for name, value in msgspec.to_builtins(status).items() if value is not None}
        answer = await client.write(
            "PATCH",
            f"{path}/status" if subresource else path,
            # Not the UID: a status written to a custom resource is taken for whatever UID it names.
            {"metadata": {"resourceVersion": meta.resource_version}, "status": fields},
            content_type=MERGE_PATCH,
        )
        try:
            return _decode(answer)
        except MalformedObject as error:  # such as a proxy's page, sent with 200
            raise Unavailable(f"PATCH {path}: {error.problem}") from None


def _differences(one: PodGroupStatus, other: PodGroupStatus) -> frozenset[str]:
    fields = PodGroupStatus.__struct_fields__
    return frozenset(name for name in fields if getattr(one, name) != getattr(other, name))
