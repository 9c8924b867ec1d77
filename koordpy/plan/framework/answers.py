"""The two answers to "can this job run now?": a plan, or a refusal that says why not.

Both are values. One place carries plans out; the same refusal feeds the condition, the event, the log and the
metrics, so they can never disagree.
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
    """Why a node cannot take a pod, in kube-scheduler's words."""

    text: str
    preemption_helps: bool  # False: nothing that could be evicted from the node would make the pod fit
    wake_on: EventKind  # the changes after which it is worth asking again
    plugin: str = ""  # the filter that says so; filled in by the planner


@dataclass(frozen=True, slots=True)
class Placement:
    """One member, the node it goes to, and the volumes that its unbound claims get there."""

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
    """What to do for a job: all of it, or nothing."""

    placements: tuple[Placement, ...]
    missing: Refusal | None = None  # why the job is not complete: what is placed may wait for the rest, and not run
    left_over: Refusal | None = None  # why members beyond the minimum found no room
    gathered: Gathered | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a job cannot run now, and what would change that."""

    message: str
    wake_on: EventKind
    culprit: str  # UID of the member that could not be placed
    reason: str = UNSCHEDULABLE  # of the pod condition
    counts: tuple[tuple[str, int], ...] = ()  # reason text, nodes
    plugins: frozenset[str] = frozenset()  # the filters that refused
    fit: tuple[int, int] = (0, 1)  # members that would fit, and those that must
    gave_up: bool = False  # a search ended for lack of budget: there may be a way that was not tried


def no_node_fits(culprit: str, nodes: int, failed: dict[Reason, int]) -> Refusal:
    """The refusal of a pod that every node was asked about.

    kube-scheduler sorts the entries as strings, so `10 Insufficient cpu` stands before `2 node(s) ...`;
    autoscalers and dashboards read the text, so we do the same.
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
    """The refusal of a pod that no node was asked about."""
    return Refusal(
        f"0/{nodes} nodes are available: {reason.text}.",
        wake_on=reason.wake_on,
        culprit=culprit,
        plugins=frozenset((reason.plugin,)),
    )
