"""What happened to the picture, in the terms in which a refusal says what would cure it."""

from __future__ import annotations

import enum
from typing import NamedTuple


class Change(enum.Flag):
    """Kinds of changes; a refusal names those that could make its job fit."""

    NONE = 0
    NODE_ADDED = enum.auto()
    NODE_GREW = enum.auto()  # more allocatable
    ROOM_FREED = enum.auto()  # a pod left a node, or asks for less


class Happened(NamedTuple):
    """A change, and the node it happened on."""

    change: Change
    node: str


NOTHING = Happened(Change.NONE, "")
