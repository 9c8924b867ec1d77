"""Changes to queues: a limit or a quota raised, or the queue created that a job names."""

from __future__ import annotations

from collections.abc import Iterator

from koordpy.api.answers import AnyChange, LimitRaised, QueueCreated, QuotaRaised
from koordpy.api.meta import ObjectMeta
from koordpy.api.queue import Queue
from koordpy.api.spelling import likely_name
from koordpy.quota.amounts import RESOURCES, quantity
from koordpy.quota.limits import LIMIT
from koordpy.scheduler.answers.question import Question


def bound_raised(question: Question) -> Iterator[AnyChange | None]:
    """The limit or quota that is in the way becomes as much as the queue has with the whole job in."""
    sandbox, job = question.sandbox, question.job
    obstacle = sandbox.admission.obstacle(job) if job is not None and job.members else None
    if obstacle is None:
        return
    tree = sandbox.book.tree
    row, kind = tree.rows[obstacle.queue], obstacle.resource
    column = tree.limit if obstacle.bound == LIMIT else tree.quota
    before, column[row, kind] = int(column[row, kind]), obstacle.allocated + obstacle.asked
    try:
        starts = question.starts()
    finally:
        column[row, kind] = before
    if starts:
        resource, from_ = RESOURCES[kind], quantity(kind, before)
        to = quantity(kind, obstacle.allocated + obstacle.asked)
        raised = LimitRaised if obstacle.bound == LIMIT else QuotaRaised
        text = f"the {obstacle.bound} of {resource} of queue {obstacle.queue} is raised from {from_} to {to}"
        yield raised(queue=obstacle.queue, resource=resource, from_=from_, to=to, message=text)


def queue_created(question: Question) -> Iterator[AnyChange | None]:
    """The queue that the job names exists, without limits. Where it is misspelt, it is better not created."""
    sandbox, job = question.sandbox, question.job
    name = job.members[0].queue if job is not None and job.members else ""
    if not name or not sandbox.book.in_use or name in (known := sandbox.book.tree.rows):
        return
    if likely_name(name, frozenset(known)):
        return
    sandbox.book.set_queue(name, Queue(ObjectMeta(name=name)))
    sandbox.cluster.recount_queues()
    try:
        starts = question.starts()
    finally:
        sandbox.book.set_queue(name, None)
        sandbox.cluster.recount_queues()
    if starts:
        yield QueueCreated(queue=name, message=f"queue {name} is created")
