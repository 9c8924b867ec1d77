"""What is in the way of a job, in the words of `koordpy.api.answers.Reason`. No message is ever parsed for it."""

from __future__ import annotations

from typing import get_args

from koordpy.api.answers import Reason
from koordpy.api.keys import UNSCHEDULABLE
from koordpy.plan.framework.answers import Refusal

_KNOWN: dict[str, Reason] = {reason: reason for reason in get_args(Reason)}


def reason_of(refusal: Refusal) -> Reason:
    """The first thing in the way; of several filters that refuse nodes, room comes first: some node lacks only that."""
    if refusal.kind in _KNOWN:
        return _KNOWN[refusal.kind]
    if refusal.reason != UNSCHEDULABLE or "Unsupported" in refusal.plugins:
        return "Unsupported"
    if "NodeResourcesFit" in refusal.plugins or not refusal.plugins:
        return "Resources"
    return "Constraints"


def may_become_free(refusal: Refusal) -> bool:
    """Whether the ends of other jobs could cure it."""
    return reason_of(refusal) in (
        "Resources",
        "Constraints",
        "Topology",
        "Reservation",
        "Turn",
        "QueueLimit",
        "QueueQuota",
    )
