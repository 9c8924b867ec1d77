"""What happened to the picture, in the terms in which a refusal says what would cure it."""

from __future__ import annotations

import enum
from typing import NamedTuple


class Change(enum.Flag):
    """Kinds of changes; a refusal names those that could make its job fit."""

    NONE = 0
    # On one node: worth a try only if that node has room.
    NODE_ADDED = enum.auto()
    NODE_GREW = enum.auto()  # more allocatable
    NODE_RELABELLED = enum.auto()
    NODE_TAINTS = enum.auto()  # taints or cordon
    ROOM_FREED = enum.auto()  # a pod left the node, or asks for less
    VICTIMS = enum.auto()  # somebody there can be evicted who could not before: bound by now, or protected no more
    # Anywhere: a pod or a node here can make another node fit.
    POD_CAME = enum.auto()  # a pod was placed, or its labels changed
    POD_LEFT = enum.auto()
    DOMAINS = enum.auto()  # nodes joined or left a topology domain
    SELECTORS = enum.auto()  # namespaces or services select other pods than before
    STORAGE = enum.auto()  # claims, volumes, classes or drivers


ON_ONE_NODE = (
    Change.NODE_ADDED
    | Change.NODE_GREW
    | Change.NODE_RELABELLED
    | Change.NODE_TAINTS
    | Change.ROOM_FREED
    | Change.VICTIMS
)


class Happened(NamedTuple):
    """A change, and the node it happened on; one event can be news on two, as when a pod moves."""

    change: Change
    node: str
    other_node: str = ""

    def together_with(self, other: Happened) -> Happened:
        """Both, as one piece of news."""
        if other is NOTHING:  # as good as always, and a tenth of what taking in a pod would cost otherwise
            return self
        if self is NOTHING:
            return other
        nodes = dict.fromkeys(n for n in (self.node, self.other_node, other.node, other.other_node) if n)
        first, second = [*nodes, "", ""][:2]
        return Happened(self.change | other.change, first, second)


NOTHING = Happened(Change.NONE, "")
