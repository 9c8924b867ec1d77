"""Random nodes, pods and surroundings as API JSON. Few values for everything, so that pods and nodes meet often.

A case is one seed. Left to choose everything itself, hypothesis varies each example in a few of its thousand choices,
which tries few different worlds, slowly; so it draws seeds, and `smallest` makes a failing world readable.
"""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from hypothesis import strategies as st

from tests.plan.constraints import HOSTNAME, ZONE, affinity, host_port, node_term, pod_term, requirement, selector
from tests.plan.naive import World

Json = dict[str, Any]

NODE_NAMES = [f"n{i}" for i in range(7)]
NAMESPACES = ["default", "blue", "red"]
_KINDS = ["ReplicaSet", "StatefulSet", "ReplicationController"]


# --- values ---

TOPOLOGY_KEYS = [HOSTNAME, ZONE, ZONE, "rack"]
IMAGES = {"example.com/small:1": 10, "example.com/medium:1": 180, "example.com/large:latest": 640, "huge:1": 2300}
TAINTS = [
    {"key": key, "value": value, "effect": effect}
    for key, value in (("dedicated", "gpu"), ("dedicated", "batch"), ("spot", ""))
    for effect in ("NoSchedule", "PreferNoSchedule", "NoExecute")
]
SELECTORS = [
    None,
    selector(),
    selector(app="web"),
    selector(app="web"),
    selector(tier="front"),
    selector(app="db", tier="back"),
    selector(requirement("app", "In", "web", "db")),
    selector(requirement("app", "NotIn", "web")),
    selector(requirement("tier", "Exists")),
    selector(requirement("index", "DoesNotExist"), app="web"),
]
NAMESPACE_SELECTORS = [
    selector(),
    selector(team="a"),
    selector(requirement("team", "Exists")),
    selector(requirement("team", "NotIn", "a")),
]
SERVICE_SELECTORS = [{"app": "web"}, {"tier": "front"}, {"index": "1"}, {"tier": "front", "app": "db"}]
OWNER_SELECTORS = [selector(app="web"), selector(app="db"), selector(requirement("tier", "Exists")), selector()]
_POD_LABELS = {"app": ["web", "web", "db"], "tier": ["front", "back"], "index": ["1", "2"]}
_NODE_LABELS = {
    ZONE: ["a", "b", ""],
    "rack": ["r1", "r2"],
    "disk": ["ssd", "hdd"],
    "generation": ["1", "4", "09", "many"],
}
_REQUESTS = {
    "cpu": ["0", "100m", "0.5", "2"],
    "memory": ["0", "100M", "256Mi", "3Gi"],
    "example.com/gpu": ["1", "2"],
    "ephemeral-storage": ["800Mi"],
}
_PORTS = [host_port(8080, protocol, address) for protocol in ("TCP", "UDP") for address in ("", "10.0.0.1", "0.0.0.0")]
_PORTS += [host_port(8080, "TCP", "10.0.0.2"), host_port(9090)]
_EXPRESSIONS = [
    requirement("disk", "In", "ssd", "nvme"),
    requirement("disk", "NotIn", "ssd"),
    requirement("rack", "Exists"),
    requirement("rack", "DoesNotExist"),
    requirement("generation", "Gt", "3"),
    requirement("generation", "Lt", "5"),
    requirement("generation", "Lt", "soon"),
]
_NODE_TERMS = [
    *(node_term(expression) for expression in _EXPRESSIONS),
    node_term(_EXPRESSIONS[0], _EXPRESSIONS[4]),
    node_term(),
    *(node_term(name=name) for name in ("n0", "n1", "n2", "elsewhere")),
    node_term(_EXPRESSIONS[2], name="n3"),
    {"matchFields": [requirement("metadata.name", "NotIn", "n0")]},
]
_TOLERATIONS = [
    {"operator": "Exists"},
    {"key": "dedicated", "operator": "Exists"},
    {"key": "dedicated", "operator": "Equal", "value": "gpu"},
    {"key": "dedicated", "value": "batch", "effect": "NoSchedule"},
    {"key": "spot", "operator": "Exists", "effect": "PreferNoSchedule"},
    {"key": "spot", "effect": "NoExecute"},
    {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"},
]


# --- bodies ---


def _some_of(rng: Random, values: dict[str, list[str]], chance: float) -> dict[str, str]:
    return {key: rng.choice(choices) for key, choices in values.items() if rng.random() < chance}


def _few(rng: Random, values: list[Any], most: int) -> list[Any]:
    return [rng.choice(values) for _ in range(rng.randint(0, most))]


def _node(rng: Random) -> Json:
    labels = _some_of(rng, _NODE_LABELS, 0.8)
    if rng.random() < 0.9:
        labels[HOSTNAME] = "its own name"
    spec: Json = {"unschedulable": True} if rng.random() < 0.1 else {}
    if rng.random() < 0.4:
        spec["taints"] = _few(rng, TAINTS, 2)
    allocatable = {
        "cpu": rng.choice(["16", "3900m", "64", "1"]),
        "memory": rng.choice(["64G", "7901372Ki", "128Gi", "1Gi"]),
        "pods": rng.choice(["110", "110", "110", "3"]),
    } | _some_of(rng, {"example.com/gpu": ["0", "2", "8"], "ephemeral-storage": ["1Gi", "10Gi"]}, 0.6)
    images = [{"names": [i], "sizeBytes": IMAGES[i] * 2**20} for i in IMAGES if rng.random() < 0.4]
    status = {"allocatable": {} if rng.random() < 0.04 else allocatable, "images": images}
    return {"metadata": {"labels": labels}, "spec": spec, "status": status}


def _container(rng: Random, *, init: bool = False) -> Json:
    body: Json = {"name": "c", "image": rng.choice(["example.com/large", *IMAGES])}
    body["resources"] = {"requests": _some_of(rng, _REQUESTS, 0.4)}
    if rng.random() < 0.2:
        body["ports"] = [rng.choice(_PORTS)]
    if init and rng.random() < 0.5:
        body["restartPolicy"] = "Always"
    return body


def _pod(rng: Random) -> Json:
    metadata: Json = {"namespace": rng.choice(["default", "default", *NAMESPACES])}
    metadata["labels"] = _some_of(rng, _POD_LABELS, 0.7)
    if rng.random() < 0.4:
        owner = {"kind": rng.choice(_KINDS), "name": "owner", "controller": rng.random() < 0.8}
        group = "v1" if owner["kind"] == "ReplicationController" else "apps/v1"
        metadata["ownerReferences"] = [{"apiVersion": group, **owner}]
    spec: Json = {"containers": [_container(rng) for _ in range(rng.choice([1, 1, 2]))]}
    if rng.random() < 0.25:
        spec["initContainers"] = [_container(rng, init=True) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.2:
        spec["overhead"] = {"cpu": "250m"}
    if rng.random() < 0.15:
        spec["resources"] = {"requests": {"memory": "4Gi"}}
    return {"metadata": metadata, "spec": spec}


def _pod_term(rng: Random) -> Json:
    term = pod_term(rng.choice(TOPOLOGY_KEYS), rng.choice(SELECTORS))
    if rng.random() < 0.25:
        term["namespaces"] = _few(rng, NAMESPACES, 2)
    if rng.random() < 0.25:
        term["namespaceSelector"] = rng.choice(NAMESPACE_SELECTORS)
    return term


def _pod_affinity(rng: Random) -> Json:
    chosen: Json = {}
    for side in ("near", "apart"):
        if rng.random() < 0.4:
            chosen[side] = [_pod_term(rng) for _ in range(rng.choice([1, 1, 2]))]
        if rng.random() < 0.4:
            chosen[f"prefer_{side}"] = [(rng.choice([1, 10, 100]), _pod_term(rng)) for _ in range(rng.choice([1, 2]))]
    return chosen


def _placed_pod(rng: Random) -> Json:
    """It is not judged, only counted: it may well not fit where it is."""
    pod = _pod(rng)
    if rng.random() < 0.5:
        pod["spec"]["affinity"] = affinity(**_pod_affinity(rng))
    if rng.random() < 0.2:
        pod["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    return pod


def _spread(rng: Random) -> Json:
    constraint: Json = {
        "maxSkew": rng.choice([1, 1, 2]),
        "topologyKey": rng.choice(TOPOLOGY_KEYS),
        "whenUnsatisfiable": rng.choice(["DoNotSchedule", "ScheduleAnyway"]),
        "minDomains": rng.choice([1, 1, 1, 2, 3, 4]),
    }
    if rng.random() < 0.9:
        constraint["labelSelector"] = rng.choice(SELECTORS[1:])
    if rng.random() < 0.2:
        constraint["matchLabelKeys"] = rng.choice([["index"], ["index", "no-such-label"]])
    policies = {"nodeAffinityPolicy": ["Honor", "Ignore"], "nodeTaintsPolicy": ["Honor", "Ignore"]}
    return constraint | _some_of(rng, policies, 0.4)


def _incoming_pod(rng: Random) -> Json:
    pod = _pod(rng)
    spec = pod["spec"]
    wanted = _pod_affinity(rng) if rng.random() < 0.6 else {}
    if rng.random() < 0.25:
        wanted["nodes"] = _few(rng, _NODE_TERMS, 3)
    if rng.random() < 0.4:
        wanted["prefer_nodes"] = [(rng.choice([1, 10, 100]), term) for term in _few(rng, _NODE_TERMS, 2)]
    if wanted:
        spec["affinity"] = affinity(**wanted)
    if rng.random() < 0.5:
        spec["topologySpreadConstraints"] = [_spread(rng) for _ in range(rng.choice([1, 1, 2]))]
    if rng.random() < 0.15:
        spec["nodeSelector"] = rng.choice([{"disk": "ssd"}, {ZONE: "a"}, {"rack": "r1", ZONE: "b"}])
    spec["tolerations"] = _few(rng, _TOLERATIONS, 2)
    return pod


def _surroundings(rng: Random) -> Json:
    """Namespaces, services and owners."""
    services = {
        (rng.choice(["default", *NAMESPACES]), f"s{i}"): s for i, s in enumerate(_few(rng, SERVICE_SELECTORS, 2))
    }
    owners = {(kind, "default", "owner"): rng.choice(OWNER_SELECTORS) for kind in _few(rng, _KINDS, 2)}
    namespaces = {name: _some_of(rng, {"team": ["a", "b"]}, 0.7) for name in NAMESPACES}
    return {"namespaces": namespaces, "services": services, "owners": owners}


# --- cases ---

SEEDS = st.integers(0, 2**24 - 1)


def node(rng: Random, name: str) -> Json:
    body = _node(rng)
    labels = body["metadata"]["labels"]
    own = {HOSTNAME: name} if HOSTNAME in labels else {}
    return body | {"metadata": {"name": name, "labels": labels | own}}


def pod_on_a_node(rng: Random, name: str) -> Json:
    pod = incoming_pod(rng, name, make=_placed_pod)
    pod["spec"]["nodeName"] = rng.choice(NODE_NAMES)
    return pod


def incoming_pod(rng: Random, name: str = "incoming", make: Callable[[Random], Json] = _incoming_pod) -> Json:
    pod = make(rng)
    pod["metadata"] |= {"name": name, "uid": name}
    return pod


def world(rng: Random) -> World:
    made = World(**_surroundings(rng))
    made.nodes = [node(rng, name) for name in NODE_NAMES[: rng.choice([0, 1, 4, 5, 6, 7, 7])]]
    made.pods = [pod_on_a_node(rng, f"p{i}") for i in range(rng.randint(0, 10))]
    return made


def smallest(found: World, fails: Callable[[World], bool]) -> World:
    """The world without every node and pod that it fails without."""
    for kind in ("pods", "nodes"):
        for each in getattr(found, kind):
            smaller = replace(found, **{kind: [other for other in getattr(found, kind) if other is not each]})
            found = smaller if fails(smaller) else found
    return found
