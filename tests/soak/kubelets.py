"""Kubelets for nodes that have none: bound pods run for as long as they say, and deleted ones go after a moment."""

from __future__ import annotations

import asyncio
import contextlib

import aiohttp

from koordpy.sim.embedded.kubelet import RUN_SECONDS
from koordpy.sim.simulate.truth import is_finished, is_terminating, node_of
from tests.controlplane.client import Client
from tests.soak.judge import Json

START_S = 0.5
TERMINATION_S = 1.0
WIDTH = 16  # writes in flight
ATTEMPTS = 5


class Kubelets:
    """`hear` every version of every pod; the writes are tasks of `group`."""

    def __init__(self, client: Client, group: asyncio.TaskGroup) -> None:
        self._client, self._group = client, group
        self._width = asyncio.Semaphore(WIDTH)
        self._planned: set[tuple[str, str]] = set()  # UID and action

    def hear(self, pod: Json) -> None:
        meta, phase = pod["metadata"], pod["status"].get("phase")
        if not node_of(pod):
            return
        if is_terminating(pod):
            if meta.get("deletionGracePeriodSeconds") != 0:
                self._plan("remove", pod, TERMINATION_S)
        elif phase == "Pending":
            self._plan("start", pod, START_S)
        elif phase == "Running" and not is_finished(pod):
            seconds = (meta.get("annotations") or {}).get(RUN_SECONDS)
            if seconds is not None:
                self._plan("finish", pod, float(seconds))

    def forget(self, pod: Json) -> None:
        for action in ("remove", "start", "finish"):
            self._planned.discard((pod["metadata"]["uid"], action))

    def _plan(self, action: str, pod: Json, delay_s: float) -> None:
        key = pod["metadata"]["uid"], action
        if key not in self._planned:
            self._planned.add(key)
            self._group.create_task(self._act(action, pod["metadata"], delay_s))

    async def _act(self, action: str, meta: Json, delay_s: float) -> None:
        await asyncio.sleep(delay_s)
        for _ in range(ATTEMPTS):
            async with self._width:
                with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                    if action == "remove":
                        await self._client.delete("pods", meta["name"], grace=0, uid=meta["uid"])
                    else:
                        body = {"metadata": {"uid": meta["uid"]}, "status": _status(finished=action == "finish")}
                        await self._client.patch("pods", meta["name"], body, subresource="status", how="strategic")
                    return
            await asyncio.sleep(1.0)


def _status(*, finished: bool) -> Json:
    ready = {"type": "Ready", "status": "False" if finished else "True"}
    return {"phase": "Succeeded" if finished else "Running", "conditions": [ready]}
