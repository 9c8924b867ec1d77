"""Why a job that is in the way of a queue's job is not taken back by reclaim, for people."""

from __future__ import annotations

from koordpy.plan.reservations.ends import started_at
from koordpy.scheduler.answers.amounts import instant
from koordpy.scheduler.answers.holders import Holder
from koordpy.scheduler.answers.question import Question
from koordpy.scheduler.queues.book import QueueBook


def why_safe(question: Question, holder: Holder) -> str:
    """`queue a is within its quota`; empty without queues, in the own queue, or where nothing of this is in the way."""
    book, job = question.sandbox.book, question.job
    if not book.in_use or job is None or not job.queue:
        return ""
    queue = holder.pods[0].queue
    row = book.tree.rows.get(queue)
    if row is None:
        return "it is outside of queues"
    if queue == job.queue:
        return ""
    if not all(pod.preemptible for pod in holder.pods):
        return "it is not preemptible"
    seconds = book.tree.reclaim_min_runtime[row]
    until = max(started_at(pod, question.now) for pod in holder.pods) + seconds
    if until > question.now:
        return f"the minimum run time of queue {queue} protects it until {instant(until)}"
    return _within(book, row, holder)


def _within(book: QueueBook, row: int, holder: Holder) -> str:
    """The nearest queue above the holder that has no more than is its own, in all that the holder has."""
    tree = book.tree
    asked = sum(book.amounts(pod.own_shape) for pod in holder.pods) > 0  # [K]
    for each in tree.paths[row].tolist():
        has, matters = book.usage.allocated[each], asked & tree.counted[each]
        if matters.any() and (has <= tree.quota[each])[matters].all():
            return f"queue {tree.names[each]} is within its quota"
        if matters.any() and (has <= book.shares[each])[matters].all():
            return f"queue {tree.names[each]} is within its fair share"
    return ""
