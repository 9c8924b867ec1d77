"""Gangs that are started in pieces: a member runs, and the others that it needs do not follow.

Binds are sent one by one, so each gang is bound in part for a moment. It has to be whole soon after, unless something
happened meanwhile that nobody could foresee: a bind was refused, a node or a member is gone, another process leads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from koordpy.sim.embedded.store import Change
from koordpy.sim.simulate.placing import must_gather, racks_of
from koordpy.sim.simulate.reading import Gang, job_of
from koordpy.sim.simulate.truth import Truth, is_finished, is_ours, is_terminating, node_of

Json = dict[str, Any]

_WHOLE_WITHIN_S = 20.0
_REMEMBERED_S = 60.0  # what happened so long ago may still be news to a scheduler


class Pieces:
    def __init__(self, truth: Truth, tell: Callable[[str], None]) -> None:
        self._truth, self._tell = truth, tell
        self._satisfied: set[str] = set()  # gangs that had their minimum at some time
        self._started: set[str] = set()  # gangs that had it together with all that they start with
        self._partial: dict[str, float] = {}  # gang -> since when only a part of it is bound
        self._disturbed_at = float("-inf")
        self._lost_at: dict[str, float] = {}  # gang -> when it lost a member, or was said to need others

    def disturbed(self) -> None:
        """Something happened that may keep any gang from being completed."""
        self._disturbed_at = _now()

    def lost(self, gang: str) -> None:
        """Its owner changed it."""
        self._lost_at[gang] = _now()

    def look(self, change: Change) -> None:
        """A pod has changed."""
        pod, old = change.new.obj, change.old.obj if change.old is not None else None
        if not is_ours(pod):
            return
        gang = self._truth.gang_of(pod)
        if old is not None and gang != self._truth.gang_of(old):
            self.disturbed()
        if gang is None:
            return
        leaves = change.kind == "DELETED" or (is_terminating(pod) and not (old and is_terminating(old)))
        if leaves or pod["status"].get("phase") == "Failed":
            self.lost(gang)
        self._count(gang if old is not None and node_of(pod) and not node_of(old) else "")

    def check(self) -> None:
        """Whose time is up."""
        if self._partial:
            self._count("")  # their objects may have changed since
        for name, since in self._partial.items():
            if _now() - since > _WHOLE_WITHIN_S and not self.is_excused(name, since):
                members = self._truth.gangs()[name].members
                told = {pod["metadata"]["name"]: node_of(pod) for pod in members}
                self._tell(f"gang {name} stays bound in part: {told}")

    def is_excused(self, name: str, since: float) -> bool:
        """Something happened shortly before, or since, that nobody could foresee."""
        return max(self._disturbed_at, self._lost_at.get(name, float("-inf"))) > since - _REMEMBERED_S

    def _count(self, bound: str) -> None:
        gangs = self._truth.gangs()
        going = {name for name in gangs if any(_lives(gangs[each]) for each in job_of(name, gangs) if each in gangs)}
        self._satisfied &= going  # once nobody is left who was started, the next ones are another start
        self._started &= going
        self._satisfied |= {gang.name for gang in gangs.values() if _is_satisfied(gang)}
        self._started |= {name for name in gangs if job_of(name, gangs) <= self._satisfied}
        partial = sorted(name for name, gang in gangs.items() if name not in self._started and _lives(gang))
        now = _now()
        self._partial = {name: self._partial.get(name, now) for name in partial}
        if bound in self._partial:
            self._look_at_first(gangs[bound])

    def _look_at_first(self, gang: Gang) -> None:
        """Nobody is bound of a gang that has not enough members at all, or outside of the rack that holds them."""
        racks = racks_of(self._truth)
        used = {racks.get(node_of(pod), "") for pod in gang.members if node_of(pod) and not is_finished(pod)}
        if must_gather(gang.members[0]) and len(used) > 1 and not self.is_excused(gang.name, _now()):
            self._tell(f"gang {gang.name} has to be in one rack, and is in {sorted(used)}")
        needs = gang.minimum
        if needs is None:
            self._tell(f"gang {gang.name} was begun, and nothing says how many it needs")
        elif len(gang.members) < needs and not self.is_excused(gang.name, _now()):
            self._tell(f"gang {gang.name} was begun with {len(gang.members)} members, and needs {needs}")


def _is_satisfied(gang: Gang) -> bool:
    there = [pod for pod in gang.members if node_of(pod)]
    return gang.minimum is not None and len(there) >= gang.minimum and gang.has_parts(there)


def _lives(gang: Gang) -> bool:
    """Some member that was started is still there."""
    return any(node_of(pod) and pod.get("status", {}).get("phase") != "Failed" for pod in gang.members)


def _now() -> float:
    return asyncio.get_running_loop().time()
