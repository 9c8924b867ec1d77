"""Cluster events: what changed in the cluster, in the terms in which a refusal says what is worth another attempt.

kube-scheduler's plugins register such events; here a refusal names them (`wake_on`), and the queue activates the jobs
that wait for what happened.
"""

from __future__ import annotations

import enum
from typing import NamedTuple


class EventKind(enum.Flag):
    """Kinds of cluster events. A refusal names those after which its job may fit."""

    NONE = 0
    # On one node: worth an attempt only if that node has room.
    NODE_ADDED = enum.auto()
    NODE_GREW = enum.auto()  # more allocatable
    NODE_RELABELLED = enum.auto()
    NODE_TAINTS = enum.auto()  # taints or cordon
    ROOM_FREED = enum.auto()  # a pod left the node, or requests less
    VICTIMS = enum.auto()  # a pod there can be evicted that could not be before: it is bound now, or not protected now
    # Anywhere: a pod or a node here can make another node fit.
    POD_CAME = enum.auto()  # a pod was placed, or its labels changed
    POD_LEFT = enum.auto()
    DOMAINS = enum.auto()  # nodes joined or left a topology domain, or a domain could hold more
    SELECTORS = enum.auto()  # namespaces or services select other pods than before
    STORAGE = enum.auto()  # claims, volumes, classes or drivers
    QUEUES = enum.auto()  # a queue has less than before, or a Queue object changed
    # Worth an attempt only if the job's queue may take from others.
    SHARES = enum.auto()  # a queue is due more than before, or another one less


ON_ONE_NODE = (
    EventKind.NODE_ADDED
    | EventKind.NODE_GREW
    | EventKind.NODE_RELABELLED
    | EventKind.NODE_TAINTS
    | EventKind.ROOM_FREED
    | EventKind.VICTIMS
)


class ClusterEvent(NamedTuple):
    """What changed, and on which node; one event can concern two nodes, as when a pod moves."""

    kind: EventKind
    node: str
    other_node: str = ""

    def merged_with(self, other: ClusterEvent) -> ClusterEvent:
        """Both as one event."""
        if other is NO_EVENT:  # almost always; without this check, taking in a pod would cost a tenth more
            return self
        if self is NO_EVENT:
            return other
        nodes = dict.fromkeys(n for n in (self.node, self.other_node, other.node, other.other_node) if n)
        first, second = [*nodes, "", ""][:2]
        return ClusterEvent(self.kind | other.kind, first, second)


NO_EVENT = ClusterEvent(EventKind.NONE, "")
