"""A gang's object, whatever its kind: what it says about its gang, in one form."""

from __future__ import annotations

from typing import NamedTuple

from koordpy.api.gangs import DECLARES_NOTHING, Complaint, GangDeclaration
from koordpy.api.meta import ObjectMeta
from koordpy.api.pod import Quantities


class SubGroup(NamedTuple):
    """A part of a gang. A leaf has members and a minimum of them; a parent has children, and a minimum of those."""

    name: str
    minimum: int = 0  # members of a leaf
    parent: str = ""
    min_children: int | None = None  # None: all of them


class GangObject(NamedTuple):
    """One object, as far as gangs go. It is equal to another one that says the same about the same gang."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    created: str | None
    annotations: tuple[tuple[str, str], ...]  # sorted
    by_annotation: GangDeclaration  # its annotations, as all kinds may have them
    by_spec: GangDeclaration = DECLARES_NOTHING
    min_resources: tuple[tuple[str, str | int], ...] = ()
    subgroups: tuple[SubGroup, ...] = ()
    min_children: int | None = None  # of subgroups without a parent; None: all of them
    queue: str = ""  # that its spec names; a label may name one too
    preemptibility: str = ""  # preemptible, non-preemptible, or not said
    priority_class: str = ""
    priority: int | None = None
    node_selector: tuple[tuple[str, str], ...] = ()
    complaints: tuple[Complaint, ...] = ()  # about its spec
    was_started: bool = False  # by its status: pods that it had may be gone
    has_succeeded: bool = False  # by its status: a member has, and its pod may be gone
    grouped: bool = False  # made by our own grouper, and not by a user
    workload: str = ""  # the owner that it was made for, if it was
    workload_kind: str = ""

    def says_the_same(self, other: GangObject) -> bool:
        """Apart from its status and from annotations without a meaning, which we mostly keep ourselves."""
        return self == other._replace(
            annotations=self.annotations, was_started=self.was_started, has_succeeded=self.has_succeeded
        )


def head_of(api_version: str, kind: str, meta: ObjectMeta, by_annotation: GangDeclaration) -> GangObject:
    """What every kind has in common."""
    return GangObject(
        api_version,
        kind,
        meta.namespace,
        meta.name,
        meta.uid,
        meta.creation_timestamp,
        tuple(sorted(meta.annotations.items())),
        by_annotation,
    )


def amounts_in(quantities: Quantities) -> tuple[tuple[str, str | int], ...]:
    return tuple(sorted(quantities.items()))
