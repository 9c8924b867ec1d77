"""What-if: objects that do not exist are put into a sandbox, and their jobs are decided there, one after the other.

A job that starts is assumed in the sandbox before the next one is decided; one that starts by evicting takes the place
of its victims. The decisions are those that the scheduler itself would make, so the victims are those that a real
submission would have. Where the cluster is changed too, whatever is pending takes part, in the order of turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from koordpy.api.answers import (
    Evicted,
    Placed,
    Reason,
    Start,
    Together,
    Verdict,
    WhatIfJob,
    WhyNot,
    invalid,
    not_found,
    unreadable,
)
from koordpy.api.pod import Pod
from koordpy.plan.framework.answers import Placement, Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.preemption.search import Preemption, is_whole
from koordpy.scheduler.answers import subjects
from koordpy.scheduler.answers.amounts import instant
from koordpy.scheduler.answers.bodies import Sent
from koordpy.scheduler.answers.changes.nodes import add_nodes
from koordpy.scheduler.answers.explaining import Findings, explain
from koordpy.scheduler.answers.question import InFront, Question
from koordpy.scheduler.answers.reasons import may_become_free, reason_of
from koordpy.scheduler.answers.sandbox import Sandbox
from koordpy.scheduler.answers.starts import NOBODY_KNOWS, Forward
from koordpy.scheduler.answers.subjects import Subject
from koordpy.scheduler.answers.turns import as_submitted
from koordpy.scheduler.answers.workloads import pods_of
from koordpy.scheduler.preempt import Decision
from koordpy.scheduler.queue.queue import JobQueue
from koordpy.scheduler.queue.ticket import Equivalence
from koordpy.scheduler.runtimes.learnt import LearntRunTimes
from koordpy.state.pods import PodRecord

_MOST_NODES = 5000  # that are added
_MOST_EXPLAINED = 5  # jobs of one answer that changes are searched for
_WORST: tuple[Verdict, ...] = ("Now", "ByEvicting", "Later", "Never")


@dataclass(frozen=True, slots=True)
class Ground:
    """How the cluster is changed before anything is planned."""

    add_nodes: int = 0
    like: str = ""
    without_nodes: tuple[str, ...] = ()
    without_jobs: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.add_nodes or self.without_nodes or self.without_jobs)


def ground_of(query: Sequence[tuple[str, str]]) -> Ground:
    """From the query of a request."""
    single = dict(query)
    unknown = single.keys() - {"addNodes", "like", "withoutNode", "withoutJob"}
    if unknown:
        raise unreadable(f"the query has {min(unknown)}, and may have addNodes, like, withoutNode and withoutJob")
    text = single.get("addNodes", "0")
    count = int(text) if text.isascii() and text.isdigit() and len(text) < 7 else -1
    if not 0 <= count <= _MOST_NODES or ("addNodes" in single and not count):
        raise unreadable(f"addNodes={text} is not a number from 1 to {_MOST_NODES}")
    if bool(count) != bool(single.get("like")):
        raise unreadable("addNodes and like go together: how many nodes, and which node they are like")
    jobs = tuple(value for key, value in query if key == "withoutJob")
    for job in jobs:
        if job.count("/") != 1:
            raise unreadable(f"withoutJob={job} is not NAMESPACE/NAME")
    return Ground(count, single.get("like", ""), tuple(v for k, v in query if k == "withoutNode"), jobs)


@dataclass(slots=True)
class _Played:
    """What came of one job."""

    subject: Subject
    verdict: Verdict
    placements: list[Placement] = field(default_factory=list)
    victims: tuple[PodRecord, ...] = ()
    refusal: Refusal | None = None
    grace_of: PodRecord | None = None  # whoever takes longest to leave
    start: Start | None = None  # if it waits for what runs to end


class WhatIfs:
    """One question."""

    def __init__(
        self,
        sandbox: Sandbox,
        queue: JobQueue,
        schedulers: frozenset[str],
        *,
        now: float,
        clock: Callable[[], float],
        learnt: LearntRunTimes,
    ) -> None:
        self._clock, self._learnt = clock, learnt
        self._sandbox, self._queue, self._schedulers, self._now = sandbox, queue, schedulers, now
        self._names: dict[str, str] = {}  # UID -> namespace/name, of everybody who was ever placed

    def prepare(self, sent: Sent, ground: Ground) -> Iterator[list[Subject]]:
        """Change the cluster and put the objects into it; the last list has the jobs that the answer is about."""
        self._change(ground)
        cluster = self._sandbox.cluster
        for record in pods_of(sent.workloads, cluster):  # a workload that exists is changed: it has other pods then
            cluster.remove_pod(record.uid)
            yield []
        self._sandbox.bring_forward()
        for queue in sent.queues:
            self._sandbox.book.set_queue(queue.metadata.name, queue)
        if sent.queues:
            cluster.recount_queues()
        for version, gang_id, obj in sent.gangs:
            cluster.set_gang_object(version, gang_id, obj)
        found: dict[str, Subject] = {}
        there = {record.key: record for record in cluster.pods.values()} if sent.pods else {}
        uids = []
        for pod in sent.pods:
            uids.append(self._put(pod, there.get(pod.metadata.key)))
            yield []
        for uid in uids:
            subject = subjects.of_pod(cluster.pods[uid], cluster)
            found.setdefault(subject.key, subject)
            yield []
        for _, gang_id, _ in sent.gangs:
            subject_ = subjects.of_gang(gang_id, cluster)
            if subject_ is not None:
                found.setdefault(subject_.key, subject_)
        if not found and not sent.queues and not sent.workloads:
            found = subjects.pending(cluster, self._schedulers)
        yield list(found.values())

    def _put(self, pod: Pod, known: PodRecord | None) -> str:
        """Returns its UID; `known` is a pod of its name."""
        if known is not None and known.node:
            raise invalid(f"Pod {known.key} runs on node {known.node} already, and cannot be planned again")
        meta = pod.metadata if known is None else msgspec.structs.replace(pod.metadata, uid=known.uid)
        record = self._sandbox.cluster.upsert_pod(msgspec.structs.replace(pod, metadata=meta))
        if record.own_shape is None:
            raise invalid(f"Pod {record.key}: {record.defect}")
        return record.uid

    def _change(self, ground: Ground) -> None:
        cluster = self._sandbox.cluster
        for node in (*ground.without_nodes, *([ground.like] if ground.like else [])):
            if cluster.nodes.row_of(node) is None:
                raise not_found(f"node {node}")
        if ground.add_nodes:
            add_nodes(cluster, ground.like, ground.add_nodes)
        for job in ground.without_jobs:
            namespace, _, name = job.partition("/")
            gone = subjects.find(namespace, name, cluster)
            if gone is None:
                raise not_found(f"job {job}")
            for member in list(gone.members):
                cluster.remove_pod(member.uid)
        for node in ground.without_nodes:
            for record in cluster.pods_on(node):  # what runs there goes with it
                cluster.remove_pod(record.uid)
            cluster.remove_node(node)

    def play(self, asked: list[Subject], *, with_others: bool) -> Iterator[list[WhatIfJob]]:
        """Decide one after the other; the last list that is yielded has every job that was asked about."""
        keys = {subject.key for subject in asked}
        others = subjects.pending(self._sandbox.cluster, self._schedulers) if with_others else {}
        everybody = {subject.key: subject for subject in (*others.values(), *asked)}
        found: list[WhatIfJob] = []
        turns: list[Subject] = []  # all of them first: they are those of the cluster as it is
        for subject in as_submitted(everybody.values(), self._queue, self._sandbox.cluster, self._sandbox.book):
            turns.append(subject)
            yield found
        in_front: list[InFront] = []
        explained = 0
        for subject in turns:
            played = self._play(subject)
            yield found
            if subject.key not in keys:
                in_front += self._waits(played)
                continue
            why = None
            if played.verdict in ("Later", "Never"):
                budget_s = None if explained < _MOST_EXPLAINED else 0.0
                explained += 1
                findings = Findings()
                for _ in explain(self._question(subject, in_front), findings, clock=self._clock, budget_s=budget_s):
                    yield found
                why = self._why_not(played, findings)
            found.append(self._shown(played, why))
            in_front += self._waits(played)
        yield found

    def _waits(self, played: _Played) -> list[InFront]:
        """A job that was refused is asked again before those behind it, when a change makes room."""
        if played.refusal is None:
            return []
        subject = played.subject
        return [InFront(subject.group, subject.key, subject.queue or "", Equivalence((), "", subject.key))]

    def _question(self, subject: Subject, in_front: Sequence[InFront]) -> Question:
        return Question(self._sandbox, subject.group, subject.key, subject.queue or "", tuple(in_front), self._now)

    def _play(self, subject: Subject) -> _Played:
        """One job, and then what its gangs have beyond their minimum, one step after the other."""
        played = self._step(subject)
        while played.verdict == "Now":
            more = self._step(subject)
            if more.verdict != "Now":
                break
            played.placements += more.placements
        return played

    def _step(self, subject: Subject) -> _Played:
        job = self._sandbox.job(subject.group, subject.key, subject.queue or "")
        if job is None or not job.members:
            return _Played(subject, "Never", refusal=self._without_members(subject))
        self._names |= {member.uid: member.key for member in job.members}
        decision = self._sandbox.decide(job, subject.group)
        for waiter in decision.yielding:
            for member in waiter.members:
                self._sandbox.cluster.forget(member.uid)
        if decision.preemption is not None:
            return self._evicting(subject, job, decision.preemption)
        return self._without_evicting(subject, job, decision)

    def _without_members(self, subject: Subject) -> Refusal | None:
        gangs = self._sandbox.job(subject.group, subject.key, subject.queue or "")
        return self._sandbox.not_attempted(gangs, subject.group) if gangs is not None and subject.group else None

    def _without_evicting(self, subject: Subject, job: Job, decision: Decision) -> _Played:
        answer = decision.answer
        if isinstance(answer, Plan) and is_whole(answer) and answer.placements:
            self._assume(answer.placements)
            self._sandbox.suppose_started(job)
            return _Played(subject, "Now", list(answer.placements))
        refusal = answer if isinstance(answer, Refusal) else answer.missing
        self._sandbox.suppose_waits(job)
        if refusal is None or refusal.never or not may_become_free(refusal):
            return _Played(subject, "Never", refusal=refusal)
        start, placements = self._when_others_end(job)
        verdict: Verdict = "Later" if start.time is not None else "Never"
        return _Played(subject, verdict, list(placements), refusal=refusal, start=start)

    def _when_others_end(self, job: Job) -> tuple[Start, tuple[Placement, ...]]:
        """When it fits because what runs has ended, as declared or learnt, and where then."""
        sandbox = self._sandbox
        forward = Forward(sandbox.planning, sandbox.admission, self._now, self._learnt)
        if sandbox.reservation is not None and sandbox.reservation.key != job.key:
            forward.reserve(sandbox.reservation)
        return forward.start_of(job)

    def _evicting(self, subject: Subject, job: Job, found: Preemption) -> _Played:
        """Its victims are gone, and it is where they were."""
        cluster = self._sandbox.cluster
        leaving = found.victims or tuple(cluster.evictions.leaving_for(job.preemptor))
        slowest = max(leaving, key=lambda pod: (pod.grace_s, pod.key), default=None)
        for pod in leaving:
            self._names[pod.uid] = subjects.of_pod(pod, cluster).name
        for pod in leaving:
            cluster.remove_pod(pod.uid)
        self._assume(found.nominations)
        verdict: Verdict = "ByEvicting" if found.victims else "Later"
        return _Played(subject, verdict, list(found.nominations), found.victims, grace_of=slowest)

    def _assume(self, placements: Sequence[Placement]) -> None:
        for each in placements:
            self._sandbox.cluster.assume(each.uid, each.node, each.volumes)

    # --- as it is shown ---

    def _shown(self, played: _Played, why: WhyNot | None) -> WhatIfJob:
        subject = played.subject
        namespace, _, name = subject.name.partition("/")
        return WhatIfJob(
            namespace=namespace,
            name=name,
            type=subject.type,
            gangs=subject.gang_names,
            queue=subject.queue,
            priority=subject.priority,
            verdict=played.verdict,
            placement=[Placed(pod=self._names[each.uid], node=each.node) for each in played.placements],
            together=self._together(played.placements),
            evicts=[Evicted(pod=pod.key, job=self._names[pod.uid]) for pod in played.victims],
            start=self._start(played),
            explanation=why,
        )

    def _start(self, played: _Played) -> Start:
        if played.verdict == "Now":
            return Start(time=instant(self._now), certainty="Now", message="the next attempt starts it")
        if played.start is not None:
            return played.start
        if played.grace_of is not None:
            pod = played.grace_of
            text = f"after the grace period of {pod.key}"
            return Start(time=instant(self._now + pod.grace_s), certainty="Declared", message=text)
        if played.refusal is None or played.refusal.never:
            text = "it would not fit on an empty cluster either" if played.refusal is not None else "nothing can start"
            return Start(time=None, certainty="Never", message=text)
        return NOBODY_KNOWS

    def _why_not(self, played: _Played, findings: Findings) -> WhyNot:
        refusal, reason = played.refusal, None
        message = refusal.message if refusal is not None else ""
        if refusal is not None:
            reason = reason_of(refusal)
        if any(member.gated for member in played.subject.members) and reason in (None, "Incomplete"):
            reason = "Gated"
            message = message or "the pod has scheduling gates"
        gave_up = refusal is not None and refusal.gave_up
        shown: Reason | None = reason
        return WhyNot(
            reason=shown,
            message=message,
            proved=not gave_up,
            missing=findings.missing,
            in_the_way=findings.in_the_way,
            changes=findings.changes,
            stopped=findings.stopped,
        )

    def _together(self, placements: Sequence[Placement]) -> Together | None:
        """The deepest domain that all of these are in."""
        cluster = self._sandbox.cluster
        rows = [row for each in placements if (row := cluster.nodes.row_of(each.node)) is not None]
        for level in reversed(cluster.topology.levels) if rows else ():
            domains = np.unique(level.codes[rows])
            if len(domains) == 1 and domains[0] >= 0 and level.real[domains[0]]:
                return Together(layer=level.layer, domain="/".join(level.paths[int(domains[0])]))
        return None


def worst(jobs: Sequence[WhatIfJob]) -> Verdict:
    """The verdict of all of them together; of none: nothing is in the way."""
    return max((job.verdict for job in jobs), key=_WORST.index, default="Now")
