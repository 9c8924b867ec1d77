"""Pending gangs and pods by queue and reason, for metrics: computed when `/metrics` is read.

Nothing is counted while scheduling. Reasons are few and fixed, and queues are those that administrators made, so that
both can be labels. A pod has exactly one of each.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from koordpy.api.keys import UNSCHEDULABLE
from koordpy.app.build import BuiltScheduler
from koordpy.plan.framework.answers import Refusal
from koordpy.scheduler.queue.ticket import Ticket
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from koordpy.state.nodes.resources import NOWHERE, PODS
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape

QUEUED, INCOMPLETE, RESOURCES, CONSTRAINTS = "queued", "incomplete", "resources", "constraints"
TOPOLOGY, PREEMPTING, WAITING, TIMED_OUT = "topology", "preempting", "waiting", "timed_out"
GATED, ERROR, NEVER, QUEUE, RESERVATION = "gated", "error", "never", "queue", "reservation"
REASONS = (
    QUEUED,  # not attempted yet
    INCOMPLETE,  # members of its gang, their PodGroup, or gangs of its group are not there
    RESOURCES,  # too little is free
    CONSTRAINTS,  # nodes do not match: taints, selectors, affinity, spreading, volumes
    TOPOLOGY,  # no part of the network takes all of it
    QUEUE,  # its Queue does not exist, takes no jobs, or has no room below a limit or quota
    RESERVATION,  # nodes are reserved for a job in front of it
    NEVER,  # more than there is: it would not fit on an empty cluster either
    PREEMPTING,  # room is kept for it, and others are still leaving
    WAITING,  # holds room at Permit, until the rest of its gang has some
    TIMED_OUT,  # its gang waited in vain, and was left alone
    GATED,  # its scheduling gates are not gone
    ERROR,  # it cannot be read, or a call or koordpy itself failed
)

# Refusals that say themselves of what kind they are.
_BY_KIND = {
    "Incomplete": INCOMPLETE, "Reservation": RESERVATION, "QueueMissing": QUEUE, "QueueNotLeaf": QUEUE,
    "QueueBroken": QUEUE, "QueueLimit": QUEUE, "QueueQuota": QUEUE,
}  # fmt: skip

_IN_A_CPU = 1000  # amounts of CPU are in thousandths
OUTSIDE = ""  # of queues; also the queue of jobs that name one that does not exist, which wait for reason `queue`

Where = tuple[str, str]  # queue and reason


@dataclass(slots=True)
class Pending:
    """What is pending at one moment. Amounts are in CPUs, bytes and devices, of resources that nodes have."""

    gangs: Counter[Where] = field(default_factory=Counter)
    pods: Counter[Where] = field(default_factory=Counter)
    oldest: dict[Where, float] = field(default_factory=dict)  # when the oldest pod was created
    requested: dict[tuple[str, str], float] = field(default_factory=dict)  # by queue and resource
    held: dict[str, float] = field(default_factory=dict)  # by resource


def pending_in(built: BuiltScheduler) -> Pending:
    """Walks over all pods once."""
    found = Pending()
    by_job, queues = _reasons(built, found), built.book.tree.rows
    asked: defaultdict[str, Counter[Shape]] = defaultdict(Counter)  # by queue
    held: Counter[Shape] = Counter()
    for record in built.cluster.pods.values():
        if record.bound or record.terminating or record.scheduler not in built.schedulers:
            continue
        reason = _reason_of_pod(record, by_job, built.cluster)
        if reason is None:
            continue
        where = queue, _ = _known(record.queue, queues), reason
        found.pods[where] += 1
        found.oldest[where] = min(found.oldest.get(where, record.created), record.created)
        if record.shape is not None and record.schedulable:
            asked[queue][record.shape] += 1
        elif record.shape is not None and reason == WAITING:
            held[record.shape] += 1
    for queue, shapes in asked.items():
        found.requested |= {(queue, name): amount for name, amount in _amounts(shapes, built.cluster).items()}
    found.held = _amounts(held, built.cluster)
    return found


def _known(queue: str, queues: Collection[str]) -> str:
    """A label value: any tenant can name queues that do not exist, only administrators make them."""
    return queue if queue in queues else OUTSIDE


def _reasons(built: BuiltScheduler, found: Pending) -> dict[str, str]:
    """The reason of each ticket: of single pods by UID, of pending members by gang."""
    by_job: dict[str, str] = {}
    for ticket in built.queue:
        group = built.parts.jobs.group_of(ticket)
        reason, queue = _reason_of_job(ticket, built), _known(ticket.queue, built.book.tree.rows)
        if not group:
            by_job[ticket.key] = reason
        for gang in built.cluster.gangs.own(group):
            by_job[gang.id] = reason
            found.gangs[queue, WAITING if gang.waiting else reason] += 1
    return by_job


def _reason_of_pod(record: PodRecord, by_job: dict[str, str], cluster: Cluster) -> str | None:
    """None for one whose bind is in flight."""
    if record.gated:
        return GATED
    if record.timed_out:
        return TIMED_OUT
    if record.defect:
        return ERROR
    if record.node:
        return WAITING if cluster.gangs.is_waiting(record) else None
    return by_job.get(record.uid) or by_job.get(record.gang) or QUEUED


def _reason_of_job(ticket: Ticket, built: BuiltScheduler) -> str:
    if any(_nominated(ticket, built)):
        return PREEMPTING
    return reason_of(ticket.refusal) if ticket.refusal is not None else QUEUED


def _nominated(ticket: Ticket, built: BuiltScheduler) -> Iterator[bool]:
    nominations = built.cluster.nominations
    if len(nominations):
        for job in built.parts.jobs.group_of(ticket) or (ticket.key,):
            yield bool(nominations.of(job))


def reason_of(refusal: Refusal) -> str:
    """The reason of a refusal; of several, the one that most likely has to be acted upon."""
    if refusal.reason != UNSCHEDULABLE:
        return ERROR
    if refusal.kind in _BY_KIND:
        return _BY_KIND[refusal.kind]
    if refusal.plugins == {"Coscheduling"}:
        if not refusal.wake_on:
            return INCOMPLETE
        return TOPOLOGY if refusal.wake_on & EventKind.DOMAINS else RESOURCES
    if "NodeResourcesFit" in refusal.plugins or (refusal.wake_on and not refusal.plugins):
        return NEVER if refusal.never else RESOURCES
    return CONSTRAINTS if refusal.plugins else ERROR


def _amounts(counts: Counter[Shape], cluster: Cluster) -> dict[str, float]:
    """Only resources that some node has: anybody can invent names in a request, and labels must be bounded."""
    found: defaultdict[str, float] = defaultdict(float)
    for shape, count in counts.items():
        for name, amount in shape.traits.needed:
            if cluster.resources.find(name) not in (NOWHERE, PODS):
                found[name] += amount * count / (_IN_A_CPU if name == "cpu" else 1)
    return dict(found)
