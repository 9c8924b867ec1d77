"""Random pods: those that are already on nodes, and the one that comes in."""

from random import Random
from typing import Any

from tests.differential.affinity import pod_affinity, spread
from tests.differential.features import Features
from tests.differential.nodes import IMAGES, TAINTS
from tests.differential.selectors import NUMBERS, node_selector, node_term, pod_labels
from tests.differential.storage import NAMESPACE, pod_volumes
from tests.differential.world import (
    BUDGET,
    LOWEST_PRIORITY,
    NAMESPACE_OF_PROMISED,
    NAMESPACES,
    NEVER,
    OWNED,
    OWNER,
    OWNERS,
    PRIORITIES,
    RUNTIME_CLASS,
    TOP_PRIORITY,
    WAITING,
)

Json = dict[str, Any]

SOMEBODY_ELSE = "somebody-else"
KUBE_SCHEDULER = "default-scheduler"


def bound_pod(name: str, node: str, rng: Random, features: Features, *, claims: list[str]) -> Json:
    """A pod on a node, which kube-scheduler counts and does not judge: it may well overcommit its node."""
    pod = _pod(name, rng, features, claims)
    pod["spec"] |= {"nodeName": node, "schedulerName": SOMEBODY_ELSE}
    if rng.random() < (0.8 if "preemption" in features else 0.5):
        pod["spec"]["priorityClassName"] = rng.choice(sorted(PRIORITIES))
    if "preemption" in features:
        _enlarge(pod, rng, ["250m", "500m", "900m"])
    if "budgets" in features and rng.random() < 0.6:
        pod["metadata"]["labels"][BUDGET] = rng.choice(["none", "one", "some"])
    if affinity := pod_affinity(rng, pod["metadata"]["labels"], features, chance=0.3):
        pod["spec"]["affinity"] = affinity
    return pod


def incoming_pod(name: str, nodes: list[str], rng: Random, features: Features, *, claims: list[str]) -> Json:
    pod = _pod(name, rng, features, claims)
    spec = pod["spec"]
    spec["schedulerName"] = KUBE_SCHEDULER
    _give_rank(pod, nodes, rng, features)
    if "node-selector" in features:
        spec["nodeSelector"] = node_selector(rng)
    if affinity := _node_affinity(rng, nodes, features) | pod_affinity(
        rng, pod["metadata"]["labels"], features, chance=0.7
    ):
        spec["affinity"] = affinity
    if constraints := spread(rng, pod["metadata"]["labels"], features):
        spec["topologySpreadConstraints"] = constraints
    if {"taints", "unschedulable"} & features:
        spec["tolerations"] = [_toleration(rng) for _ in range(rng.choice([0, 1, 1, 2, 3]))]
    return pod


def _give_rank(pod: Json, nodes: list[str], rng: Random, features: Features) -> None:
    """Whom others may have to leave for, and who was promised a node; else it can preempt nobody."""
    pod["spec"]["priorityClassName"] = LOWEST_PRIORITY
    if "preemption" in features:
        pod["spec"]["priorityClassName"] = rng.choice(["diff-middle", "diff-high", TOP_PRIORITY, TOP_PRIORITY])
        _enlarge(pod, rng, ["900m", "1", "1500m"])
    if "never" in features and rng.random() < 0.5:
        pod["spec"]["priorityClassName"] = NEVER
    # kube-scheduler asks a promised node even if the pod names others, and then tells of all what it heard there.
    if "nominated" in features and rng.random() < 0.4 and "match-fields" not in features:
        pod["status"] = {"nominatedNodeName": rng.choice(nodes)}


def promised_pod(name: str, nodes: list[str], rng: Random, features: Features) -> Json:
    """A pending pod with a promise: no node has the label it asks for, so it keeps waiting, and evicts nobody."""
    pod = incoming_pod(name, nodes, rng, features - {"preemption", "never", "match-fields"}, claims=[])
    spec = pod["spec"]
    spec |= {"priorityClassName": rng.choice([NEVER, WAITING]), "nodeSelector": {"no-such-label": "x"}}
    spec.pop("volumes", None)
    if "far-promises" not in features:  # nor does any rule of another pod reach it in that namespace
        pod["metadata"] = {"name": name, "namespace": NAMESPACE_OF_PROMISED}
        spec.pop("affinity", None)
        spec.pop("topologySpreadConstraints", None)
    pod["status"] = {"nominatedNodeName": rng.choice(nodes)}
    return pod


def _enlarge(pod: Json, rng: Random, amounts: list[str]) -> None:
    """Let it need a good part of a node, so that somebody may have to leave."""
    if "resources" not in pod["spec"] and rng.random() < 0.9:
        requests = pod["spec"]["containers"][0].setdefault("resources", {}).setdefault("requests", {})
        requests["cpu"] = rng.choice(amounts)


def _pod(name: str, rng: Random, features: Features, claims: list[str]) -> Json:
    metadata: Json = {"name": name, "namespace": rng.choice(sorted(NAMESPACES)), "labels": pod_labels(rng)}
    if "default-spread" in features:
        if rng.random() < 0.4:
            metadata["ownerReferences"] = [_owner(rng)]
            metadata["labels"] |= {} if "stolen-pods" in features else OWNED[metadata["namespace"]]
    else:
        metadata["namespace"] = "diff-c"  # no Service selects anything there
    spec: Json = {"containers": [_container(rng, "main", i, features) for i in range(rng.choice([1, 1, 2]))]}
    if "init-containers" in features:
        spec["initContainers"] = [_init_container(rng, i, features) for i in range(rng.randint(0, 3))]
    if "pod-level-resources" in features and rng.random() < 0.6:
        spec["resources"] = {"requests": _pod_level_requests(rng, spec)}
    if "overhead" in features and rng.random() < 0.6:
        spec["runtimeClassName"] = RUNTIME_CLASS
    if volumes := pod_volumes(rng, claims if metadata["namespace"] == NAMESPACE else [], features):
        spec["volumes"] = volumes
    if "image-volumes" in features and rng.random() < 0.5:
        mounted = {"name": "mounted", "image": {"reference": rng.choice(sorted(IMAGES))}}
        spec["volumes"] = [*spec.get("volumes", ()), mounted]
    if "host-ports" in features and rng.random() < 0.1:
        spec["hostNetwork"] = True
        for container in spec["containers"]:
            container["ports"] = [port | {"containerPort": port["hostPort"]} for port in container.get("ports", ())]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _pod_level_requests(rng: Random, spec: Json) -> dict[str, str]:
    """Of some resources at least what the containers ask for together: the API server takes no less."""
    containers = len(spec["containers"]) + len(spec.get("initContainers", ()))
    most = {"cpu": f"{900 * containers}m", "memory": f"{900 * containers}Mi"}
    return {resource: most[resource] for resource in rng.sample(sorted(most), k=rng.randint(1, 2))}


def _owner(rng: Random) -> Json:
    kind = rng.choice(sorted(OWNERS))
    uid = "00000000-0000-0000-0000-000000000001"  # nobody collects garbage here
    return {"apiVersion": OWNERS[kind][1], "kind": kind, "name": OWNER, "uid": uid, "controller": True}


def _container(rng: Random, kind: str, number: int, features: Features) -> Json:
    container: Json = {"name": f"{kind}-{number}", "image": "example.com/image:1"}
    if {"images", "image-volumes"} & features:
        container["image"] = rng.choice(sorted(IMAGES))
    if requests := _requests(rng, features):
        exact = {resource: amount for resource, amount in requests.items() if "/" in resource or "huge" in resource}
        container["resources"] = {"requests": requests, "limits": exact}
    if "host-ports" in features and rng.random() < 0.5:
        container["ports"] = [_port(rng, 8001 + number + rng.choice([0, 2]))]  # no two containers of a pod share one
    return container


def _init_container(rng: Random, number: int, features: Features) -> Json:
    container = _container(rng, "init", number, features)
    return container | ({"restartPolicy": "Always"} if rng.random() < 0.5 else {})


def _requests(rng: Random, features: Features) -> dict[str, str]:
    requests: dict[str, str] = {}
    if "requests" in features:
        requests |= {"cpu": rng.choice(["0", "1m", "100m", "250m", "0.5", "900m"])} if rng.random() < 0.8 else {}
        requests |= {"memory": rng.choice(["0", "100M", "256Mi", "900Mi", "1e8"])} if rng.random() < 0.8 else {}
    if "extended-resources" in features and rng.random() < 0.4:
        requests["example.com/gpu"] = rng.choice(["0", "1", "1", "2"])
    if "extended-resources" in features and rng.random() < 0.15:
        requests |= {"hugepages-2Mi": "64Mi", "cpu": "100m"}  # the API server wants cpu or memory beside them
    if "ephemeral-storage" in features and rng.random() < 0.6:
        requests["ephemeral-storage"] = rng.choice(["100Mi", "1Gi", "4Gi"])
    return requests


def _port(rng: Random, port: int) -> Json:
    protocol = rng.choice(["TCP", "TCP", "UDP"])
    address = rng.choice(["", "", "127.0.0.1", "10.1.2.3", "0.0.0.0"])
    return {"containerPort": 80, "hostPort": port, "protocol": protocol, "hostIP": address}


def _toleration(rng: Random) -> Json:
    key, value = rng.choice([*TAINTS, ("node.kubernetes.io/unschedulable", "")])
    chance = rng.random()
    toleration: Json = {"operator": "Exists"}
    if chance < 0.5:
        toleration = {"key": key, "operator": "Equal", "value": value}
    elif chance < 0.93:
        toleration = {"key": key, "operator": "Exists"}
    if effect := rng.choice(["", "NoSchedule", "PreferNoSchedule", "NoExecute"]):
        toleration["effect"] = effect
    return toleration


def _node_affinity(rng: Random, nodes: list[str], features: Features) -> Json:
    by_field = "match-fields" in features
    if "node-affinity" not in features and not by_field:
        return {}
    affinity: Json = {}
    numbers = [*NUMBERS, "x"]
    if rng.random() < 0.6:
        terms = [node_term(rng, nodes, by_field=by_field, numbers=numbers) for _ in range(rng.choice([1, 1, 2, 3]))]
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if rng.random() < 0.6:
        numbers = numbers if "no-number" in features else NUMBERS
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {
                "weight": rng.choice([1, 10, 33, 100]),
                "preference": node_term(rng, nodes, by_field=by_field, numbers=numbers),
            }
            for _ in range(rng.randint(1, 3))
        ]
    return {"nodeAffinity": affinity} if affinity else {}
