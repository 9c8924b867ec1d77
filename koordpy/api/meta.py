"""What every Kubernetes object has, and the base of our structs.

Fields are tuples and not lists: the garbage collector forgets a tuple of plain values, but visits every
list for ever (290 ms against 9 ms per collection with 50,000 pods).
"""

from __future__ import annotations

import msgspec


class Struct(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """An immutable piece of an API object; field names are Kubernetes' own, in snake case."""


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
        """`namespace/name`, or the name alone for what lives outside namespaces."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class PartialObjectMetadata(Struct, frozen=True):
    """What the API server sends of any object when it is asked for the metadata alone.

    `kind` and `api_version` are then those of this struct; a server that cannot do this sends the whole object, with
    its own.
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
