"""The cost of a cluster event while thousands of pods are unschedulable.

A full cluster, unschedulable pods, and running pods that are deleted one by one. The clock of an event runs from its
delivery to the sink until the queue is empty: the wake-up itself, and every attempt that it causes. The number of
attempts is a figure of its own, since it tells more than time does: a freed slot should cost about one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import cast

from bench.figures import BenchError, Figure
from bench.planning.objects import SCHEDULER, node, node_name, pod, typed_node, typed_pod
from koordpy.app.build import build_scheduler
from koordpy.app.settings import Settings
from koordpy.kube.client import Client
from koordpy.plan.framework.answers import Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.framework.profiles import default_profile
from koordpy.plan.placement.pods import plan
from koordpy.scheduler.queue.ticket import State, Ticket

CPU = 32  # of a node, all taken by one pod
TOO_MUCH_M = 64_000
FITS_ONE_M = 16_001  # two of them do not fit where one pod left


class FullCluster:
    """Full nodes, and the scheduler's queue without its API calls."""

    def __init__(self, nodes: int) -> None:
        self.now = 0.0
        built = build_scheduler(Settings(), cast("Client", None), clock=lambda: self.now, wall=lambda: self.now)
        self.cluster, self.queue, self.pod_sink, self._settle = (
            built.cluster, built.queue, built.sinks.pods, built.sinks.settle_pods,
        )  # fmt: skip
        self._next = built.scheduler.next_ticket
        self._profile = default_profile(SCHEDULER)
        self._running: list[str] = []  # UIDs, one for each node
        for number in range(nodes):
            self.cluster.upsert_node(typed_node(node(number, cpu=CPU) | {"spec": {}}))
            running = typed_pod(pod(number, app="running", cpu_m=CPU * 1000, node=node_name(number)))
            self.pod_sink.upsert(running)
            self._settle()
            self._running.append(running.metadata.uid)

    def add_unschedulable(self, count: int, shapes: int, cpu_m: int) -> None:
        """Add pods that fit nowhere, and attempt each once."""
        first = len(self._running)
        for number in range(first, first + count):
            self.pod_sink.upsert(typed_pod(pod(number, app="parked", cpu_m=cpu_m + number % shapes)))
            self._settle()
        self.drain()
        if (unschedulable := self.queue.counts()[State.UNSCHEDULABLE]) != count:
            raise BenchError(f"{unschedulable:,} of {count:,} pods are parked: the others found room in a full cluster")

    def drain(self) -> int:
        """Attempt all active tickets; returns the number of attempts."""
        attempts = 0
        while (ticket := self._next()) is not None:
            self._attempt(ticket)
            attempts += 1
        return attempts

    def events(self, count: int) -> Iterator[tuple[float, int]]:
        """Delete running pods one by one: seconds until no ticket is active, and attempts."""
        for uid in self._running[:count]:
            self.now += 60.0  # every back-off is over
            started = time.perf_counter()
            self.pod_sink.remove("", uid)
            self._settle()
            attempts = self.drain()
            yield time.perf_counter() - started, attempts

    def _attempt(self, ticket: Ticket) -> None:
        answer = plan(Job(ticket.key, (self.cluster.pods[ticket.key],)), self.cluster, self._profile)
        if isinstance(answer, Refusal):
            self.queue.add_unschedulable(ticket, answer)
            return
        for placement in answer.placements:
            self.cluster.assume(placement.uid, placement.node)
        self.queue.done(ticket)


def figures(unschedulable: int, nodes: int, events: int) -> list[Figure]:
    """Unschedulable pods of one shape, of a hundred shapes, and each of its own."""
    found = []
    for shapes in sorted({1, min(100, unschedulable), unschedulable}):
        setting = f"{unschedulable:,} parked of {shapes:,} {'shape' if shapes == 1 else 'shapes'}, {nodes:,} nodes"
        for room, cpu_m in (("for nobody", TOO_MUCH_M), ("for one", FITS_ONE_M)):
            full = FullCluster(nodes)
            full.add_unschedulable(unschedulable, shapes, cpu_m)
            found += _leaving(f"a pod leaves, room {room}, {setting}", full, events)
    return found


def _leaving(name: str, full: FullCluster, events: int) -> list[Figure]:
    seen = list(full.events(events))
    milliseconds = tuple(seconds * 1000 for seconds, _ in seen)
    return [
        Figure(name, "ms", milliseconds),
        Figure(f"{name}: attempts", "", tuple(float(attempts) for _, attempts in seen)),
    ]
