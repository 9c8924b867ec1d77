"""The two answers of planning: a plan, or a refusal with its reasons.

Both are values. The loop carries a plan out. The condition, the event, the log and the metrics are made from the same
refusal, so they cannot disagree.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from koordpy.api.keys import UNSCHEDULABLE
from koordpy.state.events import EventKind
from koordpy.state.storage import NO_VOLUMES, VolumeChoice


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a filter refuses a node, in kube-scheduler's words."""

    text: str
    preemption_helps: bool  # False: no eviction from the node can make the pod fit
    wake_on: EventKind  # the cluster events that may change the answer
    plugin: str = ""  # the filter that refuses; set by the planner


@dataclass(frozen=True, slots=True)
class Placement:
    """One member, its node, and the volumes that its unbound claims get there."""

    uid: str
    node: str
    volumes: VolumeChoice = NO_VOLUMES


class Gathered(NamedTuple):
    """The domain of the network that a job was gathered in."""

    layer: str
    path: tuple[str, ...]  # names from the top layer down
    level: int
    domain: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Where the members of a job are placed: carried out as a whole, or not at all."""

    placements: tuple[Placement, ...]
    missing: Refusal | None = None  # why the job is not complete: the placed members wait at Permit for the rest
    left_over: Refusal | None = None  # why some of the surplus was not placed
    gathered: Gathered | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a job is unschedulable, and which cluster events may change that."""

    message: str
    wake_on: EventKind
    culprit: str  # UID of the member that could not be placed
    reason: str = UNSCHEDULABLE  # of the pod condition
    counts: tuple[tuple[str, int], ...] = ()  # reason text, number of nodes
    plugins: frozenset[str] = frozenset()  # the filters that refused
    fit: tuple[int, int] = (0, 1)  # members that fit, and members that must
    never: bool = False  # the job would not fit on an empty cluster either
    gave_up: bool = False  # the search used up its budget: there may be a plan that was not tried
    kind: str = ""  # what is in the way, as answers name it; "": the filters that refused say it


def no_node_fits(culprit: str, nodes: int, failed: dict[Reason, int]) -> Refusal:
    """The refusal of a pod that is infeasible on every node.

    kube-scheduler sorts the entries as strings, so `10 Insufficient cpu` comes before `2 node(s) ...`. Autoscalers and
    dashboards parse the text, so koordpy does the same.
    """
    counts: Counter[str] = Counter()
    wake_on = EventKind.NODE_ADDED
    for reason, count in failed.items():
        counts[reason.text] += count
        wake_on |= reason.wake_on
    entries = ", ".join(sorted(f"{count} {text}" for text, count in counts.items()))
    return Refusal(
        message=f"0/{nodes} nodes are available: {entries}." if nodes else "no nodes available to schedule pods",
        wake_on=wake_on,
        culprit=culprit,
        counts=tuple(sorted(counts.items())),
        plugins=frozenset(reason.plugin for reason in failed),
    )


def refused_outright(culprit: str, nodes: int, reason: Reason) -> Refusal:
    """The refusal of a pod at PreFilter, before any node is filtered."""
    return Refusal(
        f"0/{nodes} nodes are available: {reason.text}.",
        wake_on=reason.wake_on,
        culprit=culprit,
        plugins=frozenset((reason.plugin,)),
    )
