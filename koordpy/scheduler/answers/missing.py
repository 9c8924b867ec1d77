"""What a job lacks: per resource in the whole cluster, or per resource and domain where one must hold all of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from koordpy.api.answers import Missing
from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.placement.gangs import plan_gangs
from koordpy.plan.placement.pods import plan
from koordpy.plan.topology.gather import needed_only, rules_of
from koordpy.plan.topology.siblings import top_of
from koordpy.scheduler.answers.amounts import exact
from koordpy.scheduler.answers.question import Question
from koordpy.state.arrays import Bools
from koordpy.state.nodes.resources import NOWHERE

_LACKS = "Insufficient "  # how kube-scheduler begins the reason that a resource does not suffice
_MOST_DOMAINS = 16


def missing_for(question: Question, refusal: Refusal | None) -> list[Missing]:
    """Nothing for a job that is not refused, or that no node is allowed for."""
    job = question.job
    if job is None or refusal is None or not job.members:
        return []
    cluster = question.sandbox.cluster
    rules = rules_of(job, cluster) if question.sandbox.planning.topology else ()
    top = top_of(rules, cluster) if job.demands and cluster.topology.levels else 0
    allowed = question.allowed(job)
    if not top:
        return list(_in(question, job, allowed, refusal))
    level = cluster.topology.levels[top]
    found: list[tuple[int, list[Missing]]] = []
    for domain in np.flatnonzero(level.real).tolist():
        where = level.layer, "/".join(level.paths[domain])
        entries = list(_in(question, job, allowed & level.nodes_of(domain), None, where))
        if entries:
            found.append((entries[0].slots, entries))
    found.sort(key=lambda each: -each[0])  # where most of it fits comes first
    return [entry for _, entries in found[:_MOST_DOMAINS] for entry in entries]


def _in(
    question: Question,
    job: Job,
    within: Bools,
    refusal: Refusal | None,
    where: tuple[str, str] | tuple[None, None] = (None, None),
) -> Iterator[Missing]:
    """On the nodes `within`, `[N]`."""
    cluster, nodes = question.sandbox.cluster, question.sandbox.cluster.nodes
    if refusal is None:
        answer = _plan_within(question, job, within)
        refusal = answer if isinstance(answer, Refusal) else answer.missing
    if refusal is None:
        return
    asked = amounts_asked(question, job)
    lacking = {text.removeprefix(_LACKS) for text, _ in refusal.counts if text.startswith(_LACKS)}
    slots, needed = refusal.fit
    for name, amount in sorted(asked.items()):
        row = cluster.resources.find(name)
        free = 0
        if row != NOWHERE:
            free = int(np.maximum(nodes.allocatable[row] - nodes.requested[row], 0)[within].sum())
        if amount <= free and name not in lacking:
            continue
        short = max(0, amount - free)
        yield Missing(
            resource=name,
            asked=exact(name, amount),
            free=exact(name, free),
            short=exact(name, short),
            layer=where[0],
            domain=where[1],
            slots=slots,
            needed=needed,
        )


def amounts_asked(question: Question, job: Job) -> Counter[str]:
    """What the members ask for together that have to be placed."""
    total: Counter[str] = Counter()
    for member in question.needed(job):
        for name, amount in member.shape.traits.needed if member.shape is not None else ():
            if name != "pods" and amount:
                total[name] += amount
    return total


def _plan_within(question: Question, job: Job, within: Bools) -> Plan | Refusal:
    planning = question.sandbox.planning
    profiles = {name: profile.only(within) for name, profile in planning.profiles.items()}
    if job.demands:
        return plan_gangs(replace(needed_only(job), queue=job.queue), planning.cluster, profiles)
    return plan(job, planning.cluster, profiles[job.members[0].scheduler])
