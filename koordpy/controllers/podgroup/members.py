"""Members of gangs: the fields of a pod from which the status of its PodGroup is computed.

A cluster has fifty thousand pods, and most of their events change no status. So pods are decoded to the few fields
below, and an event after which the `Member` equals the one before needs no reconcile. A `Member` never holds anything
else: a field that changes often would cost a reconcile each time.
"""

from __future__ import annotations

from typing import NamedTuple

from koordpy.api.errors import MalformedValue
from koordpy.api.gangs import GangDeclaration, declaration_of
from koordpy.api.keys import GANG_TIMEOUT, POD_SCHEDULED
from koordpy.api.meta import Condition
from koordpy.api.pod import Pod
from koordpy.api.times import seconds_of_instant


class Member(NamedTuple):
    """One pod of a gang."""

    name: str
    created: str  # RFC 3339, as the API server writes it: the order of the text is the order of time
    scheduler: str
    phase: str
    bound_at: float | None  # seconds since the epoch; None: it has no node
    gated: bool
    terminating: bool
    owners: str  # namespace/name, sorted, joined by commas
    declaration: GangDeclaration  # of its annotations about the gang
    refusal: tuple[str, str] = ("", "")  # reason and message of `PodScheduled=False`, while it has no node
    timed_out: bool = False  # its gang waited in vain
    finished_at: float | None = None  # in seconds since the epoch

    @property
    def finished(self) -> bool:
        return self.phase in ("Succeeded", "Failed")

    def belongs_to_predecessor(self, made: str | None) -> bool:
        """Whether it had finished before the PodGroup was made: then it was a member of an earlier one of the name."""
        if not made or not self.finished or self.created >= made:
            return False
        return self.finished_at is None or self.finished_at <= seconds_of_instant(made)


def member_of(pod: Pod, seen_at: float) -> Member:
    """The member for a pod. `seen_at` stands in for the time of binding if the pod's condition does not have it."""
    meta, spec, status = pod.metadata, pod.spec, pod.status
    return Member(
        name=meta.name,
        created=meta.creation_timestamp or "",
        scheduler=spec.scheduler_name,
        phase=status.phase,
        bound_at=_bound_at(status.conditions, seen_at) if spec.node_name else None,
        gated=bool(spec.scheduling_gates),
        terminating=meta.deletion_timestamp is not None,
        owners=",".join(sorted(f"{meta.namespace}/{owner.name}" for owner in meta.owner_references)),
        declaration=declaration_of(meta),
        refusal=_refusal(status.conditions) if not spec.node_name else ("", ""),
        timed_out=meta.annotations.get(GANG_TIMEOUT) == "true",
        finished_at=pod.finished_at if pod.is_finished else None,
    )


def _refusal(conditions: tuple[Condition, ...]) -> tuple[str, str]:
    for condition in conditions:
        if condition.type == POD_SCHEDULED and condition.status == "False":
            return condition.reason, condition.message
    return "", ""


def _bound_at(conditions: tuple[Condition, ...], seen_at: float) -> float:
    for condition in conditions:
        if condition.type == POD_SCHEDULED and condition.status == "True" and condition.last_transition_time:
            try:
                return seconds_of_instant(condition.last_transition_time)
            except MalformedValue:
                break
    return seen_at
