"""Which keys have to be reconciled after something has changed: pods, owners, PodGroups, priority classes.

The watches call this between their events, so that it does no more than add keys to the work queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from koordpy.controllers.grouping.workloads import WorkloadIndex


class Key(NamedTuple):
    """What the work queue hands out."""

    what: Literal["branch", "workload"]
    uid: str

    def __str__(self) -> str:
        return f"{self.what} {self.uid}"


class Wakeups:
    """`add` puts a key to the work queue."""

    def __init__(self, workloads: WorkloadIndex, add: Callable[[Key], None]) -> None:
        self._workloads, self._add = workloads, add
        self._workload_of_group: dict[str, str] = {}  # by key of the PodGroup
        self._groups_of_workload: dict[str, frozenset[str]] = {}
        self._timers: dict[Key, asyncio.TimerHandle] = {}

    def pod_changed(self, branch: str, *, left: bool) -> None:
        """A pod of the branch came or changed, or was the last one and `left`."""
        workloads = self._workloads.workloads_of(branch)
        chain = self._workloads.chain(branch)
        if len(workloads) == 1 and not workloads.isdisjoint(owner.uid for owner in chain.owners):
            self.look_at(*workloads)
            if not left:
                return
        self._add(Key("branch", branch))

    def owner_changed(self, uid: str) -> None:
        """An owner changed or was deleted: chains may lead elsewhere now."""
        for branch in self._workloads.branches_of(uid):
            self._add(Key("branch", branch))

    def pod_group_changed(self, key: str) -> None:
        """Somebody else wrote or deleted a PodGroup."""
        if (uid := self._workload_of_group.get(key)) is not None:
            self.look_at(uid)

    def classes_changed(self) -> None:
        """A priority class came or went."""
        self.look_at(*self._workloads.all())

    def look_at(self, *workloads: str) -> None:
        for uid in workloads:
            self._add(Key("workload", uid))

    def look_again(self, key: Key, seconds: float) -> None:
        """Later, if nothing happens before: what is wrong is told again while it lasts."""
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()
        self._timers[key] = asyncio.get_running_loop().call_later(seconds, self._add_again, key)

    def _add_again(self, key: Key) -> None:
        del self._timers[key]
        self._add(key)

    def follow(self, workload: str, pod_groups: Iterable[str]) -> None:
        """From here on these PodGroups are the workload's, and no others; none when it is gone."""
        now = frozenset(pod_groups)
        for key in self._groups_of_workload.pop(workload, frozenset()) - now:
            if self._workload_of_group.get(key) == workload:
                del self._workload_of_group[key]
        if now:
            self._groups_of_workload[workload] = now
            self._workload_of_group.update(dict.fromkeys(now, workload))

    def reset(self) -> None:
        self._workload_of_group.clear()
        self._groups_of_workload.clear()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
