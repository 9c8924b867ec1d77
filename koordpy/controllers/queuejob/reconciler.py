"""Brings one QueueJob up to date: decide, store transitions, carry out what follows, write the counters.

Pods are not created here but handed to the `Creator`, which has all QueueJobs in view.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

import structlog

from koordpy.api.queuejob import QueueJob
from koordpy.controllers.queuejob.creating import Creator
from koordpy.controllers.queuejob.decide import Known, decide
from koordpy.controllers.queuejob.effects import Effect, Steps, Telling, Transition
from koordpy.controllers.queuejob.hands import CompanionRefused, Hands
from koordpy.controllers.queuejob.index import QueueJobIndex
from koordpy.controllers.queuejob.status import Refusal
from koordpy.kube.backoff import Backoff

_PAUSE_S = 0.2  # between two looks at one QueueJob: five writes a second are more than anybody reads
_PAUSE_PER_POD_S = 0.001
_LONGEST_PAUSE_S = 2.0
_LONGEST_SLEEP_S = 3600.0
# A companion that was refused: a quota or a policy may change and nobody tells us. What is wrong in itself seldom does.
_FIRST_TRY_S, _LONGEST_TRY_S, _LONGEST_REFUSED_S = 1.0, 30.0, 300.0
_MOST_DECISIONS = 10  # in one look; two or three are usual. Then others have their turn, and the watch can catch up

log = structlog.get_logger()


class _Refused(NamedTuple):
    """A companion that the API server does not want."""

    refusal: Refusal
    backoff: Backoff


class QueueJobReconciler:
    """`look_again` adds a key to the work queue."""

    def __init__(
        self,
        index: QueueJobIndex,
        hands: Hands,
        creator: Creator,
        clock: Callable[[], float],
        look_again: Callable[[str], None],
    ) -> None:
        self._index, self._hands, self._creator = index, hands, creator
        self._clock, self._look_again = clock, look_again
        self._refused: dict[str, _Refused] = {}  # UID -> why a companion cannot be made
        self._seen: dict[str, tuple[str, int]] = {}  # key -> UID and generation
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def reset(self) -> None:
        """Another process leads."""
        for timer in self._timers.values():
            timer.cancel()
        for kept in (self._refused, self._seen, self._timers):
            kept.clear()

    async def reconcile(self, key: str) -> float:
        """Do what has to be done now; returns how long to hold the key back."""
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()
        for _ in range(_MOST_DECISIONS):
            job = self._index.get(key)
            self._notice_change(key, job)
            if job is None:
                break
            decision = decide(self._known(job))
            if isinstance(decision, Transition):
                self._creator.forget(key)
                await self._hands.write_status(job, decision.status, decision.telling)
                log.info("queuejob", queuejob=key, phase=decision.status.phase, incarnation=decision.status.incarnation)
                continue
            if decision.status_first and await self._hands.write_status(job, decision.status):
                continue
            if not await self._carried_out(job, decision.effects):
                self._creator.forget(key)
                return _PAUSE_S
            if decision.effects:
                continue  # decided anew: what was just done is known, and what others did meanwhile
            self._creator.want(key, job, decision)
            if not decision.lacks_pods or self._creator.refusal(job) is not None:
                await self._hands.write_status(job, decision.status)
            self._set_timer(key, decision.look_again_at)
            return min(_PAUSE_S + _PAUSE_PER_POD_S * job.spec.replicas, _LONGEST_PAUSE_S)
        else:
            self._look_again(key)
        self._creator.forget(key)
        return _PAUSE_S

    def _known(self, job: QueueJob) -> Known:
        uid = job.metadata.uid
        return Known(
            job,
            self._index.pods.of(uid),
            self._clock(),
            self._hands.stored_spec(job),
            service.metadata.uid if (service := self._index.services.of(job)) is not None else "",
            refused.refusal if (refused := self._refused.get(uid)) is not None else self._creator.refusal(job),
        )

    async def _carried_out(self, job: QueueJob, effects: tuple[Effect, ...]) -> bool:
        """False when the API server refuses a companion: then no pods are made, and the user is told why."""
        try:
            await self._hands.carry_out(job, effects)
        except CompanionRefused as error:
            await self._tell_refusal(job, error)
            return False
        self._refused.pop(job.metadata.uid, None)
        return True

    async def _tell_refusal(self, job: QueueJob, error: CompanionRefused) -> None:
        """The condition always, an event when it is another refusal than before."""
        uid, refusal = job.metadata.uid, Refusal(error.reason, str(error))
        before = self._refused.get(uid)
        longest_s = _LONGEST_REFUSED_S if error.is_wrong_in_itself else _LONGEST_TRY_S
        backoff = before.backoff if before is not None else Backoff(_FIRST_TRY_S, longest_s)
        self._refused[uid] = _Refused(refusal, backoff)
        self._set_timer(job.metadata.key, self._clock() + backoff.next_s())
        if before is None or before.refusal != refusal:
            await self._hands.tell(job, Telling("Warning", refusal.reason, refusal.message))
        decision = decide(self._known(job))
        if isinstance(decision, Steps):  # else pods have changed meanwhile: the key is in the work queue
            await self._hands.write_status(job, decision.status)

    def _notice_change(self, key: str, job: QueueJob | None) -> None:
        """What was refused may be another pod now. Of a QueueJob that is gone nothing is remembered.

        Whatever is remembered by UID is forgotten here, and nowhere else: a deletion is followed by a reconcile of the
        key, after those that were on their way.
        """
        before = self._seen.pop(key, None)
        if job is not None:
            self._seen[key] = job.metadata.uid, job.metadata.generation
        if before is None or before == self._seen.get(key):
            return
        uid, _ = before
        if job is not None and job.metadata.uid == uid:
            self._refused.pop(uid, None)
            self._creator.spec_changed(uid)
            return
        self._refused.pop(uid, None)
        self._hands.forget(uid)
        self._creator.gone(key, uid)

    def _set_timer(self, key: str, at: float | None) -> None:
        if at is not None:
            seconds = min(max(0.0, at - self._clock()), _LONGEST_SLEEP_S)
            self._timers[key] = asyncio.get_running_loop().call_later(seconds, self._look_again, key)
