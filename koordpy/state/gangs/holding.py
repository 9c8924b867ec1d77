"""Pods that are held back, though nothing of their own keeps them from being attempted, and what they are told.

A member that says no subgroup of its gang, or one that there is not, is in nobody's way and waits alone. Where a
grouper is installed, a pod whose owner could be a gang waits until it is grouped: before that it would start alone.
"""

from __future__ import annotations

from koordpy.state.gangs.gang import Gang
from koordpy.state.pods import PodRecord


class Holding:
    """Who is held back, and why."""

    def __init__(self) -> None:
        self._grouper = ""  # what pods are told that wait to be grouped; "": there is no grouper
        self._ungrouped: set[str] = set()  # UIDs of pending pods that a grouper would group

    def set_grouper(self, told: str) -> set[str]:
        """Whether there is a grouper, and how it does: the pods that may be held or released because of that."""
        if told == self._grouper:
            return set()
        self._grouper = told
        return set(self._ungrouped)

    def count(self, uid: str, record: PodRecord | None) -> None:
        """A pod appeared, changed, or is gone (None)."""
        if record is not None and _is_ungrouped(record):
            self._ungrouped.add(uid)
        else:
            self._ungrouped.discard(uid)

    def reason(self, record: PodRecord, gang: Gang | None) -> str:
        """Why a pod is held back; "" if it is not."""
        if gang is not None and not gang.knows_subgroup(record.subgroup) and record.schedulable:
            known = ", ".join(gang.leaf_names)
            said = f"names the subgroup {record.subgroup}" if record.subgroup else "names no subgroup"
            return f"the pod {said}, and PodGroup {gang.name} has the subgroups {known}"
        return self._grouper if gang is None and _is_ungrouped(record) else ""


def _is_ungrouped(record: PodRecord) -> bool:
    return record.groupable and not record.gang and record.schedulable
