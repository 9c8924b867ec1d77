"""Wake-ups: what changed in the cluster state, turned into tickets and activated jobs.

Whoever changes the state writes to its change log (`state/changes.py`) and calls nobody. `deliver` takes the log: after
each batch of watch events, and before each attempt. Gangs get their tickets first; then jobs are activated by what
happened. In the other order a gang's own change would use up the early wake-up that it has for free.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Protocol

from koordpy.scheduler.jobs import Jobs
from koordpy.scheduler.queue.queue import JobQueue
from koordpy.scheduler.queue.ticket import Wants
from koordpy.scheduler.room import Room
from koordpy.scheduler.timers import GangTimer
from koordpy.state.changes import Changes
from koordpy.state.cluster import Cluster
from koordpy.state.events import ON_ONE_NODE, ClusterEvent, EventKind
from koordpy.state.eviction import Preemptor


class Shares(Protocol):
    """What queues are due: whether that has changed since it was asked, and whether a job may take from others."""

    def have_moved(self) -> bool: ...

    def may_take(self, wants: Wants, preemptor: Preemptor) -> bool: ...


class Wakeups:
    """Keeps the queue in step with the cluster state."""

    def __init__(
        self, cluster: Cluster, queue: JobQueue, jobs: Jobs, timers: Sequence[GangTimer], shares: Shares
    ) -> None:
        self._cluster, self._queue, self._jobs, self._timers = cluster, queue, jobs, timers
        self._shares = shares
        self._nodes_seen = (0, 0)

    def deliver(self) -> None:
        """Everything that has changed since the last call."""
        while self._cluster.changes:
            self._deliver(self._cluster.changes.take())

    def _deliver(self, changes: Changes) -> None:
        self._jobs.regroup(changes.regrouped)
        self._jobs.refresh(changes.groups)
        for timer in self._timers if changes.groups else ():
            timer.look_at(changes.groups)
        self._jobs.reclassify(changes.reshaped)
        if self._queue.any_unschedulable:
            self._wake(changes.events)
        self._jobs.recheck_nominations(changes.nodes | changes.entered.keys())
        if changes.nodes or changes.entered:
            self._jobs.recheck_min_resources()
        for node in changes.nodes:
            self._jobs.recheck_waiting(node)
        if changes.nodes and self._nodes_differ():
            self._jobs.recheck_all_waiting()
        for node in changes.entered:
            if self._cluster.nodes.is_overcommitted(node):  # by another scheduler: whoever merely waits there gives way
                self._jobs.recheck_waiting(node)

    def _nodes_differ(self) -> bool:
        """Since the last call, in what they are and have: a node's heartbeat is no such change."""
        nodes = self._cluster.nodes
        before, self._nodes_seen = self._nodes_seen, (nodes.static_generation, nodes.size_generation)
        return before != self._nodes_seen

    def _wake(self, events: Iterable[ClusterEvent]) -> None:
        """Events of one kind on one node are one event; what can help from anywhere is asked about once."""
        anywhere = EventKind.NONE
        by_nodes: dict[tuple[str, str], EventKind] = {}
        for kind, node, other in events:
            anywhere |= kind & ~ON_ONE_NODE
            local = kind & ON_ONE_NODE
            if local:
                by_nodes[node, other] = by_nodes.get((node, other), EventKind.NONE) | local
        if anywhere:
            self._queue.wake(anywhere, _no_room)
        if self._shares.have_moved() or anywhere & EventKind.QUEUES:
            self._queue.wake(EventKind.SHARES, self._shares.may_take)
        room = Room(self._cluster)
        for (node, other), local in by_nodes.items():
            rows = [row for name in (node, other) if (row := self._cluster.nodes.row_of(name)) is not None]
            self._queue.wake(local, partial(room.suffices, rows))


def _no_room(wants: Wants, preemptor: Preemptor) -> bool:  # noqa: ARG001
    return False
