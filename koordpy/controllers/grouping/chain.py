"""The owners of a pod, nearest first: followed by the controller reference, or by the only one.

A chain ends where there is no owner, or none that can be followed: several references without a controller among them,
an owner that is gone, one that may not be read. What lies below the end still counts. A gang kind that may not be read
is another matter: without its numbers its pods would start in pieces, so that they wait.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from koordpy.api.errors import MalformedValue
from koordpy.api.grouping import Owner, group_of
from koordpy.api.meta import ObjectMeta, OwnerReference
from koordpy.controllers.grouping.kinds.table import Kinds
from koordpy.kube.errors import Forbidden

_LONGEST = 16  # owners; real chains have up to five

Read = Callable[[OwnerReference, str], Awaitable[Owner | None]]


@dataclass(frozen=True, slots=True)
class Chain:
    """Owners, nearest first. `doubt` says why the chain ends before its end; `orphaned` that the nearest is gone."""

    owners: tuple[Owner, ...] = ()
    doubt: str = ""
    orphaned: bool = False


async def walk(meta: ObjectMeta, read: Read, kinds: Kinds) -> Chain:
    """Follow the references of a pod. Raises MalformedValue for a cycle, and what `read` raises but Forbidden."""
    owners: list[Owner] = []
    seen = {meta.uid}
    below, about = meta, f"pod {meta.key}"
    while below.owner_references:
        reference = followed(below)
        if reference is None:
            return Chain(tuple(owners), f"{about} has several owners and no controller among them")
        if reference.uid in seen or len(owners) == _LONGEST:
            raise MalformedValue("metadata.ownerReferences", reference.name, f"of {about} owns itself in the end")
        seen.add(reference.uid)
        try:
            owner = await read(reference, meta.namespace)
        except Forbidden as error:
            if kinds.of(group_of(reference.api_version), reference.kind).reads_body:
                raise
            return Chain(tuple(owners), str(error))
        if owner is None or owner.metadata.namespace not in ("", meta.namespace):  # of others: anybody can write a UID
            return Chain(tuple(owners), orphaned=not owners)
        owners.append(owner)
        below, about = owner.metadata, str(owner)
    return Chain(tuple(owners))


def followed(meta: ObjectMeta) -> OwnerReference | None:
    """The reference by which an owner is found."""
    references = meta.owner_references
    controller = next((each for each in references if each.controller), None)
    if controller is not None:
        return controller
    return references[0] if len(references) == 1 else None
