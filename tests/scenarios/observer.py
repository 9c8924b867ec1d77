"""Watches every story from outside, only through the API, and speaks up when something happens that never may.

No gang is left bound in part, no node holds more than it has, no pod is bound twice, and nothing is deleted that the
story did not delete, but for victims of preemptions. It knows the scheduler only by what that writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from koordpy.api.quantity import milli_units, units
from koordpy.sim.simulate.reading import Gang, Objects, job_of, read_gangs
from tests.scenarios.evictions import Evictions
from tests.scenarios.mirror import GROUPS, KAI_GROUPS, NATIVE_GROUPS, NODES, PODS, SPECS, Mirror
from tests.scenarios.objects import is_finished, node_of

Json = dict[str, Any]


class Violation(AssertionError):
    """An invariant was broken."""


class Observer:
    """Listens to a mirror. `check()` raises what it has seen so far."""

    def __init__(self, mirror: Mirror, clock: Callable[[], float], settle_s: float) -> None:
        self._mirror, self._clock, self._settle_s = mirror, clock, settle_s
        self._seen: list[str] = []
        self._nodes: dict[str, str] = {}  # UID of a pod -> its node
        self._satisfied: set[str] = set()  # gangs that had their minimum at some time
        self._started: set[str] = set()  # gangs that had it together with all that they start with
        self._partial: dict[str, float] = {}  # gang -> since when only a part of it is bound
        self.may_go: set[str] = set()  # UIDs of pods that the story deletes
        self.may_be_full: set[str] = set()  # nodes that the story made smaller than what is on them
        self.excused: set[str] = set()  # namespace/name of pods whose bind the story made fail, or made itself
        self.scheduler_runs = False
        self.has_spoken = False
        self.evictions = Evictions(mirror)
        mirror.listeners.append(self._hear)

    def check(self) -> None:
        if self._partial:
            self._look_at_gangs()  # their objects may have changed since
        for gang, since in self._partial.items():
            if self._clock() - since > self._settle_s:
                self._seen.append(self._describe(gang))
        if self._seen:
            self.has_spoken = True
            raise Violation("; ".join(dict.fromkeys(self._seen)))

    def may_lose_members(self, gang: str) -> bool:
        """It has started, or nothing of it has been bound or is being bound: no deletion can leave it in part."""
        if gang in self._started:
            return True
        found = self._gangs().get(gang)
        return found is None or not any(node_of(pod) or _key(pod) in self.excused for pod in found.members)

    def at_rest(self) -> bool:
        """No gang is bound in part at this moment."""
        return not self._partial

    def scheduler_started(self) -> None:
        """What it finds half done it has to finish from now on; while it is away nobody can be blamed."""
        self.scheduler_runs = True
        self._look_at_gangs()

    def scheduler_stopped(self) -> None:
        self.scheduler_runs = False
        self._partial.clear()

    def _hear(self, kind: str, pod: Json) -> None:
        meta, node = pod["metadata"], node_of(pod)
        uid, name = meta["uid"], _key(pod)
        before = self._nodes.get(uid, "")
        if before and node != before:
            self._seen.append(f"{name} was on {before} and is on {node or 'no node'} now")
        if node:
            self._nodes[uid] = node
        if (kind == "DELETED" or "deletionTimestamp" in meta) and uid not in self.may_go:
            self._seen += self.evictions.judge(pod)
        self._seen += self._overcommitted()
        self._look_at_gangs()

    # --- nodes ---

    def _overcommitted(self) -> Iterator[str]:
        used: dict[str, dict[str, int]] = {}
        for pod in self._mirror.all(PODS):
            if node_of(pod) and not is_finished(pod):
                amounts = used.setdefault(node_of(pod), {})
                for resource, amount in _asked(pod).items():
                    amounts[resource] = amounts.get(resource, 0) + amount
        for node in self._mirror.all(NODES):
            name = node["metadata"]["name"]
            has = {resource: _amount(resource, text) for resource, text in node["status"]["allocatable"].items()}
            for resource, amount in used.get(name, {}).items():
                if amount > has.get(resource, 0) and name not in self.may_be_full:
                    yield f"node {name} has {resource} {has.get(resource, 0)}, and its pods ask for {amount}"

    # --- gangs ---

    def _look_at_gangs(self) -> None:
        gangs = self._gangs()
        going = {name for name in gangs if any(_lives(gangs[each]) for each in job_of(name, gangs) if each in gangs)}
        self._satisfied &= going  # once nobody is left who was started, the next ones are another start
        self._started &= going
        self._satisfied |= {gang.name for gang in gangs.values() if self._is_satisfied(gang)}
        self._started |= {name for name in gangs if job_of(name, gangs) <= self._satisfied}
        partial = {name for name, gang in gangs.items() if self._is_partial(gang)} if self.scheduler_runs else ()
        now = self._clock()
        self._partial = {name: self._partial.get(name, now) for name in partial}

    def _gangs(self) -> dict[str, Gang]:
        read = self._mirror.all
        of_coscheduling = [group for path in GROUPS.values() for group in read(path)]
        return read_gangs(read(PODS), Objects(of_coscheduling, read(KAI_GROUPS), read(NATIVE_GROUPS), read(SPECS)))

    def _is_satisfied(self, gang: Gang) -> bool:
        there = [pod for pod in gang.members if node_of(pod) or _key(pod) in self.excused]
        return gang.minimum is not None and len(there) >= gang.minimum and gang.has_parts(there)

    def _is_partial(self, gang: Gang) -> bool:
        return gang.name not in self._started and _lives(gang)

    def _describe(self, name: str) -> str:
        pods = self._gangs().get(name)
        told = {pod["metadata"]["name"]: node_of(pod) for pod in pods.members} if pods else {}
        return f"gang {name} stays bound in part: {told}"


def _lives(gang: Gang) -> bool:
    """Some member that was started is still there."""
    return any(node_of(pod) and pod.get("status", {}).get("phase") != "Failed" for pod in gang.members)


def _key(pod: Json) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _asked(pod: Json) -> dict[str, int]:
    total = {"pods": 1}
    for container in pod["spec"]["containers"]:
        for resource, text in (container.get("resources", {}).get("requests") or {}).items():
            total[resource] = total.get(resource, 0) + _amount(resource, text)
    return total


def _amount(resource: str, text: str) -> int:
    return milli_units(text) if resource == "cpu" else units(text)
