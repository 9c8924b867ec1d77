"""Who or what is in the way of a job, what matters most first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from koordpy.api.answers import Missing, Obstacle
from koordpy.api.keys import GANG_TIMEOUT
from koordpy.plan.framework.answers import Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.placement import fit
from koordpy.plan.preemption.search import is_whole
from koordpy.plan.reservations.ends import NEVER, end_of
from koordpy.quota.amounts import RESOURCES, quantity
from koordpy.scheduler.answers.amounts import instant
from koordpy.scheduler.answers.holders import Holder
from koordpy.scheduler.answers.question import Question
from koordpy.scheduler.answers.safety import why_safe
from koordpy.scheduler.answers.subjects import of_pod
from koordpy.scheduler.preempt import scarce_resource
from koordpy.state.cluster import Cluster

_MOST = 20  # of one kind


def obstacles_of(
    question: Question, refusal: Refusal | None, missing: Sequence[Missing], holders: Sequence[Holder]
) -> list[Obstacle]:
    """Missing members, then the queue, the reserved job, gangs that wait at Permit, running jobs, and closed nodes."""
    scarce = scarce_resource(refusal) if refusal is not None else ""
    found = [*_members(question), *_queue(question), *_reservation(question), *_waiting(question, scarce)]
    named = {each.name for each in found if each.kind == "Job"}
    holders = [each for each in holders if each.name not in named]
    found += _jobs(question, holders, [each.resource for each in missing if each.domain == missing[0].domain])
    return [*found, *_nodes(question)]


def _members(question: Question) -> Iterator[Obstacle]:
    cluster = question.sandbox.cluster
    if not question.group:
        record = cluster.pods.get(question.key)
        if record is not None and record.gated:
            yield _member(record.key, "has scheduling gates")
        return
    for gang_id in question.group:
        gang = cluster.gangs.get(gang_id)
        if gang is None:
            yield _member(gang_id.partition("@")[0], "the gang does not exist")
            continue
        if gang.has_enough and gang.initialised:
            continue
        gated = sorted(member.key for member in gang.absent.values() if member.gated and not member.terminating)
        for key in gated[:_MOST]:
            yield _member(key, "has scheduling gates")
        left_alone = sum(member.timed_out and not member.terminating for member in gang.absent.values())
        if left_alone:
            one = left_alone == 1
            text = (
                f"{left_alone} member{'' if one else 's'} of it waited in vain, and {'is' if one else 'are'} left alone"
            )
            yield _member(gang.name, f"{text} until the annotation {GANG_TIMEOUT} is removed")
        lacks = gang.minimum - gang.collected - len(gated) - left_alone
        if not gang.initialised:
            yield _member(gang.name, f"its {gang.front_end.kind}, or a minimum, is missing")
        elif lacks > 0:
            yield _member(
                gang.name, f"{lacks} member{'s' if lacks > 1 else ''} of it {'are' if lacks > 1 else 'is'} missing"
            )


def _member(name: str, message: str) -> Obstacle:
    return Obstacle(kind="Member", name=name, holds=None, nodes=[], until=None, message=message)


def _queue(question: Question) -> Iterator[Obstacle]:
    job, sandbox = question.job, question.sandbox
    if job is None or not job.members:
        return
    refusal = sandbox.admission.refusal(job)
    if refusal is not None:
        yield Obstacle(
            kind="Queue", name=job.members[0].queue, holds=None, nodes=[], until=None, message=refusal.message
        )
        return
    obstacle = sandbox.admission.obstacle(job)
    if obstacle is not None:
        holds = {RESOURCES[obstacle.resource]: quantity(obstacle.resource, obstacle.allocated)}
        yield Obstacle(kind="Queue", name=obstacle.queue, holds=holds, nodes=[], until=None, message=obstacle.message)


def _reservation(question: Question) -> Iterator[Obstacle]:
    """Nodes are kept for another job from some time on, and this one could start but for that."""
    job, sandbox, reserved = question.job, question.sandbox, question.sandbox.reservation
    if job is None or not job.members or reserved is None or reserved.key == question.key:
        return
    if sandbox.not_attempted(job, question.group) is not None or sandbox.admission.obstacle(job) is not None:
        return
    plan = sandbox.planning.plan(job)
    refusal = sandbox.in_time(job, plan) if is_whole(plan) else None
    if isinstance(refusal, Refusal):
        yield Obstacle(
            kind="Reservation",
            name=of_pod(reserved.job.members[0], sandbox.cluster).name,
            holds=None,
            nodes=sorted({each.node for each in reserved.start.placements}),
            until=instant(reserved.start.at),
            message=refusal.message,
        )


def _waiting(question: Question, scarce: str) -> Iterator[Obstacle]:
    """Gangs that keep part of their members at Permit."""
    permit = question.sandbox.permit
    for waiter in list(permit.waiters(question.key))[:_MOST]:
        stay = permit.room.get(waiter.key)
        yield Obstacle(
            kind="Job",
            name=waiter.members[0].gang.partition("@")[0],
            holds=None,
            nodes=sorted({member.node for member in waiter.members}),
            until=instant(stay.until_wall) if stay is not None else None,
            message=permit.describe(waiter, scarce),
        )


def _jobs(question: Question, holders: Sequence[Holder], resources: Sequence[str]) -> Iterator[Obstacle]:
    """Those that hold most come first."""
    names = list(dict.fromkeys(resources))
    for holder in sorted(holders, key=lambda each: tuple(-amount for amount in each.amounts))[:_MOST]:
        holds = holder.holds(names) if names else None
        what = ", ".join(f"{amount} of {name}" for name, amount in (holds or {}).items())
        where = f"{holder.nodes[0]}" if len(holder.nodes) == 1 else f"{len(holder.nodes)} nodes"
        state = "is terminating and still holds" if holder.terminating else "holds"
        safe = why_safe(question, holder)
        yield Obstacle(
            kind="Job",
            name=holder.name,
            holds=holds,
            nodes=list(holder.nodes),
            until=_until(question, holder),
            message=f"{holder.name} {state} {what or 'its place'} on {where}" + (f"; {safe}" if safe else ""),
        )


def _until(question: Question, holder: Holder) -> str | None:
    """When the last of its pods ends, if all of them declare that."""
    last = max(end_of(pod, question.sandbox.cluster, question.now) for pod in holder.pods)
    return instant(last) if last != NEVER else None


def _nodes(question: Question) -> Iterator[Obstacle]:
    """Nodes that have room for a member, and are closed to it."""
    job, cluster = question.job, question.sandbox.cluster
    if job is None or not job.members or job.members[0].shape is None:
        return
    nodes, shape = cluster.nodes, job.members[0].shape
    free = nodes.allocatable[shape.rows] - nodes.requested[shape.rows]
    roomy = nodes.live & (free >= shape.amounts[:, None]).all(axis=0) & ~question.allowed(job)
    for row in np.flatnonzero(roomy).tolist()[:_MOST]:
        name = nodes.names[row]
        yield Obstacle(
            kind="Node",
            name=name,
            holds=None,
            nodes=[name],
            until=None,
            message=f"node {name}: {_why(row, job, cluster, question)}",
        )


def _why(row: int, job: Job, cluster: Cluster, question: Question) -> str:
    """In kube-scheduler's words; a taint is named."""
    nodes, member = cluster.nodes, job.members[0]
    assert member.shape is not None
    if nodes.unschedulable[row]:
        return "is cordoned"
    alone = np.zeros(nodes.capacity, dtype=np.bool_)
    alone[row] = True
    reasons = fit.explain(member.shape, cluster, question.sandbox.planning.profiles[member.scheduler], among=alone)
    texts = sorted({reason.text for reason in reasons})
    taints = nodes.taint_sets[int(nodes.taint_code[row])]
    named = f" ({_listed(f'{taint.key}:{taint.effect}' for taint in taints)})" if taints else ""
    return f"{_listed(texts)}{named}"


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(texts)
