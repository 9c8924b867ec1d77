"""Carrying a preemption out: the victims are told and deleted, then every member is promised its node.

The order is such that a crash between any two calls does no harm. The room is promised in memory before anything is
sent. A victim carries the name of the job it leaves for in its condition, before it is deleted: whoever leads next sees
it on its way out and evicts nobody else for that job meanwhile. If some eviction is refused for good, the rest of them
are not sent, and the promises are taken back.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import structlog

from koordpy import metrics
from koordpy.cluster.changes import Happened
from koordpy.cluster.picture import Cluster
from koordpy.cluster.pods import PodRecord
from koordpy.kube.client import Client, NotLeading
from koordpy.kube.errors import ApiError, Conflict, NotFound
from koordpy.kube.lane import Lane
from koordpy.kube.writes import Disruption, PodRef, delete_pod, promise_node, say_disrupted
from koordpy.plan.preemption import Preemption
from koordpy.report import Reporter, ref

_WIDTH = 16

log = structlog.get_logger()


@dataclass(slots=True)
class _Run:
    """One preemption under way."""

    key: str  # of the job's ticket
    job: str  # as users know it
    trigger: PodRecord
    victims: dict[str, PodRecord]
    members: list[str]  # UIDs
    left: int
    withdrawn: bool = False
    promised: set[str] = field(default_factory=set)  # members whose nomination the API server may have


class Evictor:
    """Evicts, promises, and follows up what became of it."""

    def __init__(
        self,
        client: Client,
        cluster: Cluster,
        reporter: Reporter,
        *,
        on_freed: Callable[[Happened], None],
        on_withdrawn: Callable[[str], None],
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._client, self._cluster, self._reporter, self._wall = client, cluster, reporter, wall
        self._on_freed, self._on_withdrawn = on_freed, on_withdrawn
        self._runs: dict[str, _Run] = {}
        self.lane = Lane(_WIDTH)

    def start_over(self) -> None:
        """Another term of leadership: what the API server knows is all there is."""
        self.lane.clear()
        self._runs.clear()

    def is_waiting(self, key: str) -> bool:
        """Victims of this job have not left yet."""
        run = self._runs.get(key)
        return run is not None and not run.withdrawn and any(uid in self._cluster.pods for uid in run.victims)

    def ended(self, key: str, outcome: str) -> None:
        """What became of the job that others were evicted for."""
        if self._runs.pop(key, None) is not None:
            metrics.PREEMPTION_OUTCOME.labels(outcome).inc()

    def start(self, key: str, job: str, trigger: PodRecord, found: Preemption) -> None:
        self.ended(key, "repeated")
        victims = {victim.uid: victim for victim in found.victims}
        run = _Run(key, job, trigger, victims, [each.uid for each in found.nominations], len(victims))
        self._runs[key] = run
        metrics.PREEMPTION_VICTIMS.observe(len(victims))
        log.info("preempting", job=job, victims=len(victims), nodes=len({v.node for v in victims.values()}))
        self._clear_lower(run)
        for each in found.nominations:
            self._on_freed(self._cluster.nominate(each.uid, each.node))
        for victim in found.victims:
            self.lane.put(partial(self._evict, run, victim))
        if not victims:
            self._promise(run)

    def clear_nomination(self, pod: PodRecord) -> None:
        """The promise is of no use any more."""
        if pod.nominated_node:
            self._on_freed(self._cluster.nominate(pod.uid, ""))
            self.lane.put(partial(self._write_nomination, ref(pod), ""))

    # --- victims ---

    async def _evict(self, run: _Run, victim: PodRecord) -> None:
        try:
            if not run.withdrawn:
                await self._evict_now(run, victim)
        except NotLeading:
            run.withdrawn = True
        except ApiError as error:
            self._withdraw(run, victim, error)
        run.left -= 1
        if not run.left and not run.withdrawn:
            self._promise(run)

    async def _evict_now(self, run: _Run, victim: PodRecord) -> None:
        current = self._cluster.pods.get(victim.uid)
        if current is None or current.terminating:
            return  # it has finished by itself, or is leaving anyway
        scheduler = run.trigger.scheduler
        message = (
            f"{scheduler}: preempting to accommodate higher priority pods, "
            f"preemptor: {run.job}, triggerpod: {run.trigger.key}"
        )
        try:
            await say_disrupted(self._client, ref(current), Disruption(message, current.generation, self._wall()))
            await delete_pod(self._client, ref(current))
        except (NotFound, Conflict):
            return  # gone meanwhile, or another pod by now
        metrics.WRITES.labels("eviction", "ok").inc()
        self._reporter.preempted(current, run.job, run.trigger)

    def _withdraw(self, run: _Run, victim: PodRecord, error: ApiError) -> None:
        metrics.WRITES.labels("eviction", "failed").inc()
        log.warning("eviction_failed", victim=victim.key, job=run.job, problem=str(error), hint="preemption withdrawn")
        if run.withdrawn:
            return
        run.withdrawn = True
        for uid in run.members:
            member = self._cluster.pods.get(uid)
            if member is not None:
                self.clear_nomination(member)
        if self._runs.get(run.key) is run:
            self.ended(run.key, "withdrawn")
        self._on_withdrawn(run.key)

    # --- promises ---

    def _clear_lower(self, run: _Run) -> None:
        """Pods of lower priority that were promised room on these nodes will not get it now."""
        nodes = {victim.node for victim in run.victims.values()}
        for other in list(self._cluster.nominated.values()):
            is_lower = other.priority < run.trigger.priority and other.uid not in run.members
            if is_lower and other.nominated_node in nodes:
                self.clear_nomination(other)

    def _promise(self, run: _Run) -> None:
        for uid in run.members:
            member = self._cluster.pods.get(uid)
            if member is not None and member.nominated_node and not member.node:
                self.lane.put(partial(self._write_nomination, ref(member), member.nominated_node))

    async def _write_nomination(self, pod: PodRef, node: str) -> None:
        current = self._cluster.pods.get(pod.uid)
        if current is None or current.bound or current.nominated_node != node:
            return  # decided otherwise since
        try:
            await promise_node(self._client, pod, node)
        except (NotFound, NotLeading):
            return
        except ApiError as error:
            # In memory the promise holds; only a restart would not know of it.
            metrics.WRITES.labels("nomination", "failed").inc()
            log.warning("nomination_failed", pod=f"{pod.namespace}/{pod.name}", problem=str(error))
            return
        metrics.WRITES.labels("nomination", "ok").inc()
