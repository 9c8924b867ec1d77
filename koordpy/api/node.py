"""Node, as far as scheduling reads it."""

from __future__ import annotations

from koordpy.api.meta import Condition, ObjectMeta, Struct


class Taint(Struct, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""


class ContainerImage(Struct, frozen=True):
    names: tuple[str, ...] | None = ()  # null for an image without a tag
    size_bytes: int = 0


class NodeSpec(Struct, frozen=True):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(Struct, frozen=True):
    allocatable: dict[str, str | int] = {}
    images: tuple[ContainerImage, ...] = ()
    conditions: tuple[Condition, ...] = ()


class Node(Struct, frozen=True):
    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
