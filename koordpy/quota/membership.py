"""Which queue a job is in, and why it cannot be scheduled there.

Asked when pods appear and when queues change; a label that is changed while pods run counts from their next start.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from koordpy.api.spelling import likely_name
from koordpy.quota.tree import QueueState, QueueTree

DEFAULT_QUEUE = "default-queue"  # unless configured otherwise


class QueueReason(StrEnum):
    """Why a job has to wait, as answers to users name it."""

    MISSING = "QueueMissing"
    NOT_LEAF = "QueueNotLeaf"
    BROKEN = "QueueBroken"


class Refused(NamedTuple):
    """The job waits: its queue cannot take it."""

    reason: QueueReason
    message: str


class Names(NamedTuple):
    """What names a queue for one gang, or for a pod without one; empty where nothing does. The first one counts."""

    spec: str = ""  # `spec.queue` of its PodGroup, where the definition has it
    object_label: str = ""  # label kai.scheduler/queue on the gang's object
    member_label: str = ""  # the same label on the oldest member

    @property
    def first(self) -> str:
        return self.spec or self.object_label or self.member_label


def queue_of(gangs: Iterable[tuple[str, Names]], tree: QueueTree, default: str = DEFAULT_QUEUE) -> int | Refused | None:
    """The row of a job's queue; None: the job is outside of queues.

    `gangs` are those of the job with what names their queues, each under the name that a user knows it by.
    """
    if not len(tree):
        return None
    named = {who: names.first or (default if default in tree.rows else "") for who, names in gangs}
    if len(set(named.values())) > 1:
        told = ", ".join(f"{who} is in {queue or 'none'}" for who, queue in sorted(named.items()))
        return Refused(QueueReason.MISSING, f"gangs that start together have to be in one queue: {told}")
    name = next(iter(named.values()), "")
    return _row(name, tree) if name else None


def _row(name: str, tree: QueueTree) -> int | Refused:
    row = tree.rows.get(name)
    if row is None:
        meant = likely_name(name, frozenset(tree.rows))
        asked = f"; did you mean {meant}?" if meant else ""
        return Refused(QueueReason.MISSING, f"queue {name} does not exist{asked}")
    verdict = tree.verdicts[row]
    if verdict.state is not QueueState.READY:
        return Refused(QueueReason.BROKEN, f"queue {name} is not ready: {verdict.message}")
    if not tree.is_leaf(row):
        below = ", ".join(tree.child_names[row][:_NAMED]) + (", ..." if len(tree.child_names[row]) > _NAMED else "")
        return Refused(QueueReason.NOT_LEAF, f"queue {name} takes no jobs, because it has queues below it: {below}")
    return row


_NAMED = 3  # queues in a message
