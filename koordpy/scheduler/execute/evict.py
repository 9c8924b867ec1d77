"""Carrying a preemption out: the victims are told, then deleted, then every member is promised its node.

The order is such that a failure or a crash between any two calls does no harm. The room is promised in memory before
anything is sent. Nobody is deleted before all have been told. A victim carries the name of the job it leaves for in its
condition, before it is deleted: whoever leads next sees it on its way out and goes on with that. If some eviction is
refused for good, or the job is not there any more, the rest of them are not sent, and the promises are taken back.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

import structlog

from koordpy import metrics
from koordpy.kube.client import Client, NotLeading
from koordpy.kube.errors import ApiError, Conflict, Invalid, NotFound, Transient
from koordpy.kube.lane import Lane
from koordpy.kube.writes import Disruption, PodRef, delete_pod, is_still_there, say_disrupted, set_nominated_node
from koordpy.plan.preemption.eligibility import Preemption
from koordpy.scheduler.report.reporter import Reporter, ref
from koordpy.state.cluster import Cluster
from koordpy.state.events import ClusterEvent
from koordpy.state.pods import PodRecord

_WIDTH = 16
_AGAIN_FIRST_S = 2.0
_AGAIN_MOST_S = 60.0
_CONFLICT_PAUSES_S = (0.1, 0.5, 2.0)
_SPARED_S = 300.0  # that a pod is left alone whose eviction was forbidden
_FEW = 5  # of those; if there are more, it is not the pods but the permissions, and others are sought more slowly

log = structlog.get_logger()

_Step = Callable[["_Run", PodRecord], Awaitable[None]]


@dataclass(slots=True)
class _Run:
    """One preemption under way."""

    key: str  # of the job's ticket
    job: str  # as users know it
    trigger: PodRecord
    victims: dict[str, PodRecord]
    members: frozenset[str]  # UIDs of those that are promised a node
    staying: set[str]  # UIDs of victims that are still there
    left: int = 0  # victims that the step under way has not dealt with
    withdrawn: bool = False
    looked_at: int = -1  # how many promises had ended when all members were seen with theirs
    displaced: list[PodRef] = field(default_factory=list)  # pods of lower priority whose promises were taken back

    @property
    def message(self) -> str:
        return (
            f"{self.trigger.scheduler}: preempting to accommodate higher priority pods, "
            f"preemptor: {self.job}, triggerpod: {self.trigger.key}"
        )


class Evictor:
    """Evicts, promises, and follows up what became of it."""

    def __init__(
        self,
        client: Client,
        cluster: Cluster,
        reporter: Reporter,
        *,
        on_freed: Callable[[ClusterEvent], None],
        on_withdrawn: Callable[[str, bool], None],
        on_cleared: Callable[[str], None],
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._client, self._cluster, self._reporter, self._wall = client, cluster, reporter, wall
        self._on_freed, self._on_withdrawn, self._on_cleared = on_freed, on_withdrawn, on_cleared
        self._runs: dict[str, _Run] = {}
        self._refused: dict[str, str] = {}  # UID of a victim that is left alone for a while, and why
        self.lane = Lane(_WIDTH)

    def start_over(self) -> None:
        """Another term of leadership: what the API server knows is all there is."""
        self.lane.clear()
        self._runs.clear()

    def is_waiting(self, key: str) -> bool:
        """Evictions for this job are under way; once they show, it is the victims that the job waits for."""
        run = self._runs.get(key)
        pods = self._cluster.pods
        return run is not None and any(uid in pods and not pods[uid].terminating for uid in run.victims)

    def refused(self, below: int) -> str:
        """Why a pod of lower priority is not evicted although its labels allow it; empty if there is none."""
        pods = self._cluster.pods
        return next((why for uid, why in self._refused.items() if uid in pods and pods[uid].priority < below), "")

    def ended(self, key: str, outcome: str) -> None:
        """What became of the job that others were evicted for."""
        if self._runs.pop(key, None) is not None:
            metrics.PREEMPTION_OUTCOME.labels(outcome).inc()

    def pod_gone(self, uid: str) -> None:
        """With the last of its members a job is gone; with the last of its victims, its room is there."""
        for run in list(self._runs.values()):
            if uid in run.members and not any(member in self._cluster.pods for member in run.members):
                self.ended(run.key, "gone")
            elif uid in run.staying:
                run.staying.discard(uid)
                if not run.staying:
                    self._on_cleared(run.key)

    def start(self, key: str, job: str, trigger: PodRecord, found: Preemption) -> None:
        self.ended(key, "repeated")
        members = frozenset(each.uid for each in found.nominations)
        victims = {each.uid: each for each in found.victims}
        run = self._runs[key] = _Run(key, job, trigger, victims, members, staying=set(victims))
        log.info("preempting", job=job, victims=len(run.victims), nodes=len({v.node for v in found.victims}))
        self._displace_lower(run)
        for each in found.nominations:
            self._on_freed(self._cluster.nominate(each.uid, each.node))
        if found.victims:
            metrics.PREEMPTION_VICTIMS.observe(len(found.victims))
            self._each(run, self._tell)
        else:
            self._promise(run)

    def clear_nomination(self, pod: PodRecord) -> None:
        """The promise is of no use any more."""
        if pod.nominated_node:
            self._on_freed(self._cluster.nominate(pod.uid, ""))
            self._write(ref(pod), "")

    # --- victims ---

    def _each(self, run: _Run, step: _Step) -> None:
        run.left = len(run.victims)
        for victim in run.victims.values():
            self.lane.put(partial(self._one, run, victim, step))

    async def _one(self, run: _Run, victim: PodRecord, step: _Step) -> None:
        """One step with one victim; after the last one, what comes next."""
        try:
            current = self._cluster.pods.get(victim.uid)
            # It may have finished by itself, or be leaving anyway.
            if self._goes_on(run) and current is not None and not current.terminating:
                if self._cluster.may_be_evicted(current):
                    await self._patiently(run, current, step)
                else:
                    self._withdraw(run, current.key, "this victim is protected by now", at_once=True)
        except NotLeading:
            run.withdrawn = True
        except NotFound:
            pass  # gone meanwhile
        except ApiError as error:
            if not isinstance(error, Invalid) or await is_still_there(self._client, ref(victim)):
                is_final = not isinstance(error, Transient)
                if is_final:
                    self._spare(victim, str(error))
                self._withdraw(run, victim.key, str(error), at_once=is_final and len(self._refused) <= _FEW)
        run.left -= 1
        if not run.left and self._goes_on(run):
            self._each(run, self._delete) if step == self._tell else self._promise(run)

    async def _patiently(self, run: _Run, victim: PodRecord, step: _Step) -> None:
        """A conflict says that another pod has the name by now, or merely that somebody else wrote to this one."""
        for pause_s in _CONFLICT_PAUSES_S:
            try:
                await step(run, victim)
            except Conflict:
                if not await is_still_there(self._client, ref(victim)):
                    return
                await asyncio.sleep(pause_s)
            else:
                return
        await step(run, victim)

    def _goes_on(self, run: _Run) -> bool:
        """Nobody is evicted for a job that has started meanwhile, or is not what it was."""
        if run.withdrawn or self._runs.get(run.key) is not run:
            return False
        if run.looked_at == self._cluster.promises_ended:
            return True  # all of them were pending and had their promises; whoever is not pending any more loses it
        for uid in run.members:
            member = self._cluster.pods.get(uid)
            if member is None or not member.schedulable:
                self._withdraw(run, member.key if member is not None else uid, "this member is no longer pending")
                return False
        if run.members <= self._cluster.nominated.keys():  # else nothing would tell of those without a promise
            run.looked_at = self._cluster.promises_ended
        return True

    async def _tell(self, run: _Run, victim: PodRecord) -> None:
        await say_disrupted(self._client, ref(victim), Disruption(run.message, victim.generation, self._wall()))

    async def _delete(self, run: _Run, victim: PodRecord) -> None:
        await delete_pod(self._client, ref(victim))
        metrics.writes("eviction", "ok").inc()
        self._reporter.preempted(victim, run.job, run.trigger)

    def _spare(self, victim: PodRecord, problem: str) -> None:
        """Permissions or a webhook forbid it: others are sought, lest they be evicted again and again in vain."""
        self._cluster.spare(victim.uid)
        self._refused[victim.uid] = f"evicting {victim.key} was refused: {problem}"
        asyncio.get_running_loop().call_later(_SPARED_S, self._spare_no_more, victim.uid)

    def _spare_no_more(self, uid: str) -> None:
        self._refused.pop(uid, None)
        self._on_freed(self._cluster.spare(uid, spared=False))

    def _withdraw(self, run: _Run, about: str, problem: str, *, at_once: bool = False) -> None:
        """Nobody else is evicted; the job is planned again, at once if the answer will be another one."""
        metrics.writes("eviction", "failed").inc()
        log.warning("preemption_withdrawn", job=run.job, about=about, problem=problem)
        if run.withdrawn:
            return
        run.withdrawn = True
        self._clear_displaced(run)
        for uid in run.members:
            member = self._cluster.pods.get(uid)
            if member is not None:
                self.clear_nomination(member)
        if self._runs.get(run.key) is run:
            self.ended(run.key, "withdrawn")
        self._on_withdrawn(run.key, at_once)

    # --- promises ---

    def _displace_lower(self, run: _Run) -> None:
        """Pods of lower priority that were promised room on these nodes will not get it now."""
        nodes = {victim.node for victim in run.victims.values()}
        for other in list(self._cluster.nominated.values()):
            is_lower = other.priority < run.trigger.priority and other.uid not in run.members
            if is_lower and other.nominated_node in nodes:
                self._on_freed(self._cluster.nominate(other.uid, ""))
                run.displaced.append(ref(other))

    def _promise(self, run: _Run) -> None:
        self._clear_displaced(run)
        for uid in sorted(run.members):
            member = self._cluster.pods.get(uid)
            if member is not None and member.nominated_node and not member.node:
                self._write(ref(member), member.nominated_node)

    def _clear_displaced(self, run: _Run) -> None:
        for pod in run.displaced:
            self._write(pod, "")
        run.displaced.clear()

    def _write(self, pod: PodRef, node: str, after_s: float = _AGAIN_FIRST_S) -> None:
        self.lane.put(partial(self._write_nomination, pod, node, after_s))

    async def _write_nomination(self, pod: PodRef, node: str, after_s: float) -> None:
        current = self._cluster.pods.get(pod.uid)
        if current is None or current.bound or current.nominated_node != node:
            return  # decided otherwise since
        if node and current.node:
            return  # on its way already; a promise taken back is said all the same, since the bind may fail
        try:
            await set_nominated_node(self._client, pod, node)
        except (NotFound, NotLeading):
            return
        except ApiError as error:
            # In memory the promise holds; but whoever leads next would not know of it.
            metrics.writes("nomination", "failed").inc()
            log.warning("nomination_failed", pod=f"{pod.namespace}/{pod.name}", problem=str(error))
            again = partial(self._write, pod, node, min(2 * after_s, _AGAIN_MOST_S))
            asyncio.get_running_loop().call_later(after_s, again)
            return
        metrics.writes("nomination", "ok").inc()
