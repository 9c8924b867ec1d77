"""What the API says, remembered with the time at which it said so: the only source of the views and the summary."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from koordpy.api.gangs import membership_of
from koordpy.api.keys import POD_SCHEDULED
from koordpy.api.meta import ObjectMeta, Struct
from koordpy.api.node import Node
from koordpy.api.pod import Pod
from koordpy.api.podgroup.coscheduling import PodGroup
from koordpy.sim.demo.workload import workload_of
from koordpy.sim.embedded.kubelet import RUN_SECONDS
from koordpy.state.nodes.resources import amount
from koordpy.state.pods import preemptor_of
from koordpy.state.requests import Amounts, requests_of


class State(Enum):
    """Where a pod is, as far as the API tells."""

    PENDING = "pending"  # the scheduler has said nothing about it yet
    WAITING = "waiting"  # refused for now; its PodScheduled condition says why
    BOUND = "bound"  # has its node; the containers do not run yet
    RUNNING = "running"
    EVICTED = "evicted"  # on its way out, for a job of higher priority
    FINISHED = "finished"
    DELETED = "deleted"


MOMENT_S = 0.2  # between the end of a pod and the bind of the next; an idle machine needs a tenth of it
HOLDS_ROOM = (State.BOUND, State.RUNNING, State.EVICTED)


@dataclass(eq=False)
class SeenPod:
    """One pod and its history."""

    name: str
    workload: str
    asks: Amounts
    ends_by_itself: bool
    gang: str = ""  # namespace/name; empty for a single pod
    state: State = State.PENDING
    node: str = ""
    message: str = ""  # the scheduler's last word on why it is not placed; kept when it is
    evicted_for: str = ""  # the job that it had to leave for
    since: dict[State, float] = field(default_factory=dict)  # when it was first seen in each state

    @property
    def waited_s(self) -> float | None:
        """From its creation to its node; None if it never had to wait for room, or still does."""
        placed = self.since.get(State.BOUND)
        if placed is None or State.WAITING not in self.since:
            return None
        return placed - self.since[State.PENDING]


class Regarding(Struct, frozen=True):
    name: str = ""


class Event(Struct, frozen=True):
    """An event, as far as it is shown."""

    metadata: ObjectMeta
    type: str = ""
    reason: str = ""
    note: str = ""
    regarding: Regarding = Regarding()


class Seen:
    """Pods, gangs, nodes and events.

    `changes` and `gang_changes` hold the pods, and the ids of the gangs, that entered a new state since somebody last
    took them.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self.pods: dict[str, SeenPod] = {}  # by UID
        self.gangs: dict[str, PodGroup] = {}  # by namespace/name
        self.nodes: dict[str, Amounts] = {}  # what each can hold
        self.labels: dict[str, dict[str, str]] = {}  # of the nodes
        self.told: list[tuple[str, str]] = []  # what happened, and why: a name and a paragraph each
        self.events: deque[tuple[float, Event]] = deque(maxlen=500)
        self.event_counts: dict[str, int] = {}
        self.changes: list[SeenPod] = []
        self.gang_changes: list[str] = []
        self.changed_at = 0.0

    def now(self) -> float:
        """Seconds since the beginning."""
        return self._clock() - self._began

    def used(self, node: str) -> Amounts:
        """What the pods on a node ask for together."""
        total: Amounts = {}
        for pod in self.pods.values():
            if pod.node == node and pod.state in HOLDS_ROOM:
                for resource, value in pod.asks.items():
                    total[resource] = total.get(resource, 0) + value
        return total

    def needed(self, pod: SeenPod) -> int:
        """How many pods like this one must start together."""
        gang = self.gangs.get(pod.gang)
        return gang.spec.min_member if gang is not None else 1

    def room_when_empty(self, pod: SeenPod) -> int:
        """How many pods like this one all nodes could hold together, if there were no others."""
        asked = {resource: amount for resource, amount in pod.asks.items() if amount}
        return sum(min(node.get(r, 0) // amount for r, amount in asked.items()) for node in self.nodes.values())

    def is_too_big(self, pod: SeenPod) -> bool:
        """No pod that ends can help it, nor its gang."""
        return self.room_when_empty(pod) < self.needed(pod)

    def made_room_for(self, pods: Sequence[SeenPod]) -> list[SeenPod]:
        """Pods that left the nodes of these a moment before they were bound there, after they had been refused.

        Only a moment: a pod that is bound a second after room became free was held up by something else.
        """
        refused = [pod for pod in pods if pod.waited_s is not None]
        if not refused:
            return []
        placed = min(pod.since[State.BOUND] for pod in refused)
        earliest = max(placed - MOMENT_S, *(pod.since[State.WAITING] for pod in refused))
        nodes = {pod.node for pod in refused}
        left = [pod for pod in self.pods.values() if pod.node in nodes and earliest <= _left_at(pod) <= placed]
        return sorted(left, key=_left_at)

    # --- told by the reflectors ---

    def enter(self, pod: SeenPod, state: State, message: str = "") -> None:
        """Note a state, or a new reason for the same one."""
        if state is pod.state and state in pod.since and message in ("", pod.message):
            return
        pod.state = state
        pod.message = message or pod.message
        pod.since.setdefault(state, self.now())
        self.changes.append(pod)
        self.changed_at = self.now()


class PodSink:
    """Pods from the watch into `Seen`."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen

    def upsert(self, pod: Pod) -> None:
        meta = pod.metadata
        known = self._seen.pods.get(meta.uid)
        if known is None:
            known = SeenPod(
                meta.name, workload_of(meta), requests_of(pod).needed, ends_by_itself=RUN_SECONDS in meta.annotations
            )
            known.since[State.PENDING] = self._seen.now()  # it was, even if it has come further when it is first seen
            self._seen.pods[meta.uid] = known
        scheduled = pod.condition(POD_SCHEDULED)
        refusal = scheduled.message if scheduled is not None and scheduled.status == "False" else ""
        known.gang = member.gang if (member := membership_of(meta)) is not None else ""
        known.node = pod.spec.node_name
        known.evicted_for = preemptor_of(pod) if pod.metadata.deletion_timestamp else ""
        self._seen.enter(known, _state_of(pod, refused=bool(refusal), evicted=bool(known.evicted_for)), refusal)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - pods are known by UID
        if uid in self._seen.pods:
            self._seen.enter(self._seen.pods[uid], State.DELETED)


class PodGroupSink:
    """PodGroups from the watch into `Seen`; a new phase is a change."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen

    def upsert(self, pod_group: PodGroup) -> None:
        key = pod_group.metadata.key
        known = self._seen.gangs.get(key)
        self._seen.gangs[key] = pod_group
        if pod_group.status.phase and (known is None or known.status.phase != pod_group.status.phase):
            self._seen.gang_changes.append(key)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - gangs are known by name
        self._seen.gangs.pop(key, None)


class NodeSink:
    """Nodes from the watch into `Seen`."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen

    def upsert(self, node: Node) -> None:
        holds = node.status.allocatable.items()
        self._seen.nodes[node.metadata.name] = {name: amount(name, text, "allocatable") for name, text in holds}
        self._seen.labels[node.metadata.name] = node.metadata.labels

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - nodes are known by name
        self._seen.nodes.pop(key, None)
        self._seen.labels.pop(key, None)


class EventSink:
    """Events from the watch into `Seen`."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen

    def upsert(self, event: Event) -> None:
        counts = self._seen.event_counts
        counts[event.reason] = counts.get(event.reason, 0) + 1
        self._seen.events.append((self._seen.now(), event))

    def remove(self, key: str, uid: str) -> None:
        """An event that expires has been seen all the same."""


def _state_of(pod: Pod, *, refused: bool, evicted: bool) -> State:
    if pod.is_finished:
        return State.FINISHED
    if evicted:
        return State.EVICTED
    if pod.status.phase == "Running":
        return State.RUNNING
    if pod.spec.node_name:
        return State.BOUND
    return State.WAITING if refused else State.PENDING


def _left_at(pod: SeenPod) -> float:
    ends = (pod.since.get(State.FINISHED), pod.since.get(State.DELETED))
    return min((end for end in ends if end is not None), default=float("inf"))
