"""What is true at the API server: JSON objects, and for each kind what a watch has not been told yet."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable
from typing import Any

from koordpy.api.decode import Decoder
from koordpy.api.node import Node
from koordpy.api.pod import Pod
from koordpy.api.podgroup.coscheduling import PodGroup
from koordpy.api.podgroup.kai import API_VERSION, KaiPodGroup
from koordpy.api.times import instant_of_seconds
from koordpy.kube.watch.reflector import Reflector, Resource
from tests.builders import Json, typed
from tests.scheduler.gangs.model.oracle import APIS, KAI_API, uid_of
from tests.scheduler.gangs.rig import GangRig

PODS, NODES = "pods", "nodes"
KINDS = (PODS, NODES, *APIS)
_STRUCTS: dict[str, Any] = {PODS: Pod, NODES: Node, KAI_API: KaiPodGroup} | dict.fromkeys(APIS, PodGroup)

Objects = dict[str, dict[str, Json]]  # kind -> namespace/name -> object


class Truth:
    """The objects, and who is told about them."""

    def __init__(self, clock: Callable[[], float], *, has_kai: bool = False) -> None:
        self._clock = clock
        self._number = 0
        self.kinds = (*KINDS, KAI_API) if has_kai else KINDS
        self.objects: Objects = {kind: {} for kind in self.kinds}
        self.news: dict[str, deque[tuple[str, Json | None]]] = {kind: deque() for kind in self.kinds}

    def pods(self) -> dict[str, Json]:
        """By UID."""
        return {uid_of(pod): pod for pod in self.objects[PODS].values()}

    def create(self, kind: str, obj: Json) -> None:
        """Every object gets a UID of its own, also one whose name was there before."""
        self._number += 1
        meta = obj["metadata"]
        meta |= {
            "uid": f"{meta['name']}#{self._number}",
            "creationTimestamp": instant_of_seconds(self._clock()),
        }
        self.changed(kind, obj)

    def changed(self, kind: str, obj: Json) -> None:
        self._number += 1
        obj["metadata"]["resourceVersion"] = str(self._number)
        self.objects[kind][key_of(obj)] = obj
        self.news[kind].append((key_of(obj), copy.deepcopy(obj)))

    def finish(self, pod: Json, phase: str) -> None:
        """Its containers have ended."""
        ended = {"terminated": {"finishedAt": instant_of_seconds(self._clock())}}
        pod.setdefault("status", {}).update(phase=phase, containerStatuses=[{"name": "c", "state": ended}])
        self.changed(PODS, pod)

    def delete(self, kind: str, key: str) -> None:
        del self.objects[kind][key]
        self.news[kind].append((key, None))


class Watches:
    """One scheduler's watches, each in order and none knowing of the others; and what it was told so far."""

    def __init__(self, truth: Truth, rig: GangRig, on_news: Callable[[str, Json | None, Json | None], None]) -> None:
        sinks: dict[str, Any] = {PODS: rig.pods, NODES: rig.nodes} | rig.pod_groups
        sinks[KAI_API] = rig.built.sinks.gang_objects[API_VERSION]
        self._truth, self._on_news = truth, on_news
        self.seen: Objects = {kind: {} for kind in truth.kinds}
        self._reflectors: dict[str, Reflector[Any]] = {}
        for kind in truth.kinds:
            nowhere: Any = None
            resource = Resource(f"/{kind}", Decoder(kind, _STRUCTS[kind]))
            self._reflectors[kind] = Reflector(nowhere, resource, sinks[kind])

    def deliver(self, kind: str) -> None:
        """The next piece of news."""
        key, obj = self._truth.news[kind].popleft()
        self._tell(kind, key, obj)

    def relist(self, kind: str) -> None:
        """The watch broke and everything is listed: whatever came and went meanwhile is never heard of."""
        self._truth.news[kind].clear()
        objects = self._truth.objects[kind]
        for key, obj in objects.items():
            self._tell(kind, key, copy.deepcopy(obj))
        for key in sorted(self.seen[kind].keys() - objects.keys()):
            self._tell(kind, key, None)

    def _tell(self, kind: str, key: str, obj: Json | None) -> None:
        seen, reflector = self.seen[kind], self._reflectors[kind]
        before = seen.pop(key, None)
        if before is not None and obj is not None and before["metadata"].get("uid") != obj["metadata"].get("uid"):
            self._on_news(kind, before, None)  # another one of the name, of which a list says nothing but that
            before = None
        if obj is not None:
            seen[key] = obj
        self._on_news(kind, before, obj)
        if obj is not None:
            reflector._changed(typed(obj, _STRUCTS[kind]))
        else:
            reflector._gone(key)
        assert not reflector._sinks.failures, "a sink raised, and the reflector went on: see the log"


def key_of(obj: Json) -> str:
    meta = obj["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else str(meta["name"])
