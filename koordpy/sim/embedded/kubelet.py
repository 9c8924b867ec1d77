"""Simulated kubelets: bound pods start, finish if asked to, and go when deleted.

One task plays the kubelets of all nodes: a heap of what is due, fed by the store's changes. They write
beneath the HTTP API and its faults, by the same rules. A pod bound to a node that does not exist has no
kubelet: `workloads/podgc.py` sees to it.
"""

from __future__ import annotations

import asyncio
import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from koordpy.sim.embedded import lifecycle, namespaces
from koordpy.sim.embedded.strategies import strategy_of

if TYPE_CHECKING:
    from koordpy.sim.embedded.backend import Backend
    from koordpy.sim.embedded.store import Change, Stored

Obj = dict[str, Any]

RUN_SECONDS = "embedded.koordpy.io/run-seconds"
EXIT_CODE = "embedded.koordpy.io/exit-code"
_TERMINATED = 143  # the exit code of a program that ends by SIGTERM
_BURST = 200  # writes between two yields to the loop, so that a wave of starts does not stall requests


@dataclass(frozen=True, slots=True)
class Timing:
    """How fast simulated containers are, in seconds."""

    start: float = 0.5
    termination: float = 1.0  # from the signal to the end; never longer than the pod's grace period


class Kubelets:
    def __init__(self, backend: Backend, timing: Timing | None = None) -> None:
        self._backend = backend
        self._timing = timing or Timing()
        self._due: list[tuple[float, int, str, str, Stored]] = []
        self._planned: set[tuple[str, str]] = set()
        self._wake = asyncio.Event()
        self._order = 0
        self._addresses = 0

    async def run(self) -> None:
        """Play the kubelets until cancelled."""
        store = self._backend.store
        unsubscribe = (store.subscribe("pods", self._hear), store.subscribe("nodes", self._hear_node))
        try:
            for stored in store.items("pods"):
                self._consider(stored)
            while True:
                await self._act_on_due(await self._wait())
        finally:
            for each in unsubscribe:
                each()

    async def _wait(self) -> float:
        """Until something is due or new; returns the time it is."""
        self._wake.clear()
        due = self._due[0][0] if self._due else None
        try:
            async with asyncio.timeout_at(due):
                await self._wake.wait()
        except TimeoutError:  # the clock is not asked: it may be a hair early, and stand still in tests
            return due or 0.0
        return asyncio.get_running_loop().time()

    async def _act_on_due(self, now: float) -> None:
        done = 0
        while self._due and self._due[0][0] <= now:
            _, _, uid, action, seen = heapq.heappop(self._due)
            self._planned.discard((uid, action))
            self._act(action, uid, seen)
            done += 1
            if done % _BURST == 0:
                await asyncio.sleep(0)

    def _hear(self, change: Change) -> None:
        if change.kind != "DELETED":
            self._consider(change.new)

    def _hear_node(self, change: Change) -> None:
        """A node that is back has a kubelet again, which goes on with its pods."""
        for stored in self._backend.store.items("pods") if change.kind == "ADDED" else ():
            if stored.obj["spec"].get("nodeName") == change.new.key[1]:
                self._consider(stored)

    def _consider(self, stored: Stored) -> None:
        """Plan what the kubelet of the pod's node does next."""
        pod = stored.obj
        if not pod["spec"].get("nodeName"):
            return
        metadata, phase = pod["metadata"], pod["status"].get("phase")
        if "deletionTimestamp" in metadata:
            granted = metadata.get("deletionGracePeriodSeconds", 0)
            self._plan("remove", stored, min(granted, self._timing.termination))
        elif phase == "Pending":
            self._plan("start", stored, self._timing.start)
        elif phase == "Running":
            seconds = _number(metadata, RUN_SECONDS)
            if seconds is not None:
                self._plan("finish", stored, seconds)

    def _plan(self, action: str, stored: Stored, delay: float) -> None:
        uid = stored.obj["metadata"]["uid"]
        if (uid, action) in self._planned:
            return
        self._planned.add((uid, action))
        self._order += 1
        at = asyncio.get_running_loop().time() + delay
        heapq.heappush(self._due, (at, self._order, uid, action, stored))
        self._wake.set()

    def _act(self, action: str, uid: str, seen: Stored) -> None:
        """Do what was planned, unless the pod or its node has changed so that it no longer applies."""
        store = self._backend.store
        stored = store.get("pods", *seen.key)
        if stored is None or stored.obj["metadata"]["uid"] != uid:
            return
        if store.get("nodes", "", stored.obj["spec"]["nodeName"]) is None:
            return
        if action == "remove":
            self._remove(stored)
        elif "deletionTimestamp" in stored.obj["metadata"]:
            return
        elif action == "start" and stored.obj["status"].get("phase") == "Pending":
            store.replace(stored, {**stored.obj, "status": self._running(stored.obj)})
        elif action == "finish" and stored.obj["status"].get("phase") == "Running":
            code = int(_number(stored.obj["metadata"], EXIT_CODE) or 0)
            store.replace(stored, {**stored.obj, "status": self._ended(stored.obj, code)})

    def _remove(self, stored: Stored) -> None:
        """First the end of its containers, for whoever still holds the pod by a finalizer, then the pod."""
        if stored.obj["status"].get("phase") not in ("Succeeded", "Failed"):
            ended = {**stored.obj, "status": self._ended(stored.obj, _TERMINATED)}
            stored = self._backend.store.replace(stored, ended)
        strategy = strategy_of(self._backend.registry.by_path["", "v1", "pods"])
        _, gone = lifecycle.delete(self._backend, stored, strategy, {"gracePeriodSeconds": 0})
        if gone:
            namespaces.sweep(self._backend, stored.key[0])

    def _running(self, pod: Obj) -> Obj:
        now = self._backend.now()
        self._addresses += 1
        address = _address(self._addresses)
        states = [_container_status(c, {"running": {"startedAt": now}}) for c in pod["spec"]["containers"]]
        return {
            **pod["status"],
            "phase": "Running",
            "startTime": now,
            "podIP": address,
            "podIPs": [{"ip": address}],
            "conditions": _conditions(pod, now, ready=True),
            "containerStatuses": states,
        }

    def _ended(self, pod: Obj, code: int) -> Obj:
        now = self._backend.now()
        ended = {"exitCode": code, "reason": "Error" if code else "Completed", "finishedAt": now}
        ended["startedAt"] = pod["status"].get("startTime", now)
        states = [_container_status(c, {"terminated": ended}) for c in pod["spec"]["containers"]]
        return {
            **pod["status"],
            "phase": "Failed" if code else "Succeeded",
            "conditions": _conditions(pod, now, ready=False),
            "containerStatuses": states,
        }


def _number(metadata: Obj, annotation: str) -> float | None:
    """The annotation as a number; one that is none is ignored, as any unknown annotation is."""
    try:
        return float((metadata.get("annotations") or {})[annotation])
    except (KeyError, ValueError):
        return None


def _address(number: int) -> str:
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def _container_status(container: Obj, state: Obj) -> Obj:
    running = "running" in state
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": f"simulated://{container['image']}",
        "containerID": f"simulated://{container['name']}",
        "ready": running,
        "started": running,
        "restartCount": 0,
        "state": state,
        "lastState": {},
    }


def _conditions(pod: Obj, now: str, *, ready: bool) -> list[Obj]:
    """The kubelet's own conditions, beside those that others wrote; unchanged ones keep their time."""
    before = {condition["type"]: condition for condition in pod["status"].get("conditions") or ()}
    wanted = {"PodScheduled": True, "Initialized": True, "ContainersReady": ready, "Ready": ready}
    for kind, holds in wanted.items():
        status = "True" if holds else "False"
        if before.get(kind, {}).get("status") != status:
            condition = {"type": kind, "status": status, "lastProbeTime": None, "lastTransitionTime": now}
            before[kind] = condition if holds else condition | {"reason": "PodCompleted"}
    return list(before.values())
