"""Who answers: the face of this package to the HTTP server.

A list is read off the live state in one moment. An explanation is worked out on a sandbox, a slice at a time, so that
the scheduler goes on meanwhile.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from koordpy.api.answers import Explanation, Job, JobList, QueueJobs, QueueList, Start, WhatIf, not_found, unreadable
from koordpy.quota.answer import Moment, queue_list
from koordpy.scheduler.answers import subjects
from koordpy.scheduler.answers.amounts import instant
from koordpy.scheduler.answers.bodies import Expand, Sent, documents, read
from koordpy.scheduler.answers.explaining import Findings, explain
from koordpy.scheduler.answers.pace import Allowance, Pace
from koordpy.scheduler.answers.question import InFront, Question
from koordpy.scheduler.answers.sandbox import Sandbox
from koordpy.scheduler.answers.starts import Forward, expected_starts
from koordpy.scheduler.answers.subjects import Subject
from koordpy.scheduler.answers.turns import in_turn
from koordpy.scheduler.answers.views import Views
from koordpy.scheduler.answers.whatif import WhatIfs, ground_of, worst
from koordpy.scheduler.parts import Parts
from koordpy.scheduler.queue.ticket import Equivalence
from koordpy.scheduler.queues.book import QueueBook
from koordpy.scheduler.report.throttle import Throttle

_SMALL = 2**16  # bytes of YAML that are read at once; a larger body takes a thread
_REFERENCE = b"&"  # in YAML: with some of them a small body is a large one


class Answering:
    """Answers questions about one scheduler."""

    def __init__(
        self,
        parts: Parts,
        book: QueueBook,
        throttle: Throttle,
        schedulers: frozenset[str],
        *,
        expand: Expand,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._expand = expand  # a workload into what it would become
        self._parts, self._book, self._schedulers, self._wall = parts, book, schedulers, wall
        self._cluster = parts.cluster
        self._views = Views(parts, throttle)
        self._allowance = Allowance(lambda: parts.queue.any_active or parts.lanes.are_binding)

    async def jobs(self) -> JobList:
        """Everything pending, in the order of its turn."""
        pace = self._pace()
        turns = self._in_turn()
        starts = self._starts(turns)
        shown = [
            self._views.show(subject, place, starts.get(subject.key)) for place, subject in enumerate(turns, start=1)
        ]
        answer = JobList(as_of=instant(self._wall()), items=shown)
        await pace.rest()
        return answer

    def _starts(self, turns: Sequence[Subject]) -> Mapping[str, Start]:
        """When jobs are expected to start that wait for nodes, in the order of their turns."""
        parts = self._parts
        jobs = [job for subject in turns if (job := self._views.waits_for_nodes(subject)) is not None]
        forward = Forward(parts.planning, parts.admission, self._wall(), parts.learnt)
        return expected_starts(forward, jobs, parts.backfill.reservation)

    async def explain(self, namespace: str, name: str) -> Explanation:
        """Why one job waits, and what would start it."""
        subject = subjects.find(namespace, name, self._cluster)
        if subject is None:
            raise not_found(f"job {namespace}/{name}")
        return await self.explain_subject(subject)

    async def explain_subject(self, subject: Subject, *, budget_s: float | None = None) -> Explanation:
        """The same of a job that was found already, perhaps with more time for the search for changes."""
        pace = self._pace()
        as_of, turns = instant(self._wall()), self._in_turn()
        place = _position(subject, turns)
        starts = self._starts(turns[:place]) if place is not None else {}
        shown = self._views.show(subject, place, starts.get(subject.key))
        refusal = self._views.refusal_of(subject)
        proved = refusal is None or not refusal.gave_up
        if shown.state in ("Running", "Binding"):
            return Explanation(
                as_of=as_of, job=shown, proved=proved, missing=[], in_the_way=[], changes=[], stopped=None
            )
        findings = Findings()
        steps = explain(self._question(subject, shown, turns), findings, clock=pace.spent, budget_s=budget_s)
        await pace.last(steps, None)
        return Explanation(
            as_of=as_of,
            job=shown,
            proved=proved,
            missing=findings.missing,
            in_the_way=findings.in_the_way,
            changes=findings.changes,
            stopped=findings.stopped,
        )

    async def what_if(self, body: bytes, query: Sequence[tuple[str, str]]) -> WhatIf:
        """What would become of objects that do not exist."""
        ground = ground_of(query)
        is_small = len(body) <= _SMALL and _REFERENCE not in body
        found = documents(body) if is_small else await asyncio.to_thread(documents, body)
        if body.strip() and not found:
            raise unreadable("the body has no objects")
        classes, now = self._cluster.gangs.priority_classes, self._wall()
        pace = self._pace()
        sent = await pace.last(read(found, self._schedulers, classes, self._expand, now), Sent())
        sandbox = Sandbox(self._parts, self._book)
        question = WhatIfs(
            sandbox, self._parts.queue, self._schedulers, now=now, clock=pace.spent, learnt=self._parts.learnt
        )
        asked = await pace.last(question.prepare(sent, ground), [])
        with_others = bool(ground) or bool(sent.queues)
        jobs = await pace.last(question.play(asked, with_others=with_others), [])
        return WhatIf(as_of=instant(now), verdict=worst(jobs), jobs=jobs)

    async def queues(self) -> QueueList:
        """The tree of queues."""
        pace = self._pace()
        if self._book.in_use:
            self._book.divide(self._cluster.nodes, self._cluster.resources)
        usage, shares = self._book.usage, self._book.shares
        answer = queue_list(Moment(usage, shares, self._queue_jobs(), instant(self._wall())))
        await pace.rest()
        return answer

    def _queue_jobs(self) -> dict[int, QueueJobs]:
        seen: dict[str, Subject] = {}
        for record in self._cluster.pods.values():
            if record.queue and record.scheduler in self._schedulers:
                subject = subjects.of_pod(record, self._cluster)
                seen.setdefault(subject.key, subject)
        running, waiting = Counter[int](), Counter[int]()
        for subject in seen.values():
            row = self._book.tree.rows.get(subject.queue or "")
            if row is not None:
                runs = self._views.state_of(subject) in ("Running", "Binding")
                (running if runs else waiting)[row] += 1
        return {row: QueueJobs(running=running[row], waiting=waiting[row]) for row in {*running, *waiting}}

    def _pace(self) -> Pace:
        return Pace(self._allowance)

    def _in_turn(self) -> list[Subject]:
        found = subjects.pending(self._cluster, self._schedulers).values()
        return in_turn(found, self._parts.queue, self._cluster, self._book)

    def _question(self, subject: Subject, shown: Job, turns: list[Subject]) -> Question:
        ahead = turns[: _position(subject, turns) or 1][:-1]
        return Question(
            Sandbox(self._parts, self._book),
            subject.group,
            subject.key,
            shown.queue or "",
            tuple(self._in_front(each) for each in ahead),
            self._wall(),
        )

    def _in_front(self, subject: Subject) -> InFront:
        ticket = self._parts.queue.get(subject.key)
        equivalence = ticket.equivalence if ticket is not None else Equivalence((), "", subject.key)
        return InFront(subject.group, subject.key, subject.queue or "", equivalence)


def _position(subject: Subject, turns: Sequence[Subject]) -> int | None:
    """Of the job itself, or of the first of its pods that has a turn of its own."""
    own = {subject.key, *(member.uid for member in subject.members if not member.node)}
    return next((place for place, each in enumerate(turns, start=1) if each.key in own), None)
