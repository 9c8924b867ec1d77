"""The change log: what changed in the cluster state since the scheduler last looked.

Every method that changes the state writes here what others may have to react to. `scheduler/wakeups.py` takes it and
brings tickets and sleeping jobs up to date. So nobody who changes the state has to remember to wake anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from koordpy.state.events import ClusterEvent
from koordpy.state.gangs.groups import GangGroup


@dataclass(slots=True)
class Changes:
    """What came together; what repeats itself counts once, except for events."""

    events: list[ClusterEvent] = field(default_factory=list)
    nodes: set[str] = field(default_factory=set)  # whose objects changed, for better or worse
    entered: dict[str, None] = field(default_factory=dict)  # nodes that pods came to, in that order
    reshaped: set[str] = field(default_factory=set)  # UIDs of pods that have another shape now
    regrouped: set[str] = field(default_factory=set)  # UIDs of pods that belong to another gang now, or to none
    groups: set[GangGroup] = field(default_factory=set)  # groups of gangs with a member or a definition that changed

    def __bool__(self) -> bool:
        return bool(self.events or self.nodes or self.entered or self.reshaped or self.regrouped or self.groups)


def _nobody() -> None:
    pass


class ChangeLog:
    """Collects changes until they are taken; calls `on_change` so that a resting scheduler notices."""

    def __init__(self, on_change: Callable[[], None] = _nobody) -> None:
        self._on_change = on_change
        self._changes = Changes()

    def add_event(self, event: ClusterEvent) -> None:
        if event.kind:
            self._changes.events.append(event)
            self._on_change()

    def add_node(self, name: str) -> None:
        self._changes.nodes.add(name)
        self._on_change()

    def add_entered(self, node: str) -> None:
        self._changes.entered[node] = None

    def add_reshaped(self, uid: str) -> None:
        self._changes.reshaped.add(uid)
        self._on_change()

    def add_regrouped(self, uid: str) -> None:
        self._changes.regrouped.add(uid)
        self._on_change()

    def add_groups(self, groups: Iterable[GangGroup]) -> None:
        self._changes.groups.update(groups)
        self._on_change()

    def take(self) -> Changes:
        """Everything since the last call."""
        taken, self._changes = self._changes, Changes()
        return taken

    def __bool__(self) -> bool:
        return bool(self._changes)
