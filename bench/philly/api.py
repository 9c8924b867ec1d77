"""As much of an API server as one scheduler writes to, in memory and without latency; kubelets are the same object.

It takes binds, conditions, annotations, events and deletions, and tells the scheduler's sinks of each change as a
watch would. A bound pod runs for as long as it was told to, and is gone. It keeps nothing but pods.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from koordpy.api.decode import Decoder
from koordpy.api.pod import Pod
from koordpy.api.times import instant_of_seconds
from koordpy.kube.http.transport import Response
from koordpy.scheduler.ingest.sinks import Sinks

Json = dict[str, Any]

PODS = "/api/v1/namespaces/default/pods/"
EPOCH = 1_767_225_600.0  # of virtual time zero, by the wall clock
_decode_pod = Decoder("Pod", Pod)


def wall() -> float:
    """The wall clock of the simulated cluster."""
    return EPOCH + asyncio.get_running_loop().time()


class Api:
    """A transport. `hear` is told what becomes of pods: `bound`, `ended`, `evicted`, `annotated`, with their names."""

    def __init__(self, hear: Callable[[str, Json], None]) -> None:
        self._hear = hear
        self._pods: dict[str, Json] = {}
        self._lasts: dict[str, float] = {}
        self._version = 0
        self._sinks: Sinks | None = None

    def feed(self, sinks: Sinks) -> None:
        """From here on these hear of pods; the scheduler that they belong to needs the transport first."""
        self._sinks = sinks

    # --- users and kubelets ---

    def create(self, pod: Json, lasts_s: float) -> None:
        """A pending pod, which will run for so long."""
        name = pod["metadata"]["name"]
        pod["metadata"] |= {"namespace": "default", "uid": name, "creationTimestamp": instant_of_seconds(wall())}
        self._pods[name], self._lasts[name] = pod, lasts_s
        self._tell(pod)

    def _run(self, pod: Json) -> None:
        """From its start time, which is in whole seconds, as on any cluster."""
        pod["status"] |= {"phase": "Running", "startTime": instant_of_seconds(int(wall()))}
        name = pod["metadata"]["name"]
        asyncio.get_running_loop().call_at(int(wall()) - EPOCH + self._lasts[name], self._end, name, "ended")

    def _end(self, name: str, how: str) -> None:
        pod = self._pods.pop(name, None)
        if pod is not None and self._sinks is not None:
            self._sinks.pods.remove(f"default/{name}", pod["metadata"]["uid"])
            self._sinks.settle_pods()
            self._hear(how, pod)

    def _tell(self, pod: Json) -> None:
        self._version += 1
        pod["metadata"]["resourceVersion"] = str(self._version)
        if self._sinks is not None:
            self._sinks.pods.upsert(_decode_pod(msgspec.json.encode(pod)))
            self._sinks.settle_pods()

    # --- the scheduler ---

    async def send(self, method: str, path: str, body: bytes = b"", **_: object) -> Response:
        """Everything but pods is taken and forgotten: events, annotations of gangs."""
        if not path.startswith(PODS):
            return Response(201, b"{}")
        name, subresource = [*path.removeprefix(PODS).split("/"), ""][:2]
        pod = self._pods.get(name)
        if pod is None:
            return Response(404, b"{}")
        asked = msgspec.json.decode(body) if body else {}
        if subresource == "binding":
            pod["spec"]["nodeName"] = asked["target"]["name"]
            self._run(pod)
            self._tell(pod)
            self._hear("bound", pod)
        elif method == "DELETE" and "dryRun" not in asked:
            self._end(name, "evicted")
        elif method == "PATCH":
            self._patch(pod, asked)
        return Response(200, msgspec.json.encode(pod))

    def _patch(self, pod: Json, asked: Json) -> None:
        changed: Json = asked.get("metadata", {}).get("annotations", {})
        annotations = pod["metadata"]["annotations"] | changed
        pod["metadata"]["annotations"] = {key: value for key, value in annotations.items() if value is not None}
        conditions = {each["type"]: each for each in pod["status"].get("conditions", ())}
        for each in asked.get("status", {}).get("conditions", ()):
            conditions[each["type"]] = each
        pod["status"] |= asked.get("status", {}) | {"conditions": list(conditions.values())}
        self._tell(pod)
        if changed:
            self._hear("annotated", pod)

    @asynccontextmanager
    async def stream(self, path: str, **_: object) -> AsyncIterator[AsyncIterator[bytes]]:
        raise NotImplementedError(f"nobody watches a simulated API server: {path}")
        yield
