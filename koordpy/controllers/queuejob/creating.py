"""Creates the pods of all QueueJobs, in turn, and holds back what a quota has just refused.

There is one of it, and it creates one batch at a time: a minimum, or pods beyond the minimums of several jobs, of which
under a ResourceQuota only the first of a namespace. That keeps the order in which quota is given out, and a pod of one
incarnation is never on its way while one of the next is created.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import structlog

from koordpy import metrics
from koordpy.api.queuejob import QueueJob
from koordpy.controllers.queuejob.effects import Steps
from koordpy.controllers.queuejob.hands import Hands, NameTaken, in_parallel
from koordpy.controllers.queuejob.index import QueueJobIndex
from koordpy.controllers.queuejob.names import Slot, task_names
from koordpy.controllers.queuejob.quota import exceeded_by, used_by, would_refuse
from koordpy.controllers.queuejob.status import Refusal
from koordpy.controllers.queuejob.turns import Place, Wish, at_once, next_minimum, round_robin
from koordpy.kube.backoff import Backoff
from koordpy.kube.errors import ApiError, Forbidden, Invalid, NotFound

# Quota is counted anew by kube-controller-manager some seconds after pods are gone, and nobody tells us.
_FIRST_TRY_S, _LONGEST_TRY_S = 1.0, 30.0
_FREED_S = 0.5  # after a pod of the namespace has ended
_MOST_AT_ONCE = 32  # beyond the minimums: others' minimums are not kept waiting for long
_SHORTEST_WAIT_S = 0.01  # a time that is not over by rounding alone is no busy loop

log = structlog.get_logger()


class _Held(NamedTuple):
    """Pods of a namespace that are not tried before a time of the loop."""

    resources: frozenset[str]
    until: float
    message: str  # the API server's

    def holds(self, template: dict[str, Any]) -> bool:
        return would_refuse(self.resources, used_by(template))


class Creator:
    """`run` creates whatever QueueJobs `want`, until cancelled. `created` is told the key of each."""

    def __init__(self, index: QueueJobIndex, hands: Hands, created: Callable[[str], None]) -> None:
        self._index, self._hands, self._created = index, hands, created
        self._wishes: dict[str, Wish] = {}
        self._jobs: dict[str, QueueJob] = {}  # that the wishes were decided for
        self._refusals: dict[str, tuple[Refusal, float]] = {}  # by the UID of the QueueJob; until when it is not tried
        self._held: dict[str, dict[str, _Held]] = {}  # by namespace and quota
        self._backoffs: dict[object, Backoff] = {}  # by (namespace, quota), or UID
        self._counted: dict[str, bool] = {}  # whether a namespace has quotas, asked for one batch
        self._wake = asyncio.Event()

    def want(self, key: str, job: QueueJob, steps: Steps) -> None:
        """What one QueueJob lacks at this moment."""
        if not steps.lacks_pods:
            self.forget(key)
            self._settled(job.metadata.uid)
            return
        created, priority = job.metadata.creation_timestamp or "", self._index.priority_of(job)
        self._jobs[key] = job
        self._wishes[key] = Wish(key, priority, created, steps.minimum, steps.surplus, steps.surplus_made)
        self._wake.set()

    def forget(self, key: str) -> None:
        self._wishes.pop(key, None)
        self._jobs.pop(key, None)

    def reset(self) -> None:
        """Another process leads."""
        for kept in (self._wishes, self._jobs, self._refusals, self._held, self._backoffs, self._counted):
            kept.clear()

    def gone(self, key: str, uid: str) -> None:
        """The QueueJob was deleted; what is held back in its namespace is, as long as there are others."""
        self._settled(uid)
        namespace = key.partition("/")[0]
        if namespace in self._held and not self._index.has_any_in(namespace):
            for quota in self._held.pop(namespace):
                self._backoffs.pop((namespace, quota), None)

    def refusal(self, job: QueueJob) -> Refusal | None:
        """Why a pod of the job was not created: it was refused itself, or is not tried because one like it was."""
        if (found := self._refusals.get(job.metadata.uid)) is not None:
            return found[0]
        for held in self._held.get(job.metadata.namespace, {}).values():
            if any(held.holds(task.template) for task in job.spec.task_specs):
                return Refusal("QuotaExceeded", held.message)
        return None

    def spec_changed(self, uid: str) -> None:
        """Whatever was refused may be another pod now."""
        if self._refusals.pop(uid, None) is not None:
            self._wake.set()

    def freed(self, namespace: str) -> None:
        """A pod of the namespace has ended: try what a quota has refused there, soon."""
        held = self._held.get(namespace)
        if not held:
            return
        soon = _now() + _FREED_S
        for quota, each in held.items():
            held[quota] = each._replace(until=min(each.until, soon))
        self._wake.set()

    async def run(self) -> None:
        while True:
            self._wake.clear()
            places = next_minimum(self._wishes.values(), self._may_be_made) or await self._beyond_minimums()
            if places is None:
                continue
            self._counted.clear()
            if not places:
                await self._until_something_changes()
                continue
            slots_of: dict[str, list[Slot]] = {}
            for place in places:
                slots_of.setdefault(place.key, []).append(place.slot)
            await in_parallel([partial(self._create, key, slots) for key, slots in slots_of.items()])

    async def _beyond_minimums(self) -> list[Place] | None:
        """None when it had to be asked which namespaces have quotas: wishes may be others by now."""
        places = list(islice(round_robin(self._wishes.values(), self._may_be_made), _MOST_AT_ONCE))
        several = {namespace for namespace, count in Counter(each.namespace for each in places).items() if count > 1}
        if unknown := several - self._counted.keys() - self._held.keys():
            await in_parallel([partial(self._ask_for_quota, namespace) for namespace in sorted(unknown)])
            return None
        return at_once(places, {each for each in several if self._counted.get(each, True)})

    async def _ask_for_quota(self, namespace: str) -> None:
        self._counted[namespace] = await self._hands.has_quota(namespace)

    def _unchanged(self, key: str) -> QueueJob | None:
        """The job, unless what it wishes for was decided for another spec or incarnation than it has now."""
        job, decided = self._index.get(key), self._jobs.get(key)
        if job is None or decided is None or job.metadata.deletion_timestamp:
            return None
        same = job.metadata.generation == decided.metadata.generation
        return job if same and _incarnation(job) == _incarnation(decided) else None

    async def _create(self, key: str, slots: list[Slot]) -> None:
        if (job := self._unchanged(key)) is None:
            self.forget(key)
            self._created(key)  # decided anew, its wish comes again
            return
        made: set[Slot] = set()
        refused: Exception | None = None

        async def create(slot: Slot) -> None:
            await self._hands.create_pod(job, slot)
            made.add(slot)

        try:
            await in_parallel([partial(create, slot) for slot in slots])
        except Exception as error:  # noqa: BLE001 - told below
            refused = error
        self._fulfilled(key, job, made)
        if self._index.key_of(job.metadata.uid) is None:
            pass  # deleted meanwhile: there is nobody to tell, and nothing to remember
        elif refused is None:
            self._made(job, slots)
        elif isinstance(refused, ApiError):
            self._refused(job, next(slot for slot in slots if slot not in made), refused)
        else:
            log.error("queuejob_pod_failed", queuejob=key, exc_info=refused)
            self._hold_job(job, Refusal("Error", f"{type(refused).__name__}: {refused}"), most_s=300.0)
        self._created(key)  # what is there, and what is not, is decided from the index

    def _fulfilled(self, key: str, job: QueueJob, made: set[Slot]) -> None:
        """What the job wishes for is without these, also if that was decided while they were on their way."""
        wish, decided = self._wishes.get(key), self._jobs.get(key)
        if wish is None or decided is None or _incarnation(decided) != _incarnation(job):
            return
        surplus = tuple(slot for slot in wish.surplus if slot not in made)
        self._wishes[key] = wish._replace(
            minimum=tuple(slot for slot in wish.minimum if slot not in made),
            surplus=surplus,
            surplus_made=wish.surplus_made + len(wish.surplus) - len(surplus),
        )

    def _made(self, job: QueueJob, slots: list[Slot]) -> None:
        """Quota that refused a pod like these has room again."""
        metrics.writes("queuejob-pods", "ok").inc(len(slots))
        namespace, template = job.metadata.namespace, _template(job, slots[0])
        held = self._held.get(namespace, {})
        for quota in [quota for quota, each in held.items() if each.holds(template)]:
            del held[quota]
            self._backoffs.pop((namespace, quota), None)
        if not held:
            self._held.pop(namespace, None)
        self._refusals.pop(job.metadata.uid, None)

    def _refused(self, job: QueueJob, slot: Slot, error: ApiError) -> None:
        metrics.writes("queuejob-pods", type(error).__name__.lower()).inc()
        exceeded = exceeded_by(str(error)) if isinstance(error, Forbidden) else None
        if exceeded is not None:
            namespace = job.metadata.namespace
            backoff = self._backoff((namespace, exceeded.quota), _LONGEST_TRY_S)
            held = _Held(exceeded.resources, _now() + backoff.next_s(), str(error))
            self._held.setdefault(namespace, {})[exceeded.quota] = held
            # A quota may count what the template does not say, such as the defaults of a LimitRange.
            until = 0.0 if held.holds(_template(job, slot)) else held.until
            self._refusals[job.metadata.uid] = Refusal("QuotaExceeded", str(error)), until
            for key in self._wishes:
                if key.partition("/")[0] == namespace:
                    self._created(key)  # those that are held back by it have to say so
            return
        reason = {NameTaken: "NameTaken", Invalid: "PodInvalid", Forbidden: "PodForbidden", NotFound: "PodForbidden"}
        most_s = 300.0 if isinstance(error, Invalid) else _LONGEST_TRY_S
        self._hold_job(job, Refusal(reason.get(type(error), "PodNotCreated"), str(error)), most_s)
        log.debug(
            "queuejob_pod_refused", queuejob=job.metadata.key, task=slot.task, index=slot.index, problem=str(error)
        )

    def _hold_job(self, job: QueueJob, refusal: Refusal, most_s: float) -> None:
        """It alone: nobody else's pods are concerned."""
        uid = job.metadata.uid
        self._refusals[uid] = refusal, _now() + self._backoff(uid, most_s).next_s()

    def _backoff(self, key: object, most_s: float) -> Backoff:
        return self._backoffs.setdefault(key, Backoff(_FIRST_TRY_S, most_s))

    def _settled(self, uid: str) -> None:
        self._refusals.pop(uid, None)
        self._backoffs.pop(uid, None)

    def _may_be_made(self, key: str, slot: Slot) -> bool:
        job = self._jobs[key]
        _, until = self._refusals.get(job.metadata.uid, (None, 0.0))
        if until > _now():
            return False
        held = self._held.get(job.metadata.namespace)
        if not held:
            return True
        template, now = _template(job, slot), _now()
        return not any(each.until > now and each.holds(template) for each in held.values())

    async def _until_something_changes(self) -> None:
        """A wish, or the end of the first hold."""
        times = [held.until for quotas in self._held.values() for held in quotas.values()]
        times += [until for _, until in self._refusals.values()]
        now = _now()
        waits = [max(until - now, _SHORTEST_WAIT_S) for until in times if until > now]
        left = min(waits, default=None) if self._wishes else None
        with suppress(TimeoutError):
            async with asyncio.timeout(left):
                await self._wake.wait()


def _incarnation(job: QueueJob) -> tuple[str, int]:
    return job.metadata.uid, job.status.incarnation


def _template(job: QueueJob, slot: Slot) -> dict[str, Any]:
    return job.spec.task_specs[task_names(job.spec).index(slot.task)].template


def _now() -> float:
    return asyncio.get_running_loop().time()
