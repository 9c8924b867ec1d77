"""An explanation, step by step: what is missing, who is in the way, and the changes that would start the job.

The search for changes has a budget of time. Each step is one plan on the sandbox; between two of them the scheduler
goes on with its work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from koordpy.api.answers import AnyChange, JobEnds, Missing, Obstacle
from koordpy.plan.framework.answers import Refusal
from koordpy.plan.framework.job import Job
from koordpy.scheduler.answers.changes import gangs, jobs, nodes, pods, queues
from koordpy.scheduler.answers.holders import Holder, holders_of
from koordpy.scheduler.answers.missing import amounts_asked, missing_for
from koordpy.scheduler.answers.obstacles import obstacles_of
from koordpy.scheduler.answers.question import Question
from koordpy.scheduler.answers.reasons import may_become_free
from koordpy.state.arrays import Bools

BUDGET_S = 0.1

# The gentlest first: what costs nobody anything, then what costs the job something, then others.
_ORDER = (
    "GateRemoved", "MembersAdded", "QueueCreated", "TolerationAdded", "SelectorDropped", "NodeUncordoned",
    "NodeLabelled", "TaintRemoved", "GatherRelaxed", "MinimumLowered", "RequestLowered", "LimitRaised", "QuotaRaised",
    "JobEnds", "NodeAdded", "PriorityRaised",
)  # fmt: skip


@dataclass(slots=True)
class Findings:
    """What was found out so far."""

    missing: list[Missing] = field(default_factory=list)
    in_the_way: list[Obstacle] = field(default_factory=list)
    changes: list[AnyChange] = field(default_factory=list)
    stopped: str | None = None  # why the search for changes ended early


def explain(
    question: Question,
    findings: Findings,
    *,
    clock: Callable[[], float] = time.thread_time,
    budget_s: float | None = None,
) -> Iterator[None]:
    """Fills in the findings, a little with each step."""
    job = question.job
    refusal = _refusal(question, job)
    findings.missing = missing_for(question, refusal)
    yield
    resources = list(dict.fromkeys(each.resource for each in findings.missing))
    holders = _holders(question, job, resources)
    findings.in_the_way = obstacles_of(question, refusal, findings.missing, holders)
    yield
    budget_s = BUDGET_S if budget_s is None else budget_s
    if not budget_s:
        findings.stopped = "changes were searched for the jobs before it: there are too many"
        return
    deadline = clock() + budget_s
    for change in _changes(question, job, resources, holders):
        if change is not None:
            findings.changes.append(change)
        if clock() >= deadline:
            findings.stopped = f"the search for changes ended after {budget_s * 1000:g} ms; there may be more"
            break
        yield
    findings.changes.sort(key=lambda each: _ORDER.index(type(each).__name__))
    suffices = {change.job for change in findings.changes if isinstance(change, JobEnds)}
    findings.in_the_way.sort(key=lambda each: each.kind == "Job" and each.name not in suffices and bool(suffices))


def _refusal(question: Question, job: Job | None) -> Refusal | None:
    if job is None or not job.members or question.sandbox.not_attempted(job, question.group) is not None:
        return None
    answer = question.answer()
    return answer if answer is None or isinstance(answer, Refusal) else answer.missing


def _holders(question: Question, job: Job | None, resources: list[str]) -> list[Holder]:
    """Of what is missing; where nothing is, of what the job asks for, as its filters may mind who is there."""
    if job is None or not job.members:
        return []
    held_back = question.sandbox.not_attempted(job, question.group)
    if held_back is not None and not may_become_free(held_back):
        return []  # a member is missing, or its queue: whoever runs has nothing to do with it
    if not resources and question.sandbox.planning.refusal_when_empty(job) is not None:
        return []  # no node has the label that it gathers by, say: then nobody is in its way
    within: Bools = question.allowed(job)
    if question.sandbox.admission.obstacle(job) is not None:  # what others have in the queue counts on any node
        within = np.ones_like(within)
    wanted = resources or sorted(amounts_asked(question, job))
    return holders_of(wanted, within, question.own_keys, question.sandbox.cluster)


def _changes(
    question: Question, job: Job | None, resources: list[str], holders: list[Holder]
) -> Iterator[AnyChange | None]:
    """The cheap questions first, so that the budget goes to those that need it."""
    yield from gangs.gates_removed(question)
    yield from gangs.members_added(question)
    yield from queues.queue_created(question)
    if job is None or not job.members:
        return
    yield from gangs.minimum_lowered(question)
    if question.sandbox.not_attempted(job, question.group) is not None:
        return
    yield from queues.bound_raised(question)
    yield from gangs.gather_relaxed(question)
    yield from pods.toleration_added(question)
    yield from pods.selector_dropped(question)
    yield from nodes.node_uncordoned(question)
    yield from nodes.taint_removed(question)
    yield from nodes.node_labelled(question)
    yield from pods.request_lowered(question, resources)
    yield from nodes.node_added(question)
    yield from pods.priority_raised(question)
    yield from jobs.job_ends(question, [holder for holder in holders if not holder.terminating])
