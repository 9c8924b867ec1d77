"""What users do with queues, and what became of it."""

from __future__ import annotations

import asyncio
from typing import Any

from koordpy.api.queue import GROUP
from koordpy.app.crds import definitions
from tests.builders import Json, pod_json
from tests.controllers.world import SETTLED_S, World

QUEUES = f"/apis/{GROUP}/v2/queues"
RUN_AI_POD_GROUPS = f"/apis/{GROUP}/v2alpha2/namespaces/default/podgroups"
PODS = "/api/v1/namespaces/default/pods"
LABEL = "kai.scheduler/queue"
GPU = "nvidia.com/gpu"


def definition() -> Json:
    (found,) = [each for each in definitions() if each["metadata"]["name"] == f"queues.{GROUP}"]
    return found


def kais_definition() -> Json:
    """As KAI's: no defaults, no validation, conditions without a generation."""
    number = {"type": "number"}
    block = {"type": "object", "properties": {"quota": number, "limit": number, "overQuotaWeight": number}}
    amounts = {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}}
    condition = {
        name: {"type": "string"}
        for name in ("type", "status", "reason", "message", "lastTransitionTime", "lastProbeTime")
    }
    spec = {
        name: {"type": "string"} for name in ("displayName", "parentQueue", "preemptMinRuntime", "reclaimMinRuntime")
    }
    spec |= {
        "priority": {"type": "integer"},
        "resources": {"type": "object", "properties": {"gpu": block, "cpu": block, "memory": block}},
    }
    status = {
        "allocated": amounts,
        "allocatedNonPreemptible": amounts,
        "requested": amounts,
        "childQueues": {"type": "array", "items": {"type": "string"}},
        "conditions": {"type": "array", "items": {"type": "object", "properties": condition}},
    }
    return _definition("queues", "Queue", "v2", "Cluster", {"spec": spec, "status": status})


def run_ai_pod_groups() -> Json:
    spec = {"minMember": {"type": "integer"}}
    spec |= {name: {"type": "string"} for name in ("queue", "preemptibility", "priorityClassName")}
    return _definition("podgroups", "PodGroup", "v2alpha2", "Namespaced", {"spec": spec})


def _definition(plural: str, kind: str, version: str, scope: str, parts: dict[str, Json]) -> Json:
    properties = {name: {"type": "object", "properties": fields} for name, fields in parts.items()}
    served = {
        "name": version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": scope,
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            "versions": [served],
        },
    }


def queue_json(name: str, parent: str = "", **spec: Any) -> Json:
    given = {"parentQueue": parent} if parent else {}
    return {"apiVersion": f"{GROUP}/v2", "kind": "Queue", "metadata": {"name": name}, "spec": given | spec}


def pod_in(queue: str, name: str, gpus: int = 1, **more: Any) -> Json:
    return pod_json(name, cpu=1, labels={LABEL: queue} if queue else None, nvidia__com_gpu=gpus, **more)


def run_ai_group(name: str, queue: str = "", **spec: Any) -> Json:
    given = ({"queue": queue} if queue else {}) | {"minMember": 1} | spec
    return {"apiVersion": f"{GROUP}/v2alpha2", "kind": "PodGroup", "metadata": {"name": name}, "spec": given}


async def add(world: World, *queues: Json) -> None:
    for each in queues:
        await world.cluster.create(QUEUES, each)


async def status_of(world: World, name: str, seconds: float = SETTLED_S) -> Json:
    await asyncio.sleep(seconds)
    return (await world.ask("GET", f"{QUEUES}/{name}")).get("status", {})


async def events(world: World) -> list[tuple[str, str, str, str]]:
    found = await world.ask("GET", "/apis/events.k8s.io/v1/namespaces/default/events")
    return [(e["type"], e["reason"], e["regarding"]["name"], e["note"]) for e in found["items"]]


def ready(status: Json) -> tuple[str, str]:
    (found,) = [condition for condition in status.get("conditions", []) if condition["type"] == "Ready"]
    return found["status"], found["reason"]


def queue_writes(world: World) -> list[str]:
    return [path for path in world.writes() if path.startswith(QUEUES)]
