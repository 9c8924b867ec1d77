"""What else the grouper watches: the priority classes that exist, and the owners that have a SchedulingSpec."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from koordpy.api.podgroup.schedulingspec import SchedulingSpec
from koordpy.api.policy import PriorityClass


class PriorityClassNames:
    """The sink of the watch of PriorityClasses. `changed` is told when a class comes or goes."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self.names: set[str] = set()
        self._changed = changed

    def upsert(self, obj: PriorityClass) -> None:
        if obj.metadata.name not in self.names:
            self.names.add(obj.metadata.name)
            self._changed()

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - a sink gets both
        self.names.discard(key)
        self._changed()


class SpecOwners:
    """The sink of the watch of SchedulingSpecs: UIDs of the controllers that have one.

    `changed` is told a controller whose spec came or went: its pods are left to the spec, or grouped again.
    """

    def __init__(self, changed: Callable[[str], None]) -> None:
        self._owner_of: dict[str, str] = {}  # UID of the controller, by UID of the spec
        self._specs: Counter[str] = Counter()  # by UID of the controller
        self._changed = changed

    def __contains__(self, uid: str) -> bool:
        return uid in self._specs

    def upsert(self, obj: SchedulingSpec) -> None:
        controller = next((each for each in obj.metadata.owner_references if each.controller), None)
        self._put(obj.metadata.uid, controller.uid if controller is not None else "")

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - a sink gets both
        self._put(uid, "")

    def _put(self, spec: str, owner: str) -> None:
        before = self._owner_of.pop(spec, "")
        if owner:
            self._owner_of[spec] = owner
        for uid, more in ((before, -1), (owner, 1)):
            if uid and before != owner:
                self._specs[uid] += more
                if not self._specs[uid]:
                    del self._specs[uid]
                self._changed(uid)
