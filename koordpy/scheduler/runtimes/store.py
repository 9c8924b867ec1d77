"""Keeps what was learnt in one ConfigMap, so that a restart does not forget it. Only the leader writes.

What was learnt since the last write is lost when the process dies: some minutes of run times, and nothing depends on
them but guesses. So it is written seldom, and never in the way of anything.
"""

from __future__ import annotations

import asyncio

import msgspec
import structlog

from koordpy.kube.client import MERGE_PATCH, Client
from koordpy.kube.errors import ApiError, NotFound
from koordpy.scheduler.acts import Act, unrecorded
from koordpy.scheduler.runtimes.learnt import LearntRunTimes

NAME = "koordpy-run-times"
_KEY = "seconds"
_WRITE_EVERY_S = 300.0

log = structlog.get_logger()


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] = {}


class RunTimeStore:
    """`run` while this process leads."""

    def __init__(self, client: Client, learnt: LearntRunTimes, namespace: str, act: Act = unrecorded) -> None:
        self._client, self._learnt, self._act = client, learnt, act
        self._collection = f"/api/v1/namespaces/{namespace}/configmaps"
        self._written = 0  # of `LearntRunTimes.changes`

    async def run(self) -> None:
        """Read what there is, then write what is new from time to time, until cancelled."""
        await self._read()
        while True:
            await asyncio.sleep(_WRITE_EVERY_S)
            if self._learnt.changes != self._written:
                await self._write()

    async def _read(self) -> None:
        try:
            found = msgspec.json.decode(await self._client.get(f"{self._collection}/{NAME}"), type=_ConfigMap)
            text = found.data.get(_KEY, "{}")
            self._act(("run_times", text), lambda: self._learnt.restore(text))
        except NotFound:
            return
        except (ApiError, msgspec.DecodeError) as error:
            log.warning("run_times_not_read", configmap=NAME, problem=str(error), hint="expected starts know less")

    async def _write(self) -> None:
        changes = self._learnt.changes
        body = {"metadata": {"name": NAME}, "data": {_KEY: self._learnt.encode()}}
        try:
            try:
                await self._client.write("PATCH", f"{self._collection}/{NAME}", body, content_type=MERGE_PATCH)
            except NotFound:
                await self._client.write("POST", self._collection, {"apiVersion": "v1", "kind": "ConfigMap"} | body)
        except ApiError as error:
            log.warning("run_times_not_written", configmap=NAME, problem=str(error), hint="tried again later")
        else:
            self._written = changes
