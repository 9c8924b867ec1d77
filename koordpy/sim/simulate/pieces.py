"""Gangs that are started in pieces: a member runs, and the others that it needs do not follow.

Binds are sent one by one, so each gang is bound in part for a moment. It has to be whole soon after, unless something
happened meanwhile that nobody could foresee: a bind was refused, a node or a member is gone, another process leads.
Then it has to be whole as soon as what it lacks fits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from koordpy.sim.embedded.store import Change
from koordpy.sim.simulate.placing import must_gather, needed, racks_of
from koordpy.sim.simulate.reading import Gang, job_of
from koordpy.sim.simulate.rest import could_start
from koordpy.sim.simulate.surprises import Surprises
from koordpy.sim.simulate.truth import (
    Truth,
    condition,
    is_anything_reserved,
    is_finished,
    is_ours,
    is_pending,
    is_terminating,
    key_of,
    node_of,
)

Json = dict[str, Any]

_WHOLE_WITHIN_S = 20.0
_MENDED_WITHIN_S = 45.0  # after the last surprise, where there is room


class Pieces:
    def __init__(self, truth: Truth, surprises: Surprises, tell: Callable[[str], None]) -> None:
        self._truth, self._surprises, self._tell = truth, surprises, tell
        self._satisfied: set[str] = set()  # gangs that had their minimum at some time
        self._started: set[str] = set()  # gangs that had it together with all that they start with
        self._partial: dict[str, float] = {}  # gang -> since when only a part of it is bound
        self._needs: dict[str, int | None] = {}  # gang -> its minimum, as of the last look

    def look(self, change: Change) -> None:
        """A pod has changed."""
        pod, old = change.new.obj, change.old.obj if change.old is not None else None
        if not is_ours(pod):
            return
        gang = self._truth.gang_of(pod)
        if old is not None and (before := self._truth.gang_of(old)) != gang:
            self._lost(before, pod)
            self._lost(gang, pod)
        leaves = change.kind == "DELETED" or (is_terminating(pod) and not (old and is_terminating(old)))
        if (leaves or pod["status"].get("phase") == "Failed") and not _is_evicted(pod):
            self._lost(gang, pod)
        if gang is None:
            return
        is_bound = old is not None and bool(node_of(pod)) and not node_of(old)
        self._count(gang if is_bound else "")
        if is_bound and must_gather(pod):
            self._look_at_racks(self._truth.gangs()[gang])

    def look_at_objects(self) -> None:
        """What defines gangs has changed."""
        self._count("")

    def check(self) -> None:
        """Whose time is up."""
        if self._partial:
            self._count("")
        for name, since in self._partial.items():
            if self._is_in_pieces(name, since):
                members = self._truth.gangs()[name].members
                told = {pod["metadata"]["name"]: node_of(pod) for pod in members}
                self._tell(f"gang {name} stays bound in part: {told}")

    def _is_in_pieces(self, name: str, since: float) -> bool:
        if not self._surprises.excuse(name, since):
            return _now() - since > _WHOLE_WITHIN_S
        still_s = _now() - max(since, self._surprises.last(name))
        if still_s < _MENDED_WITHIN_S or not self._surprises.is_settled(_now()) or is_anything_reserved(self._truth):
            return False
        gang = self._truth.gangs()[name]
        need = needed(gang, [pod for pod in gang.members if is_pending(pod)])
        return bool(need) and could_start(self._truth, need)

    def _lost(self, gang: str | None, pod: Json) -> None:
        """Its owner took a pod away, or it failed."""
        self._surprises.of(key_of(pod))
        if gang is not None:
            self._surprises.of(gang)

    def _count(self, bound: str) -> None:
        gangs = self._truth.gangs()
        for name, gang in gangs.items():
            if self._needs.get(name, gang.minimum) != gang.minimum:
                self._surprises.of(name)
        self._needs = {name: gang.minimum for name, gang in gangs.items()}
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
        """Nobody is bound of a gang that has not enough members at all."""
        needs = gang.minimum
        if needs is None:
            self._tell(f"gang {gang.name} was begun, and nothing says how many it needs")
        elif len(gang.members) < needs and not self._surprises.excuse(gang.name, _now()):
            self._tell(f"gang {gang.name} was begun with {len(gang.members)} members, and needs {needs}")

    def _look_at_racks(self, gang: Gang) -> None:
        racks = racks_of(self._truth)
        used = {racks.get(node_of(pod), "") for pod in gang.members if node_of(pod) and not is_finished(pod)}
        if len(used) > 1 and not self._surprises.excuse(gang.name, _now()):
            self._tell(f"gang {gang.name} has to be in one rack, and is in {sorted(used)}")


def _is_satisfied(gang: Gang) -> bool:
    there = [pod for pod in gang.members if node_of(pod)]
    return gang.minimum is not None and len(there) >= gang.minimum and gang.has_parts(there)


def _is_evicted(pod: Json) -> bool:
    """By a scheduler of ours, which knows of it."""
    return condition(pod, "DisruptionTarget").get("reason") == "PreemptionByScheduler"


def _lives(gang: Gang) -> bool:
    """Some member that was started is still there."""
    return any(node_of(pod) and pod.get("status", {}).get("phase") != "Failed" for pod in gang.members)


def _now() -> float:
    return asyncio.get_running_loop().time()
