"""The definitions of the kinds whose operators are played here. They take any field, and check none of them."""

from __future__ import annotations

from typing import Any

Obj = dict[str, Any]

PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_KINDS = (
    ("kubeflow.org", "v1", "PyTorchJob", "pytorchjobs"),
    ("kubeflow.org", "v2beta1", "MPIJob", "mpijobs"),
    ("ray.io", "v1", "RayCluster", "rayclusters"),
)


def definitions() -> list[Obj]:
    """As the API server takes them."""
    return [_definition(*kind) for kind in _KINDS]


def _definition(group: str, version: str, kind: str, plural: str) -> Obj:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
    state = ".status.state" if kind == "RayCluster" else ".status.conditions[-1:].type"
    columns = [
        {"name": "State", "type": "string", "jsonPath": state},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    served = {
        "name": version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": columns,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            "versions": [served],
        },
    }
