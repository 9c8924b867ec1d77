"""ObjectMeta, label selectors and conditions, and the base class of all structs.

Fields are tuples and not lists: the garbage collector untracks a tuple of plain values, but visits every list in each
collection (290 ms against 9 ms with 50,000 pods).
"""

from __future__ import annotations

import msgspec


class Struct(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """An immutable part of an API object; field names are those of the API, in snake case."""


class OwnerReference(Struct, frozen=True):
    kind: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    controller: bool = False


class ObjectMeta(Struct, frozen=True):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def key(self) -> str:
        """`namespace/name`, or the name alone of a cluster-scoped object."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class PartialObjectMetadata(Struct, frozen=True):
    """The metadata of any object.

    `kind` and `api_version` are those of this struct; a server that cannot do this sends whole objects, with their own.
    """

    metadata: ObjectMeta
    api_version: str = ""
    kind: str = ""


class ListMeta(Struct, frozen=True):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class LabelSelectorRequirement(Struct, frozen=True):
    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(Struct, frozen=True):
    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class Condition(Struct, frozen=True):
    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class StatusCondition(Struct, frozen=True, omit_defaults=True):
    """A condition of an object that is not a pod, as the API conventions have it."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    observed_generation: int = 0
