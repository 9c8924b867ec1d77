"""PostFilter: a job does not fit. What could be done about it is decided here, as a value; nothing is carried out.

Groups that merely wait at Permit yield first, where that helps; else victims are searched, or the refusal says why
there are none. Who yields is asked of `plan/placement/waiting.py`, who is evicted of `plan/preemption/eligibility.py`.
The loop carries the decision out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from koordpy import metrics
from koordpy.api.times import instant_of_seconds
from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.placement.absence import take_off
from koordpy.plan.placement.waiting import Waiter, Worth, remove_waiter, who_must_yield, worth_of
from koordpy.plan.preemption.eligibility import WAITS, Preemption, benefit_of
from koordpy.plan.preemption.search import is_whole
from koordpy.quota.limits import Obstacle
from koordpy.scheduler.cycles import EvictionCycles, Hold
from koordpy.scheduler.execute.evict import Evictor
from koordpy.scheduler.permit import Permit
from koordpy.scheduler.planning import Planning
from koordpy.state.events import EventKind
from koordpy.state.trial import Trial

_OTHER_NODES = EventKind.DOMAINS  # nodes came, or are labelled or tainted otherwise: asked of no node's room
_OTHERS = EventKind.VICTIMS | EventKind.SHARES  # after which a search for victims may find some
_FEW = 5  # names of terminating pods in one message
_LACKS = "Insufficient "  # how kube-scheduler begins the reason that a resource does not suffice


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to an attempt, and what has to be carried out so that it holds."""

    answer: Plan | Refusal
    yielding: tuple[Waiter, ...] = ()  # waiting groups that are unreserved
    preemption: Preemption | None = None
    hold: Hold | None = None  # it would evict, and may not before then
    clears_nominations: bool = False  # its members cannot use them


@dataclass(frozen=True, slots=True)
class _Search:
    """What came of looking for victims, in kube-scheduler's words where it has some."""

    message: str
    yielding: tuple[Waiter, ...] = ()
    preemption: Preemption | None = None
    hold: Hold | None = None
    clears_nominations: bool = False


class PostFilter:
    """Decides how room could be made for whole jobs."""

    def __init__(self, planning: Planning, permit: Permit, evictor: Evictor, cycles: EvictionCycles) -> None:
        self._planning, self._permit, self._evictor, self._cycles = planning, permit, evictor, cycles
        self._cluster = planning.cluster

    def run(self, job: Job, answer: Plan | Refusal) -> Decision:
        """The answer, if all of the job fits; a better one, if others yield; or the same, with what came of it."""
        if self._gets_on(job, answer):
            return Decision(answer)
        when_empty = self._planning.refusal_when_empty(job)
        answer, yielding = self._ask_waiters(job, answer, when_empty)
        if self._gets_on(job, answer):
            return Decision(answer, tuple(yielding))
        if is_whole(answer):
            job, answer = _as_a_pod_by_itself(job, answer)
        holders = self._holders(job, answer, yielding)
        if not self._may_preempt(job, answer):
            leaving = self._leaving(job, answer, yielding)
            told = _told(job, answer, when_empty, (*holders, *leaving), nodes=len(self._cluster.nodes))
            return Decision(told, tuple(yielding))
        with metrics.stage("PostFilter", job.members[0].scheduler), self._without(yielding):
            found = self._preempt(job, yielding)
        if found.preemption is not None:
            holders = ()
        elif found.message != WAITS:
            holders += self._leaving(job, answer, yielding)
        return Decision(
            _told(
                job,
                _with_tail(answer, f"preemption: {found.message}"),
                when_empty,
                holders,
                nodes=len(self._cluster.nodes),
            ),
            (*yielding, *found.yielding),
            found.preemption,
            found.hold,
            found.clears_nominations,
        )

    def at_limit(self, job: Job, obstacle: Obstacle, refusal: Refusal) -> Decision:
        """A limit of its queue is in the way of a job: those below that queue may have to leave for it."""
        profiles = self._planning.profiles
        if not all(profiles[member.scheduler].preempts for member in job.members):
            return Decision(refusal)
        if self._evictor.is_evicting_for(job.key, job.by_uid):
            return Decision(_with_tail(refusal, f"preemption: {WAITS}"))
        found = self._planning.find_cure(job, obstacle)
        if isinstance(found, str):
            told = _with_tail(refusal, f"preemption: {found}")
            return Decision(told, hold=self._protection(), clears_nominations=found != WAITS)
        hold = self._cycles.hold(*sides_of(job, found))
        if hold is not None:
            return Decision(refusal, hold=hold)
        return Decision(_with_tail(refusal, f"preemption: {found}"), preemption=found)

    def _protection(self) -> Hold | None:
        """Until when minimum run times keep victims back: the job is tried again then."""
        reclaim = self._planning.reclaim
        until = reclaim.protected_until if reclaim is not None else None
        return self._cycles.until(until) if until is not None else None

    def _gets_on(self, job: Job, answer: Plan | Refusal) -> bool:
        """Something of it starts by this: it has become complete, or was before and finds room for one more."""
        if not is_whole(answer) or answer.left_over is None:
            return is_whole(answer)
        return bool(answer.placements) or self._permit.room.get(job.key) is not None

    # --- those that wait ---

    def _ask_waiters(
        self, job: Job, answer: Plan | Refusal, when_empty: Refusal | None
    ) -> tuple[Plan | Refusal, list[Waiter]]:
        """Waiting groups that the job goes before yield, if that helps; its equals, if it is complete then.

        What the job would not keep is no help: others would have yielded in vain.
        """
        preemptor = self._permit.preemptor(job)
        goes_before = self._cluster.evictions.policy.goes_before
        lower = [each for each in self._permit.waiters(job.key) if goes_before(preemptor, each.preemptor)]

        def worth(found: Plan | Refusal) -> Worth:
            kept = is_whole(found) or (isinstance(found, Plan) and self._permit.may_keep(job, found, when_empty))
            return worth_of(found) if kept else (False, 0)

        answer, yielding = self._ask(lower, (), job, answer, worth, better_than=worth(answer))
        if is_whole(answer):
            return answer, yielding
        rivals = [each for each in self._permit.rivals(job) if each not in yielding]
        answer, more = self._ask(rivals, yielding, job, answer, worth, better_than=(True,))
        return answer, [*yielding, *more]

    def _ask(
        self,
        waiters: list[Waiter],
        gone: Sequence[Waiter],
        job: Job,
        answer: Plan | Refusal,
        worth: Callable[[Plan | Refusal], Worth],
        *,
        better_than: Worth,
    ) -> tuple[Plan | Refusal, list[Waiter]]:
        """`gone` yield already."""
        if not waiters:
            return answer, []
        with self._without(gone):
            yielding = who_must_yield(waiters, better_than, self._cluster, lambda: worth(self._planning.plan(job)))
            if not yielding:
                return answer, []
            with self._without(yielding):
                better = self._planning.plan(job)
                if isinstance(better, Plan) and not is_whole(better) and not self._permit.may_take(job, better):
                    return answer, []
                return better, yielding

    def _holders(self, job: Job, answer: Plan | Refusal, gone: Sequence[Waiter]) -> tuple[str, ...]:
        """Who holds at Permit what the job would need to be whole, one sentence each."""
        waiters = [each for each in self._permit.waiters(job.key) if each not in gone]
        refusal = answer if isinstance(answer, Refusal) else answer.missing
        if not waiters or refusal is None:
            return ()
        with self._without(gone):
            needed = who_must_yield(waiters, (True,), self._cluster, lambda: (is_whole(self._planning.plan(job)), True))
        return tuple(self._permit.describe(each, scarce_resource(refusal)) for each in needed)

    def _leaving(self, job: Job, answer: Plan | Refusal, gone: Sequence[Waiter]) -> tuple[str, ...]:
        """Pods of any priority that are terminating, if the job is whole without them. It is not nominated there.

        Those of its own priority may belong to a gang that is about to get replacements, which go first.
        """
        leaving = list(self._cluster.evictions.leaving.values())
        if not leaving or is_whole(answer):
            return ()
        with self._without(gone), Trial(self._cluster.occupancy) as trial:
            take_off(leaving, self._cluster, trial)
            then = self._planning.plan(job)
        if not is_whole(then):
            return ()
        nodes = {placement.node for placement in then.placements}
        names = sorted(pod.key for pod in leaving if pod.node in nodes)
        more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
        return (f"there is room when terminating pods have left: {', '.join(names[:_FEW])}{more}",)

    @contextmanager
    def _without(self, waiters: Sequence[Waiter]) -> Iterator[None]:
        """As it would be if these had yielded."""
        with Trial(self._cluster.occupancy) as trial:
            for waiter in waiters:
                remove_waiter(waiter, self._cluster, trial)
            yield

    # --- those that run ---

    def _may_preempt(self, job: Job, answer: Plan | Refusal) -> bool:
        """Not for jobs that nothing could help, and not where the configuration says never."""
        refusal = answer if isinstance(answer, Refusal) else answer.missing
        if not job.members or not len(self._cluster.nodes) or refusal is None or not refusal.wake_on:
            return False
        if refusal.wake_on == EventKind.DOMAINS:
            return False  # it asks for a layer that there is not
        return all(self._planning.profiles[member.scheduler].preempts for member in job.members)

    def _preempt(self, job: Job, gone: Sequence[Waiter]) -> _Search:
        """Whom to evict for the whole job, if that lets it in; else why nobody."""
        if self._evictor.is_evicting_for(job.key, job.by_uid):
            return _Search(WAITS)  # they will be terminating as soon as the watch shows it
        if self._waits_for_victims_of_others(job):
            return _Search(WAITS)
        started = time.perf_counter()
        found, yielding = self._find_victims(job, gone)
        metrics.PREEMPTION_ATTEMPTS.inc()
        metrics.PREEMPTION_SECONDS.observe(time.perf_counter() - started)
        if isinstance(found, str):
            refused = self._evictor.refused(job.preemptor)
            text = f"{found.removesuffix('.')}; {refused}" if refused else found
            return _Search(text, hold=self._protection(), clears_nominations=found != WAITS)
        hold = self._cycles.hold(*sides_of(job, found))
        if hold is not None:
            metrics.PREEMPTION_CYCLES.inc()
            until = instant_of_seconds(hold.until_wall)
            return _Search(
                f"held back until {until}: this job and its victims have been evicting each other", hold=hold
            )
        return _Search(str(found), tuple(yielding), found)

    def _waits_for_victims_of_others(self, job: Job) -> bool:
        """It fits where it is nominated once those are gone, too, who leave for jobs that are nominated beside it.

        Its own victims have left, and another job is nominated to the same node: until the victims of that one have
        left as well there is room for one of the two, and each must leave it to the other.
        """
        pods = self._cluster.pods
        going = [pod for uid in self._evictor.victims() if (pod := pods.get(uid)) is not None and pod.node]
        if not going or not any(member.nominated_node for member in job.members):
            return False
        leaving = {pod.uid: pod for pod in (*self._cluster.evictions.leaving_for(job.preemptor), *going)}
        with Trial(self._cluster.occupancy) as trial:
            take_off(leaving.values(), self._cluster, trial)
            answer = self._planning.plan(job)
        if not is_whole(answer):
            return False
        return all(job.by_uid[each.uid].nominated_node == each.node for each in answer.placements)

    def _find_victims(self, job: Job, gone: Sequence[Waiter]) -> tuple[Preemption | str, list[Waiter]]:
        """Waiting groups yield where that is needed, or spares a pod that runs."""
        found = self._planning.find_preemption(job)
        goes_before = self._cluster.evictions.policy.goes_before
        waiters = [
            each
            for each in self._permit.waiters(job.key)
            if each not in gone and goes_before(job.preemptor, each.preemptor)
        ]
        if not waiters or found == WAITS:
            return found, []
        yielding = who_must_yield(
            waiters, benefit_of(found), self._cluster, lambda: benefit_of(self._planning.find_preemption(job))
        )
        if not yielding:
            return found, []
        with self._without(yielding):
            return self._planning.find_preemption(job), yielding


def sides_of(job: Job, found: Preemption) -> tuple[set[str], set[str]]:
    """Who evicts and who is evicted; by gang, as its replacement for an evicted pod may be a job of its own."""
    return {member.gang or member.key for member in job.members}, {pod.gang or pod.key for pod in found.victims}


def _as_a_pod_by_itself(job: Job, answer: Plan) -> tuple[Job, Refusal]:
    """Its gangs are complete and need nobody any more: the first that was left over makes room for itself alone."""
    assert answer.left_over is not None
    culprit = answer.left_over.culprit
    first = next((member for member in job.members if member.uid == culprit), job.members[0])
    return Job(job.key, (first,), queue=job.queue), answer.left_over


def scarce_resource(refusal: Refusal) -> str:
    """The one that most nodes have too little of."""
    lacking = {text.removeprefix(_LACKS): count for text, count in refusal.counts if text.startswith(_LACKS)}
    return max(lacking, key=lambda name: (lacking[name], name), default="")


def _told(
    job: Job, answer: Plan | Refusal, when_empty: Refusal | None, holders: Iterable[str], *, nodes: int
) -> Plan | Refusal:
    """With who holds what the job would need, and whether it could ever fit.

    That is a statement about room: nothing is said of it where there are no nodes, or where the refusal names what is
    wrong with the job itself, such as a claim that does not exist.
    """
    refusal = answer if isinstance(answer, Refusal) else answer.missing
    if refusal is None:
        return answer
    was_placed = bool(refusal.counts) or refusal.fit[1] > 1
    never = [_never(job, when_empty, refusal)] if when_empty is not None and nodes and was_placed else []
    more = [*holders, *never]
    message = "; ".join([refusal.message.removesuffix("."), *more]) if more else refusal.message
    # A node that comes makes never a matter of time, also one that is full: the job is tried, to say something else.
    wake_on = refusal.wake_on | (_OTHER_NODES if when_empty is not None and refusal.wake_on else EventKind.NONE)
    told = replace(refusal, message=message, never=when_empty is not None, wake_on=wake_on)
    return told if isinstance(answer, Refusal) else replace(answer, missing=told)


def _never(job: Job, when_empty: Refusal, now: Refusal) -> str:
    """`even on an empty cluster 2 of 4 members fit: 3 Insufficient cpu`."""
    fit, of = when_empty.fit
    how_many = f"{fit} of {of} members fit" if job.demands else "it would not fit"
    if when_empty.counts == now.counts and fit == now.fit[0]:
        return f"even on an empty cluster {how_many}"
    counts = ", ".join(sorted(f"{count} {text}" for text, count in when_empty.counts))
    return f"even on an empty cluster {how_many}: {counts or when_empty.message}"


def _with_tail(answer: Plan | Refusal, text: str) -> Plan | Refusal:
    """`0/5 nodes are available: 5 Insufficient cpu. preemption: ...`, as kube-scheduler puts it."""
    if isinstance(answer, Refusal):
        return replace(answer, message=f"{answer.message} {text}", wake_on=answer.wake_on | _OTHERS)
    missing = _with_tail(answer.missing, text) if answer.missing is not None else None
    assert isinstance(missing, Refusal)
    return replace(answer, missing=missing)
