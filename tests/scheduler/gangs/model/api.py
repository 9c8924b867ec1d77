"""The API server as a scheduler meets it: answers take their time, and requests or answers are lost on the way."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from koordpy.kube.errors import Conflict, Forbidden, Invalid, NotFound, Unavailable
from tests.builders import Json
from tests.scheduler.gangs.model.oracle import is_gated, is_terminating, node_of, uid_of
from tests.scheduler.gangs.model.temper import Temper
from tests.scheduler.gangs.model.truth import PODS, Truth, key_of

_FAULTS = ("request lost", "answer lost")
_FAULTS_OF_BINDS = (*_FAULTS, "conflict", "forbidden")


@dataclass
class Bind:
    """One that is under way."""

    key: str  # of the pod
    uid: str
    accepted: bool = False  # and the scheduler was told


class Api:
    """Stands where koordpy's client would; everything that it ever writes comes through here."""

    def __init__(
        self,
        truth: Truth,
        rng: random.Random,
        temper: Temper,
        on_bind: Callable[[Json, str], None],
        may_be_deleted: Callable[[str], bool],
    ) -> None:
        self._truth, self._rng, self._temper, self._on_bind = truth, rng, temper, on_bind
        self._may_be_deleted = may_be_deleted
        self.under_way: list[asyncio.Future[None]] = []
        self.is_calm = False  # nothing is lost or late
        self.binds: dict[Any, Bind] = {}  # by the task that waits for it
        self.wrong: list[str] = []

    # --- what koordpy calls ---

    async def write(self, method: str, path: str, body: Any, **_: object) -> bytes:
        is_bind = path.endswith("/binding")
        if is_bind:
            meta = body["metadata"]
            self.binds[asyncio.current_task()] = Bind(f"{meta['namespace']}/{meta['name']}", meta["uid"])
        is_well = self.is_calm or self._rng.random() >= self._temper.faulty
        fate = "" if is_well else self._rng.choice(_FAULTS_OF_BINDS if is_bind else _FAULTS)
        await self._travel()
        match fate:
            case "request lost":
                raise Unavailable("no answer")
            case "conflict":
                raise Conflict("somebody was faster, or a webhook says so")
            case "forbidden":
                asked = self._pod(path.removesuffix("/binding"))  # about one that is gone, nobody is asked
                if asked["metadata"]["uid"] != body["metadata"]["uid"]:
                    raise Conflict("another pod of that name")
                raise Forbidden("a webhook says no", status=403)
        self._apply(method, path, body)
        await self._travel()
        if fate == "answer lost":
            raise Unavailable("no answer")
        if is_bind:
            self.binds[asyncio.current_task()].accepted = True
        return b"{}"

    async def get_patiently(self, path: str) -> bytes:
        await self._travel()
        return msgspec.json.encode(self._pod(path))

    async def _travel(self) -> None:
        if not self.is_calm and self._rng.random() < self._temper.slow:
            gate: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.under_way.append(gate)
            await gate

    def arrive(self) -> bool:
        """One request or answer gets there."""
        while self.under_way:
            gate = self.under_way.pop(self._rng.randrange(len(self.under_way)))
            if not gate.done():
                gate.set_result(None)
                return True
        return False

    # --- what it does ---

    def _apply(self, method: str, path: str, body: Json) -> None:
        if "/events" in path:
            return
        if method == "POST" and path.endswith("/binding"):
            self._bind(self._pod(path.removesuffix("/binding")), body)
        elif method == "PATCH" and path.endswith("/status") and "resourceVersion" not in body["metadata"]:
            self._tell_victim(self._pod(path.removesuffix("/status")), body)
        elif method == "DELETE":
            self._evict(self._pod(path), body)
        elif method == "PATCH" and path.endswith("/status"):
            self._set_condition(self._pod(path.removesuffix("/status")), body)
        elif method == "PATCH":
            self._annotate(self._pod(path), body)
        else:
            self.wrong.append(f"{method} {path} is none of a scheduler's business")

    def _pod(self, path: str) -> Json:
        _, namespace, _, name = path.rsplit("/", 3)
        pod = self._truth.objects[PODS].get(f"{namespace}/{name}")
        if pod is None:
            raise NotFound("no such pod")
        return pod

    def _bind(self, pod: Json, body: Json) -> None:
        if pod["metadata"]["uid"] != body["metadata"]["uid"]:
            raise Conflict("another pod of that name")
        if node_of(pod) or is_terminating(pod) or is_gated(pod):
            raise Conflict("bound, terminating or gated")
        node = body["target"]["name"]
        self._on_bind(pod, node)
        pod["spec"]["nodeName"] = node
        pod.setdefault("status", {})["conditions"] = [{"type": "PodScheduled", "status": "True"}]
        self._truth.changed(PODS, pod)

    def _set_condition(self, pod: Json, body: Json) -> None:
        if pod["metadata"]["resourceVersion"] != body["metadata"]["resourceVersion"]:
            raise Conflict("changed since")
        if node_of(pod):
            self.wrong.append(f"{pod['metadata']['name']} is bound, and is told that it is not")
        pod.setdefault("status", {})["conditions"] = body["status"]["conditions"]
        self._truth.changed(PODS, pod)

    def _tell_victim(self, pod: Json, body: Json) -> None:
        if pod["metadata"]["uid"] != body["metadata"]["uid"]:
            raise Invalid("another pod of that name", status=422)
        told = body["status"]["conditions"]
        others = [each for each in pod.get("status", {}).get("conditions", ()) if each["type"] != told[0]["type"]]
        pod.setdefault("status", {})["conditions"] = others + told
        self._truth.changed(PODS, pod)

    def _evict(self, pod: Json, body: Json) -> None:
        """It is gone at once, or has a grace period."""
        uid = uid_of(pod)
        if uid != body["preconditions"]["uid"]:
            raise Conflict("another pod of that name")
        if not self._may_be_deleted(uid):
            self.wrong.append(f"{uid} is deleted, and nobody decided that")
        if not any(each["type"] == "DisruptionTarget" for each in pod.get("status", {}).get("conditions", ())):
            self.wrong.append(f"{uid} is deleted before it is told")
        if self._rng.random() < 0.5:
            self._truth.delete(PODS, key_of(pod))
        elif not is_terminating(pod):
            pod["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
            self._truth.changed(PODS, pod)

    def _annotate(self, pod: Json, body: Json) -> None:
        if pod["metadata"]["uid"] != body["metadata"]["uid"]:
            raise Invalid("another pod of that name", status=422)
        annotations = pod["metadata"].setdefault("annotations", {})
        if annotations | body["metadata"]["annotations"] != annotations:
            annotations |= body["metadata"]["annotations"]
            self._truth.changed(PODS, pod)
