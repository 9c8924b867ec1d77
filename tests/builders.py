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
    name: str = "n1",
    *,
    cpu: str | int = 4,
    memory: str = "32Gi",
    pods: int = 110,
    labels: dict[str, str | None] | None = None,
    taints: list[Json] | None = None,
    cordoned: bool = False,
    images: dict[str, int] | None = None,
    **more: str | int,
) -> Json:
    """A node; further arguments are resources: `nvidia__com_gpu=8` is `nvidia.com/gpu`.

    `labels` come on top of the host name, and None takes one away; `images` are names with their bytes.
    """
    amounts = {"cpu": str(cpu), "memory": memory, "pods": str(pods)}
    amounts |= {_resource(resource): str(amount) for resource, amount in more.items()}
    all_labels = {"kubernetes.io/hostname": name} | (labels or {})
    status: Json = {"allocatable": amounts, "capacity": dict(amounts)}
    if images:
        status["images"] = [{"names": [image], "sizeBytes": size} for image, size in images.items()]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {k: v for k, v in all_labels.items() if v is not None}},
        "spec": _given(taints=taints, unschedulable=cordoned),
        "status": status,
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
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    owner: tuple[str, str] | None = None,
    terminating: bool = False,
    node_selector: dict[str, str] | None = None,
    affinity: Json | None = None,
    tolerations: list[Json] | None = None,
    spread: list[Json] | None = None,
    host_ports: list[Json] | None = None,
    image: str = "example.com/image:1",
    **more: str | int,
) -> Json:
    """A pod of one container; `owner` is the kind and name of its controller.

    `tests.plan.constraints` makes affinities, spread constraints and the like.
    """
    requests = {"cpu": cpu, "memory": memory} | {_resource(resource): amount for resource, amount in more.items()}
    spec: Json = {
        "schedulerName": scheduler,
        "containers": [
            {
                "name": "main",
                "image": image,
                "resources": {"requests": {k: str(v) for k, v in requests.items() if v is not None}},
                **_given(ports=host_ports),
            }
        ],
        **_given(
            nodeSelector=node_selector, affinity=affinity, tolerations=tolerations, topologySpreadConstraints=spread
        ),
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
        "metadata": {
            "name": name,
            "namespace": namespace,
            **_given(labels=labels, annotations=annotations),
            **_given(ownerReferences=[_controller(*owner)] if owner else None),
            **_given(deletionTimestamp="2026-01-02T00:00:00Z" if terminating else None),
        },
        "spec": spec,
    }


def node(name: str = "n1", **arguments: Any) -> Node:
    """A node as the state takes it."""
    return typed(node_json(name, **arguments), Node)


def pod(name: str = "p1", **arguments: Any) -> Pod:
    """A pod as the state takes it, with the metadata that an API server adds."""
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


def _given(**fields: Any) -> Json:
    """The fields that say something; an API object leaves out the others."""
    return {name: value for name, value in fields.items() if value}


def _controller(kind: str, name: str) -> Json:
    version = "v1" if kind == "ReplicationController" else "apps/v1"
    return {"apiVersion": version, "kind": kind, "name": name, "uid": f"uid-of-{name}", "controller": True}
