"""How the status of one kind is written, learnt from the answers.

Definitions in the wild differ, and are replaced while we run: some have no `status` subresource, some lack fields. What
the answer to a write shows is believed until another shows otherwise.
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
    """Of one kind. `mark` is a field of the status that every definition keeps: an answer without it was ignored."""

    def __init__(self, decode: Decoder[T], path_of: Callable[[ObjectMeta], str], mark: str) -> None:
        self._decode, self._path_of, self._mark = decode, path_of, mark
        self.has_subresource = True  # until an answer shows otherwise
        self._not_kept: frozenset[str] = frozenset()  # fields that the definition does not know

    def differ(self, wanted: Struct, known: Struct) -> bool:
        """Whether writing would change anything."""
        return bool(_differences(wanted, known) - self._not_kept)

    async def write(self, client: Client, meta: ObjectMeta, status: Struct) -> T:
        """The object as it is then; raises NotFound when it is gone, Conflict when it has changed meanwhile."""
        for subresource in (self.has_subresource, not self.has_subresource):
            try:
                answer = await self._patch(client, meta, status, subresource=subresource)
            except NotFound:
                continue  # no such subresource, or no such object: the other path knows
            if getattr(answer.status, self._mark) == getattr(status, self._mark):  # else this is not the way to it
                self.has_subresource = subresource
                self._learn(status, answer.status)
                return answer
        raise NotFound(f"{self._decode.kind} {meta.key} is gone, or keeps no status: {self._path_of(meta)}", status=404)

    def _learn(self, written: Struct, answered: Struct) -> None:
        """Which fields are dropped on the way in; one whose value is the default does not tell."""
        telling = _differences(written, type(written)())
        self._not_kept = (self._not_kept - telling) | _differences(written, answered)

    async def _patch(self, client: Client, meta: ObjectMeta, status: Struct, *, subresource: bool) -> T:
        path = self._path_of(meta)
        fields = {name: value for name, value in msgspec.to_builtins(status).items() if value is not None}
        answer = await client.write(
            "PATCH",
            f"{path}/status" if subresource else path,
            # Not the UID: a status written to a custom resource is taken for whatever UID it names.
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


def is_news(told: HasStatus, known: HasStatus | None) -> bool:
    """Not what we have heard before, nor what was true before that: answers to writes overtake the watch."""
    if known is None or known.metadata.uid != told.metadata.uid:
        return True
    now, heard = told.metadata.resource_version, known.metadata.resource_version
    return int(now) > int(heard) if now.isdecimal() and heard.isdecimal() else now != heard
