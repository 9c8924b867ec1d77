"""Writes the status of one kind, in the way that the answers to earlier writes have shown to work.

The definitions that users install differ, and are replaced while koordpy runs: some have no `status` subresource, some
lack fields. The writer learns both from the answer to each write, and believes it until another answer shows otherwise.
It never reads definitions, for which it would need permissions, and never writes anything but `status`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from koordpy.api.decode import Decoder
from koordpy.api.errors import MalformedObject
from koordpy.api.meta import ObjectMeta, Struct
from koordpy.kube.client import MERGE_PATCH, Client
from koordpy.kube.errors import NotFound, Unavailable


class HasStatus(Protocol):
    @property
    def metadata(self) -> ObjectMeta: ...

    @property
    def status(self) -> Any: ...


T = TypeVar("T", bound=HasStatus)


class StatusWriter(Generic[T]):
    """The writer of one kind.

    An API server that ignores a status, because it was sent to the wrong path, answers with 200 and the old object.
    The writer notices by the resource version, and by `probe`, a field of the status that every definition keeps.
    """

    def __init__(self, decode: Decoder[T], path_of: Callable[[ObjectMeta], str], probe: str) -> None:
        self._decode, self._path_of, self._probe = decode, path_of, probe
        self.has_subresource = True  # until an answer shows otherwise
        self._dropped: frozenset[str] = frozenset()  # fields that the definition lacks, so the API server drops them

    def differs(self, wanted: Struct, known: Struct) -> bool:
        """Whether a write would change anything."""
        return bool(_differences(wanted, known) - self._dropped)

    async def write(self, client: Client, meta: ObjectMeta, status: Struct) -> T:
        """Write the status and return the object as it is then.

        Raises NotFound when the object was deleted, Conflict when it was updated meanwhile.
        """
        unchanged: T | None = None
        is_missing = False
        for subresource in (self.has_subresource, not self.has_subresource):
            try:
                answer = await self._patch(client, meta, status, subresource=subresource)
            except NotFound:
                is_missing |= subresource == self.has_subresource
                continue  # the subresource is missing, or the object: the other path tells which
            if getattr(answer.status, self._probe) != getattr(status, self._probe):
                continue
            if answer.metadata.resource_version == meta.resource_version:
                unchanged = answer
                continue
            self.has_subresource = subresource
            self._learn(status, answer.status)
            return answer
        if unchanged is not None and not is_missing:  # all that differs are fields that the definition lacks
            self._learn(status, unchanged.status)
            return unchanged
        raise NotFound(f"{self._decode.kind} {meta.key} is gone, or keeps no status: {self._path_of(meta)}", status=404)

    def _learn(self, written: Struct, answered: Struct) -> None:
        """Find the fields that the API server drops. A field that was written with its default value tells nothing."""
        telling = _differences(written, type(written)())
        self._dropped = (self._dropped - telling) | _differences(written, answered)

    async def _patch(self, client: Client, meta: ObjectMeta, status: Struct, *, subresource: bool) -> T:
        path = self._path_of(meta)
        fields = {name: value for name, value in msgspec.to_builtins(status).items() if value is not None}
        answer = await client.write(
            "PATCH",
            f"{path}/status" if subresource else path,
            # The resource version is the precondition. The UID is none: the API server does not check it when the
            # status of a custom resource is written, and stores whatever UID the patch names.
            {"metadata": {"resourceVersion": meta.resource_version}, "status": fields},
            content_type=MERGE_PATCH,
        )
        try:
            return self._decode(answer)
        except MalformedObject as error:  # such as a proxy's page, sent with 200
            raise Unavailable(f"PATCH {path}: {error.problem}") from None


def _differences(one: Struct, other: Struct) -> frozenset[str]:
    fields = type(one).__struct_fields__
    return frozenset(name for name in fields if getattr(one, name) != getattr(other, name))
