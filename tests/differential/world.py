"""What surrounds every case and stays for the whole run: namespaces, Services, owners and classes of pods.

It is made once. kube-scheduler reads these kinds without a word in its log, so a case that changed them could not
know when they have arrived. The recordings in regressions/ are of this world: add to it what leaves them as they are.
"""

from typing import Any

from tests.differential.storage import storage_world

Json = dict[str, Any]

NAMESPACES = {
    "diff-a": {"team": "red", "env": "prod"},
    "diff-b": {"team": "blue", "env": "prod"},
    "diff-c": {"team": "blue"},
}
NAMESPACE_OF_PROMISED = "diff-promised"
SELECTORS = {
    # namespace: selectors of its Services; two of them may match the same pod, and then both count
    "diff-a": [{"app": "web"}, {"tier": "front"}],
    "diff-b": [{"app": "db", "tier": "back"}],
    "diff-c": [],
}
OWNED = {"diff-a": {"app": "db"}, "diff-b": {"app": "web"}, "diff-c": {"app": "cache"}}
OWNER = "workers"
OWNERS = {
    "ReplicaSet": ("apis/apps/v1/replicasets", "apps/v1"),
    "StatefulSet": ("apis/apps/v1/statefulsets", "apps/v1"),
    "ReplicationController": ("replicationcontrollers", "v1"),
}
PRIORITIES = {"diff-low": -10, "diff-middle": 10, "diff-high": 1000}
TOP_PRIORITY = "diff-top"
LOWEST_PRIORITY = "diff-lowest"
NEVER, WAITING = "diff-never", "diff-waiting"  # of the highest and of a middle priority; neither evicts anybody
RUNTIME_CLASS = "diff-heavy"
OVERHEAD = {"cpu": "250m", "memory": "120Mi"}
BUDGET = "budget"  # the label that budgets select by
BUDGETS = {
    # name: (selector, how many may go); the second and third overlap, and the last one means nobody to kube-scheduler
    "none": ({"matchLabels": {BUDGET: "none"}}, 0),
    "one": ({"matchLabels": {BUDGET: "one"}}, 1),
    "some": ({"matchExpressions": [{"key": BUDGET, "operator": "In", "values": ["one", "some"]}]}, 2),
    "empty": ({}, 0),
}


def world() -> list[tuple[str, Json]]:
    """Each object with the resource it is created as."""
    namespaces = NAMESPACES | {NAMESPACE_OF_PROMISED: {}}
    objects = [("namespaces", _object("v1", "Namespace", name, labels=labels)) for name, labels in namespaces.items()]
    for namespace, selectors in SELECTORS.items():
        objects += [("services", _service(namespace, number, each)) for number, each in enumerate(selectors)]
    for namespace, labels in OWNED.items():
        objects += [(resource, _owner(kind, namespace, labels)) for kind, (resource, _) in OWNERS.items()]
        objects += [("poddisruptionbudgets", _budget(namespace, name)) for name in BUDGETS]
    for name, value in {**PRIORITIES, LOWEST_PRIORITY: -100, TOP_PRIORITY: 2000}.items():
        objects.append(("priorityclasses", _priority_class(name, value)))
    for name, value in {NEVER: 2000, WAITING: 10}.items():
        objects.append(("priorityclasses", _priority_class(name, value) | {"preemptionPolicy": "Never"}))
    objects += storage_world()
    runtime = {"handler": "heavy", "overhead": {"podFixed": OVERHEAD}}
    objects.append(("runtimeclasses", _object("node.k8s.io/v1", "RuntimeClass", RUNTIME_CLASS) | runtime))
    return objects


def _object(version: str, kind: str, name: str, **metadata: Any) -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}}


def _priority_class(name: str, value: int) -> Json:
    return _object("scheduling.k8s.io/v1", "PriorityClass", name) | {"value": value}


def _budget(namespace: str, name: str) -> Json:
    """The API server takes its status only afterwards; nobody else counts healthy pods here."""
    selector, allowed = BUDGETS[name]
    status = {"disruptionsAllowed": allowed, "currentHealthy": 5, "desiredHealthy": 5 - allowed, "expectedPods": 5}
    budget = _object("policy/v1", "PodDisruptionBudget", f"budget-{name}", namespace=namespace)
    return budget | {"spec": {"selector": selector, "minAvailable": 5 - allowed}, "status": status}


def _service(namespace: str, number: int, selector: dict[str, str]) -> Json:
    service = _object("v1", "Service", f"service-{number}", namespace=namespace)
    return service | {"spec": {"selector": selector, "clusterIP": "None", "ports": [{"port": 80}]}}


def _owner(kind: str, namespace: str, labels: dict[str, str]) -> Json:
    """Each kind says the same in its own way."""
    selectors: dict[str, Json] = {
        "ReplicaSet": {"matchLabels": labels},
        "StatefulSet": {"matchExpressions": [{"key": k, "operator": "In", "values": [v]} for k, v in labels.items()]},
        "ReplicationController": labels,
    }
    container = {"name": "main", "image": "example.com/image:1"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 3, "selector": selectors[kind], "template": template}
    return _object(OWNERS[kind][1], kind, OWNER, namespace=namespace) | {"spec": spec}
