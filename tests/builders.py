"""Builders of API objects for tests: every argument has a sane default, so that a test names only what it is about."""

from __future__ import annotations

import itertools
from typing import Any, TypeVar

import msgspec

from koordpy.api.node import Node
from koordpy.api.pod import Pod

Json = dict[str, Any]
T = TypeVar("T")

_numbers = itertools.count(1)


def node_json(
    name: str = "n1", *, cpu: str | int = 4, memory: str = "32Gi", pods: int = 110, **more: str | int
) -> Json:
    """A node; further arguments are resources: `nvidia__com_gpu=8` is `nvidia.com/gpu`."""
    amounts = {"cpu": str(cpu), "memory": memory, "pods": str(pods)}
    amounts |= {_resource(resource): str(amount) for resource, amount in more.items()}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {},
        "status": {"allocatable": amounts, "capacity": dict(amounts)},
    }


def pod_json(
    name: str = "p1",
    *,
    namespace: str = "default",
    cpu: str | int | None = None,
    memory: str | None = None,
    scheduler: str = "koord-scheduler",
    node: str = "",
    priority: int | None = None,
    **more: str | int,
) -> Json:
    """A pod of one container."""
    requests = {"cpu": cpu, "memory": memory} | {_resource(resource): amount for resource, amount in more.items()}
    spec: Json = {
        "schedulerName": scheduler,
        "containers": [
            {
                "name": "main",
                "image": "example.com/image:1",
                "resources": {"requests": {k: str(v) for k, v in requests.items() if v is not None}},
            }
        ],
    }
    if extended := {k: v for k, v in spec["containers"][0]["resources"]["requests"].items() if "/" in k}:
        spec["containers"][0]["resources"]["limits"] = extended  # the API server insists on it
    if node:
        spec["nodeName"] = node
    if priority is not None:
        spec["priority"] = priority
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def node(name: str = "n1", **arguments: Any) -> Node:
    """A node as the picture takes it."""
    return typed(node_json(name, **arguments), Node)


def pod(name: str = "p1", **arguments: Any) -> Pod:
    """A pod as the picture takes it, with the metadata that an API server adds."""
    return typed(with_identity(pod_json(name, **arguments)), Pod)


def with_identity(obj: Json) -> Json:
    """What the API server puts on an object when it is created."""
    number = next(_numbers)
    obj["metadata"] |= {
        "uid": obj["metadata"].get("uid", f"uid-{number}"),
        "resourceVersion": str(number),
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    return obj


def typed(obj: Json, struct: type[T]) -> T:
    """Through bytes, as from the wire."""
    return msgspec.json.decode(msgspec.json.encode(obj), type=struct)


def _resource(argument: str) -> str:
    return argument.replace("__", ".").replace("_", "/") if "__" in argument else argument.replace("_", "-")
