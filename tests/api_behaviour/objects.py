"""The smallest objects that the API accepts, for tests that add only what they are about."""

from tests.controlplane.client import Json


def pod(name: str, *, meta: Json | None = None, **spec: object) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **(meta or {})},
        "spec": {"containers": [container()], **spec},
    }


def container(**fields: object) -> Json:
    return {"name": "main", "image": "none", **fields}


def node(name: str, **labels: str) -> Json:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def lease(name: str, holder: str) -> Json:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15},
    }


def event(name: str, regarding: str) -> Json:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name},
        "eventTime": "2026-01-02T03:04:05.000006Z",
        "reportingController": "koordpy",
        "reportingInstance": "koordpy-0",
        "action": "Scheduling",
        "reason": "FailedScheduling",
        "type": "Warning",
        "note": "0/1 nodes are available",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "name": regarding},
    }


def priority_class(name: str, value: int, **fields: object) -> Json:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        **fields,
    }


def disruption_budget(name: str, labels: dict[str, str], **spec: object) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": labels}, **spec},
    }


def definition(kind: str, *, status_subresource: bool) -> Json:
    singular = kind.lower()
    size = {"type": "object", "properties": {"size": {"type": "integer"}}}
    phase = {"type": "object", "properties": {"phase": {"type": "string"}}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": size, "status": phase}}},
        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
        **({"subresources": {"status": {}}} if status_subresource else {}),
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{singular}s.koordpy.test"},
        "spec": {
            "group": "koordpy.test",
            "scope": "Namespaced",
            "names": {"plural": f"{singular}s", "singular": singular, "kind": kind, "listKind": f"{kind}List"},
            "versions": [version],
        },
    }


def custom(kind: str, name: str, **fields: object) -> Json:
    return {"apiVersion": "koordpy.test/v1", "kind": kind, "metadata": {"name": name}, **fields}
