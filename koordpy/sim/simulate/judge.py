"""What must never happen, looked at with each write, from the API's truth alone.

No node gets more of ours than it has, no gang is started in pieces or across racks, nobody is evicted in vain, no queue
goes over its limit, nobody writes without the lease, no pod is bound or evicted twice or moved. Truth reaches
a scheduler late: what others did within the last `LATE_S` it may not have heard of, and is not blamed for. What it did
itself it knows.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

import msgspec

from koordpy.sim.embedded.store import Change, Store
from koordpy.sim.simulate.evictions import Evictions
from koordpy.sim.simulate.machine import Machine
from koordpy.sim.simulate.objects import POD_GROUPS, RACK
from koordpy.sim.simulate.pieces import Pieces
from koordpy.sim.simulate.surprises import Surprises
from koordpy.sim.simulate.truth import (
    Amounts,
    Truth,
    allocatable,
    condition,
    is_ours,
    key_of,
    limit_of,
    node_of,
    queue_of,
)

Json = dict[str, Any]

LATE_S = 60.0
_LEASES = {"scheduler": ("koord-scheduler",), "controllers": ("koordpy-controllers", "koordpy-podgrouper")}


class Judge:
    """`wrong` is what it has seen so far."""

    def __init__(self, store: Store, surprises: Surprises) -> None:
        self.truth = Truth(store)
        self.wrong: list[str] = []
        self.surprises = surprises
        self.pieces = Pieces(self.truth, surprises, self.wrong.append)
        self.evictions = Evictions(self.truth, surprises, self.wrong.append)
        self._done: set[tuple[str, str, str]] = set()  # machine, call and UID: of pods, as answers said
        self._nodes_of: dict[str, str] = {}  # UID of a pod -> its node
        self._bound_at: dict[str, float] = {}
        self._sizes: dict[str, list[tuple[float, Amounts | None]]] = defaultdict(list)  # until when it was how large
        self._limits: dict[str, list[tuple[float, int | None]]] = defaultdict(list)
        self._holder = ""
        store.subscribe("pods", self._hear_pod)
        store.subscribe("nodes", self._hear_node)
        store.subscribe("queues.scheduling.run.ai", self._hear_queue)
        store.subscribe("leases.coordination.k8s.io", self._hear_lease)
        store.subscribe("clusternetworktopologies.scheduling.koordinator.sh", lambda _: surprises.for_all())
        for _, storage in POD_GROUPS.values():
            store.subscribe(storage, lambda _: self.pieces.look_at_objects())
        store.subscribe("schedulingspecs.arbitrator.incubator.k8s.io", lambda _: self.pieces.look_at_objects())

    def check(self) -> None:
        """Whose time is up."""
        self.pieces.check()
        self.evictions.check()

    def sent(self, machine: Machine, method: str, path: str, body: bytes) -> None:
        """A machine sends a request, at this moment."""
        if method == "GET" or "/leases" in path or "reviews" in path:
            return
        if (write := _write_to_pod(machine, method, path, body)) is not None:
            self._look_at_write(write, path)
        leases = _LEASES[machine.name.partition("-")[0]]
        holders = [self.truth.holder(lease) for lease in leases]
        if not any(holder.startswith(f"{machine.name}_") for holder in holders):
            self.wrong.append(f"{machine.name} sends {method} {path}, and {holders} have the leases")

    def answered(self, machine: Machine, method: str, path: str, body: bytes) -> None:
        """It was told that it was carried out."""
        if (write := _write_to_pod(machine, method, path, body)) is not None:
            self._done.add(write)

    def look_at_failed_bind(self, path: str) -> None:
        """Refused, or lost on either way: its gang may lack a member, and whoever bound it may not know."""
        pod = self.truth.find("pods", *path.split("/")[4:7:2])
        if pod is not None:
            self.surprises.of(key_of(pod))
            self.surprises.of(self.truth.gang_of(pod) or "")

    def look_at_failed_deletion(self, path: str) -> None:
        pod = self.truth.find("pods", *path.partition("?")[0].split("/")[4:7:2])
        if pod is not None:
            self.evictions.refused(pod)

    def look_at_end(self, machine: Machine) -> None:
        """A machine that ended gracefully, with a network that works, lets others lead at once."""
        for lease in _LEASES[machine.name.partition("-")[0]]:
            if self.truth.holder(lease).startswith(f"{machine.name}_"):
                self.wrong.append(f"{machine.name} has ended, and has not released {lease}")

    def _look_at_write(self, write: tuple[str, str, str], path: str) -> None:
        machine, call, uid = write
        if write in self._done:
            self.wrong.append(f"{machine} sends {call} for {path} again, which was carried out")
        if call == "binding" and self._bound_at.get(uid, _now()) < _now() - LATE_S:
            self.wrong.append(f"{machine} binds {path}, which is on {self._nodes_of[uid]} for a minute")
        found = self.truth.find("pods", *path.partition("?")[0].split("/")[4:7:2])
        is_it = found is not None and found["metadata"]["uid"] == uid
        if call == "DELETE" and machine.startswith("scheduler") and is_it and not _is_told(found or {}):
            self.wrong.append(f"{machine} deletes {path}, which was not told")

    # --- what changes ---

    def _hear_node(self, change: Change) -> None:
        name = change.new.key[1]
        before = change.old.obj if change.old is not None else None
        self._sizes[name].append((_now(), allocatable(before) if before is not None else None))
        after = change.new.obj if change.kind != "DELETED" else None
        if before is not None and (after is None or _is_worse(after, before)):
            self.surprises.for_all()
        elif after is not None:
            self.evictions.better()

    def _hear_queue(self, change: Change) -> None:
        name, old = change.new.key[1], change.old.obj if change.old is not None else None
        self._limits[name].append((_now(), limit_of(old) if old is not None else None))
        if change.kind != "DELETED" and (old is None or _parent_of(old) != _parent_of(change.new.obj)):
            for above in self.truth.queue_path(name):  # what runs in it counts there from now on
                self._limits[above["metadata"]["name"]].append((_now(), None))

    def _hear_lease(self, change: Change) -> None:
        if change.new.key[1] == "koord-scheduler":
            holder = change.new.obj["spec"].get("holderIdentity") or ""
            if holder != self._holder:
                self._holder = holder
                self.surprises.mishap()

    def _hear_pod(self, change: Change) -> None:
        pod, uid = change.new.obj, change.new.obj["metadata"]["uid"]
        before, node = self._nodes_of.get(uid, ""), node_of(pod)
        if before and node != before:
            self.wrong.append(f"{key_of(pod)} was on {before} and is on {node or 'no node'} now")
        if node and not before and change.kind != "DELETED":
            self._nodes_of[uid], self._bound_at[uid] = node, _now()
            if is_ours(pod):
                self._look_at_bind(pod, node)
            else:
                self.surprises.for_all()
        self.pieces.look(change)
        self.evictions.look(change)

    # --- a bind of ours ---

    def _look_at_bind(self, pod: Json, node: str) -> None:
        found = self.truth.find("nodes", "", node)
        recent = [has for until, has in self._sizes[node] if until > _now() - LATE_S]
        sizes = [has for has in (*recent, allocatable(found) if found else None) if has is not None]
        if not sizes:
            self.wrong.append(f"{key_of(pod)} was bound to {node}, which is not there")
            return
        most = {key: max(has.get(key, 0) for has in sizes) for key in {key for has in sizes for key in has}}
        for resource, amount in self.truth.used(node, self._known_pods()).items():
            if amount > most.get(resource, 0):
                told = f"{node} has {resource} {most.get(resource, 0)}, and its pods ask for {amount}"
                self.wrong.append(f"{key_of(pod)} was bound: {told}")
        self._look_at_limits(pod)

    def _known_pods(self) -> list[Json]:
        """All of ours, and those of others that were bound long enough ago."""
        since = _now() - LATE_S
        return [pod for pod in self.truth.pods if is_ours(pod) or self._bound_at.get(pod["metadata"]["uid"], 0) < since]

    def _look_at_limits(self, pod: Json) -> None:
        for queue in self.truth.queue_path(queue_of(pod)):
            name = queue["metadata"]["name"]
            limits = [limit for until, limit in self._limits[name] if until > _now() - LATE_S]
            limits.append(limit_of(queue))
            if None in limits:
                continue
            most, has = max(limit for limit in limits if limit is not None), self.truth.allocated(name)
            if has > most:
                self.wrong.append(f"{key_of(pod)} was bound: queue {name} has a limit of {most}, and now has {has}")


def _write_to_pod(machine: Machine, method: str, path: str, body: bytes) -> tuple[str, str, str] | None:
    """A bind or a deletion of a pod: who, which, and the pod's UID."""
    if path.endswith("/binding"):
        return machine.name, "binding", msgspec.json.decode(body)["metadata"]["uid"]
    if method == "DELETE" and "/pods/" in path and body and b"dryRun" not in body and "dryRun" not in path:
        return machine.name, "DELETE", (msgspec.json.decode(body).get("preconditions") or {}).get("uid", "")
    return None


def _is_worse(after: Json, before: Json) -> bool:
    """Smaller, closed, or in another rack: of a node."""
    had, has = allocatable(before), allocatable(after)
    rack = [(node["metadata"].get("labels") or {}).get(RACK) for node in (before, after)]
    closed = [bool(node["spec"].get("unschedulable") or node["spec"].get("taints")) for node in (before, after)]
    return rack[0] != rack[1] or closed[1] > closed[0] or any(has.get(key, 0) < amount for key, amount in had.items())


def _parent_of(queue: Json) -> str:
    return queue["spec"].get("parentQueue") or ""


def _is_told(pod: Json) -> bool:
    return condition(pod, "DisruptionTarget").get("status") == "True"


def _now() -> float:
    return asyncio.get_running_loop().time()
