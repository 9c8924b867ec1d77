"""A stand-in for every kubelet of a cluster that has none: bound pods come up, deleted ones go.

`async with Kubelets(client):` for the tests that want it. It knows nothing about nodes, resources or time: a pod
that is bound runs, whatever it asks for.
"""

import asyncio
import contextlib
import datetime as dt
from typing import Self

import aiohttp

from tests.controlplane.client import Client, Json

WATCH_SECONDS = 300
PAUSE_SECONDS = 0.2  # before listing again after a failure, such as a server that a test has stopped


class Kubelets:
    """Follows all bound pods (of one namespace, if given) until the `async with` block ends."""

    def __init__(self, client: Client, namespace: str = "") -> None:
        self._client = client
        self._namespace = namespace

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._follow(), name="kubelets")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task  # raises what the stand-in died of, which would otherwise be a mystery

    async def _follow(self) -> None:
        while True:
            try:
                await self._list_and_watch()
            except (aiohttp.ClientError, TimeoutError, AssertionError):
                await asyncio.sleep(PAUSE_SECONDS)

    async def _list_and_watch(self) -> None:
        listed = await self._client.list("pods", namespace=self._namespace, fieldSelector="spec.nodeName!=")
        for pod in listed.ok()["items"]:
            await self._tend(pod)
        async with self._client.watch(
            "pods",
            namespace=self._namespace,
            fieldSelector="spec.nodeName!=",
            resourceVersion=listed.body["metadata"]["resourceVersion"],
            timeoutSeconds=WATCH_SECONDS,
        ) as watch:
            while event := await watch.next(timeout=WATCH_SECONDS + 10):
                if event["type"] == "ERROR":
                    return
                if event["type"] != "DELETED":
                    await self._tend(event["object"])

    async def _tend(self, pod: Json) -> None:
        """One step towards what the pod wants; its answer is another event, or 404 for a pod already gone."""
        meta = pod["metadata"]
        if "deletionTimestamp" in meta:
            if meta.get("deletionGracePeriodSeconds") != 0:
                await self._client.delete("pods", meta["name"], namespace=meta["namespace"], grace=0, uid=meta["uid"])
        elif pod["status"].get("phase") == "Pending":
            await self._client.patch(
                "pods", meta["name"], _running(meta["uid"]), namespace=meta["namespace"],
                subresource="status", how="strategic",
            )  # fmt: skip


def _running(uid: str) -> Json:
    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    kinds = ("Initialized", "ContainersReady", "Ready")
    conditions = [{"type": kind, "status": "True", "lastTransitionTime": now} for kind in kinds]
    # The uid makes the patch miss a pod that has been deleted and made again under the same name.
    status = {"phase": "Running", "startTime": now, "conditions": conditions}
    return {"metadata": {"uid": uid}, "status": status}
