"""Carrying a preemption out: the victims are told, then deleted, then every member is nominated to its node.

The order is such that a failure or a crash between any two calls does no harm. The room is kept in memory before
anything is sent. No victim is deleted before all have been told. A victim's condition names the job that it leaves for,
before the victim is deleted: the next leader sees it terminating and goes on with that. If the API server refuses some
eviction for good, or the job is not there any more, the rest are not sent, and the nominations are cleared. Where a
gang goes as a whole, all deletes are sent as a dry run first: a refused one must not leave a part of the gang behind.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

import structlog

from koordpy import metrics
from koordpy.api.keys import GANG_STALE
from koordpy.kube.client import Client, NotLeading
from koordpy.kube.errors import ApiError, Conflict, Invalid, NotFound, Transient
from koordpy.kube.lane import Lane
from koordpy.kube.writes import Disruption, PodRef, delete_pod, is_still_there, say_disrupted, set_nominated_node
from koordpy.plan.preemption.eligibility import Preemption
from koordpy.scheduler.queue.queue import JobQueue
from koordpy.scheduler.report.reporter import Reporter, ref
from koordpy.state.cluster import Cluster
from koordpy.state.eviction import Preemptor
from koordpy.state.pods import PodRecord

_AGAIN_FIRST_S = 2.0
_AGAIN_MOST_S = 60.0
_CONFLICT_PAUSES_S = (0.1, 0.5, 2.0)
_MISSING_S = 10.0  # in which a victim that is gone, by an answer of the API server, is gone by the watch too
_PROTECTED_S = 300.0  # that a pod is left alone whose eviction was forbidden
_MOST_NAMES = 100  # of victims, in one line of the log
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
    members: frozenset[str]  # UIDs of those that are nominated to a node
    staying: set[str]  # UIDs of victims that are still there
    left: int = 0  # victims that the step under way has not dealt with
    deleted: list[PodRecord] = field(default_factory=list)
    missing: set[str] = field(default_factory=set)  # UIDs of victims that are gone, as the API server answered
    withdrawn: bool = False
    why: str = ""  # by what right, where it is not their lower priority
    looked_at: int = -1  # how many nominations had ended when all members were seen with theirs
    displaced: list[PodRef] = field(default_factory=list)  # less important pods that lost their nominations

    @property
    def message(self) -> str:
        return (
            f"{self.trigger.scheduler}: preempting to accommodate higher priority pods, "
            f"preemptor: {self.job}, triggerpod: {self.trigger.key}"
        )


class Evictor:
    """Evicts, nominates, and follows up what became of it."""

    def __init__(
        self,
        client: Client,
        cluster: Cluster,
        queue: JobQueue,
        reporter: Reporter,
        *,
        lane: Lane,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._client, self._cluster, self._queue = client, cluster, queue
        self._reporter, self._lane, self._wall = reporter, lane, wall
        self._runs: dict[str, _Run] = {}
        self._deletes: dict[str, asyncio.Event] = {}  # by UID, until it is gone; set once the answer is there
        self._refused: dict[str, str] = {}  # UID of a victim that is left alone for a while, and why

    def start_over(self) -> None:
        """Another term of leadership: what the API server knows is all there is."""
        self._cluster.gangs.end_all_evictions(self._cluster.pods)
        self._runs.clear()
        self._deletes.clear()

    def is_evicting_for(self, key: str, members: Iterable[str] = ()) -> bool:
        """Evictions for this job are under way; once the watch shows them, the job waits for terminating pods.

        Or for one of its members, by UID, when it was part of another job: what is left over of a gang that has just
        been started is a job of one as soon as the watch shows the others bound.
        """
        runs = (run for run in self._runs.values() if run.key == key or not run.members.isdisjoint(members))
        pods = self._cluster.pods
        return any(uid in pods and not pods[uid].terminating for run in runs for uid in run.victims)

    def victims(self) -> set[str]:
        """UIDs of all that are being evicted, whether the watch shows them terminating or not."""
        return {uid for run in self._runs.values() for uid in run.victims}

    def refused(self, preemptor: Preemptor) -> str:
        """Why a pod within a job's reach is not evicted although its labels allow it; empty if there is none."""
        pods, may_take = self._cluster.pods, self._cluster.evictions.policy.may_take
        whys = (
            why for uid, why in self._refused.items() if uid in pods and may_take(preemptor, pods[uid].eviction_class)
        )
        return next(whys, "")

    def ended(self, key: str, outcome: str) -> None:
        """What became of the job that others were evicted for; the key of a pod that is a job by itself is its UID."""
        for run in [run for run in self._runs.values() if run.key == key or run.members == {key}]:
            del self._runs[run.key]
            self._cluster.gangs.end_evictions(run.victims.values())
            metrics.PREEMPTION_OUTCOME.labels(outcome).inc()

    def pod_gone(self, uid: str) -> None:
        """With the last of its members a job is gone; with the last of its victims, its room is there."""
        self._deletes.pop(uid, None)
        for run in list(self._runs.values()):
            if uid in run.members and not any(member in self._cluster.pods for member in run.members):
                self.ended(run.key, "gone")
            elif uid in run.staying:
                run.staying.discard(uid)
                if not run.staying:
                    for key in dict.fromkeys((run.key, *sorted(run.members))):  # whichever job they are by now
                        self._queue.activate_now(key)

    def start(self, key: str, job: str, trigger: PodRecord, found: Preemption) -> None:
        """Carry a preemption out."""
        self.ended(key, "repeated")
        members = frozenset(each.uid for each in found.nominations)
        victims = {each.uid: each for each in found.victims}
        run = self._runs[key] = _Run(key, job, trigger, victims, members, staying=set(victims), why=found.why)
        _log(job, found)
        goes_whole = self._goes_whole(found.victims)
        self._cluster.gangs.begin_evictions(found.victims)
        for pod in found.displaced:
            self._cluster.nominate(pod.uid, "")
            run.displaced.append(ref(pod))
        for each in found.nominations:
            self._cluster.nominate(each.uid, each.node)
        if found.victims:
            metrics.PREEMPTION_VICTIMS.observe(len(found.victims))
            self._each(run, self._rehearse if goes_whole else self._tell)
        else:
            self._nominate(run)

    def clear_nomination(self, pod: PodRecord) -> None:
        """The nomination is of no use any more."""
        if pod.nominated_node:
            self._cluster.nominate(pod.uid, "")
            self._write(ref(pod), "")

    def evict_stale(self, victims: list[PodRecord], text: str) -> None:
        """Evict what is left of a gang that cannot be completed. Nobody is nominated to the room."""
        self._cluster.gangs.begin_evictions(victims)
        for victim in victims:
            self._lane.put(partial(self._evict_one, victim, text))

    async def _evict_one(self, victim: PodRecord, text: str) -> None:
        """Told, then deleted. If that fails it counts again, and the time of its gang begins anew."""
        try:
            told = Disruption(text, victim.generation, self._wall(), reason=GANG_STALE)
            await say_disrupted(self._client, ref(victim), told)
            is_first = await self._delete_once(victim)
        except NotFound:
            asyncio.get_running_loop().call_later(_MISSING_S, self._count_again, victim.uid)
        except Exception as error:
            self._cluster.gangs.end_evictions((victim,))
            if not isinstance(error, ApiError):
                raise
            if not isinstance(error, NotLeading):
                metrics.writes("eviction", "failed").inc()
                log.warning("eviction_failed", pod=victim.key, problem=str(error))
        else:
            if is_first:
                self._reporter.evicted_as_stale(victim, text)

    def _count_again(self, uid: str) -> None:
        """It was not found when it was to be evicted, and is there."""
        if (current := self._cluster.pods.get(uid)) is not None:
            self._cluster.gangs.end_evictions((current,))

    # --- victims ---

    def _goes_whole(self, victims: Iterable[PodRecord]) -> bool:
        """Whether several members of a gang leave because it cannot spare them."""
        losses = Counter(victim.gang for victim in victims if victim.gang)
        gangs = ((self._cluster.gangs.get(gang_id), lost) for gang_id, lost in losses.items() if lost > 1)
        return any(gang is not None and lost > gang.expendable for gang, lost in gangs)

    def _each(self, run: _Run, step: _Step) -> None:
        run.left = len(run.victims)
        for victim in run.victims.values():
            self._lane.put(partial(self._one, run, victim, step))

    async def _one(self, run: _Run, victim: PodRecord, step: _Step) -> None:
        """One step with one victim; after the last one, what comes next."""
        try:
            await self._take_step(run, victim, step)
        except NotLeading:
            run.withdrawn = True
        except NotFound:
            run.missing.add(victim.uid)
        except ApiError as error:
            await self._step_failed(run, victim, error)
        except Exception as error:
            # A mistake of ours. The preemption ends here, or the job would wait for its victims for ever.
            log.exception("call_failed", hint="please report this; the job is planned again")
            self._withdraw(run, victim.key, repr(error))
        run.left -= 1
        if not run.left and step == self._delete:
            self._tell_gangs(run)
            if run.missing:
                asyncio.get_running_loop().call_later(_MISSING_S, self._look_for_missing, run)
        if not run.left and self._goes_on(run):
            self._next(run, step)

    def _next(self, run: _Run, step: _Step) -> None:
        if step == self._delete:
            self._nominate(run)
        else:
            self._each(run, self._tell if step == self._rehearse else self._delete)

    async def _take_step(self, run: _Run, victim: PodRecord, step: _Step) -> None:
        current = self._cluster.pods.get(victim.uid)
        # It may have finished by itself, or be terminating anyway.
        if not self._goes_on(run) or current is None or current.terminating or victim.uid in run.missing:
            return
        if self._cluster.evictions.may_be_evicted(current):
            await self._patiently(run, current, step)
        else:
            self._withdraw(run, current.key, "this victim is protected by now", at_once=True)

    async def _step_failed(self, run: _Run, victim: PodRecord, error: ApiError) -> None:
        if isinstance(error, Invalid) and not await is_still_there(self._client, ref(victim)):
            return
        is_final = not isinstance(error, Transient)
        if is_final:
            self._protect(victim, str(error))
        self._withdraw(run, victim.key, str(error), at_once=is_final and len(self._refused) <= _FEW)

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

    def _look_for_missing(self, run: _Run) -> None:
        """A victim that was not found, and is there, was not evicted: the job would wait for it for ever."""
        found = [self._cluster.pods[uid] for uid in sorted(run.missing) if uid in self._cluster.pods]
        if self._runs.get(run.key) is run and (left := [pod.key for pod in found if not pod.terminating]):
            self._withdraw(run, left[0], "this victim was not found, and is there")

    def _goes_on(self, run: _Run) -> bool:
        """Nobody is evicted for a job that has started meanwhile, or is not what it was."""
        if run.withdrawn or self._runs.get(run.key) is not run:
            return False
        if run.looked_at == self._cluster.nominations.ended:
            return True  # all were pending and nominated; one that is not pending any more loses its nomination
        for uid in run.members:
            member = self._cluster.pods.get(uid)
            if member is None or not member.schedulable:
                self._withdraw(run, member.key if member is not None else uid, "this member is no longer pending")
                return False
        if all(uid in self._cluster.nominations for uid in run.members):  # else nothing would tell of the others
            run.looked_at = self._cluster.nominations.ended
        return True

    async def _rehearse(self, run: _Run, victim: PodRecord) -> None:  # noqa: ARG002 - as every step
        """Raises what deleting it would."""
        try:
            await delete_pod(self._client, ref(victim), dry_run=True)
        except Invalid as error:
            if error.status != 400:  # 400: an old admission webhook with side effects, which cannot be asked
                raise

    async def _tell(self, run: _Run, victim: PodRecord) -> None:
        await say_disrupted(self._client, ref(victim), Disruption(run.message, victim.generation, self._wall()))

    async def _delete(self, run: _Run, victim: PodRecord) -> None:
        if await self._delete_once(victim):
            run.deleted.append(victim)
            self._reporter.preempted(victim, run.job, run.trigger, run.why)

    async def _delete_once(self, victim: PodRecord) -> bool:
        """Whether this call deleted it, and not another job that takes the same victim.

        Two jobs may: the second is planned before the watch shows the first one's victims terminating. It waits for the
        answer to the first DELETE, and sends its own only if that one failed.
        """
        while (other := self._deletes.get(victim.uid)) is not None:
            if other.is_set():
                return False
            await other.wait()
            if victim.uid not in self._cluster.pods:
                return False  # the watch was faster than the answer
        answered = self._deletes[victim.uid] = asyncio.Event()
        try:
            await delete_pod(self._client, ref(victim))
        except BaseException:
            self._deletes.pop(victim.uid, None)
            raise
        finally:
            answered.set()
        metrics.writes("eviction", "ok").inc()
        return True

    def _tell_gangs(self, run: _Run) -> None:
        """Whoever looks at a victim's gang is told too, once for all of its members."""
        lost = Counter(victim.gang for victim in run.deleted if victim.gang)
        for gang_id, members in lost.items():
            gang = self._cluster.gangs.get(gang_id)
            if gang is not None:
                self._reporter.gang_preempted(gang, members, run.job, run.trigger, run.why)

    def _protect(self, victim: PodRecord, problem: str) -> None:
        """Permissions or a webhook forbid it: others are sought, lest they be evicted again and again in vain."""
        self._cluster.protect(victim.uid)
        self._refused[victim.uid] = f"evicting {victim.key} was refused: {problem}"
        asyncio.get_running_loop().call_later(_PROTECTED_S, self._protect_no_more, victim.uid)

    def _protect_no_more(self, uid: str) -> None:
        self._refused.pop(uid, None)
        self._cluster.protect(uid, protected=False)

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
        self._queue.activate(run.key) if at_once else self._queue.back_off(run.key)

    # --- nominations ---

    def _nominate(self, run: _Run) -> None:
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
        self._lane.put(partial(self._write_nomination, pod, node, after_s))

    async def _write_nomination(self, pod: PodRef, node: str, after_s: float) -> None:
        current = self._cluster.pods.get(pod.uid)
        if current is None or current.bound or current.nominated_node != node:
            return  # decided otherwise since
        if node and current.node:
            return  # its bind is in flight; a nomination is cleared all the same, since the bind may fail
        try:
            await set_nominated_node(self._client, pod, node)
        except NotLeading:
            return
        except ApiError as error:
            # In memory the nomination holds; but the next leader would not know of it.
            metrics.writes("nomination", "failed").inc()
            log.warning("nomination_failed", pod=f"{pod.namespace}/{pod.name}", problem=str(error))
            again = partial(self._write, pod, node, min(2 * after_s, _AGAIN_MOST_S))
            asyncio.get_running_loop().call_later(after_s, again)
            return
        metrics.writes("nomination", "ok").inc()


def _log(job: str, found: Preemption) -> None:
    """Nobody is evicted where terminating pods make the room."""
    if not found.victims:
        log.info("nominated", job=job, nodes=len({each.node for each in found.nominations}))
        return
    names = [victim.key for victim in found.victims]
    log.info(
        "preempting",
        job=job,
        victims=len(names),
        nodes=len({victim.node for victim in found.victims}),
        evicted=names if len(names) <= _MOST_NAMES else [*names[:_MOST_NAMES], "..."],
    )
