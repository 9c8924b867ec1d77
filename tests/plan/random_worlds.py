"""Random nodes, pods and surroundings as API JSON. Few values for everything, so that pods and nodes meet often."""

from typing import Any

from hypothesis import strategies as st

from tests.plan.constraints import HOSTNAME, ZONE, affinity, host_port, node_term, pod_term, requirement, selector
from tests.plan.naive import World

Json = dict[str, Any]

NODE_NAMES = [f"n{i}" for i in range(7)]
NAMESPACES = ["default", "blue", "red"]
TOPOLOGY_KEYS = [HOSTNAME, ZONE, ZONE, "rack"]
IMAGES = {"example.com/small:1": 10, "example.com/medium:1": 180, "example.com/large:latest": 640, "huge:1": 2300}
_KINDS = ["ReplicaSet", "StatefulSet", "ReplicationController"]


def often(strategy: st.SearchStrategy[Any], otherwise: Any = None) -> st.SearchStrategy[Any]:
    return st.one_of(st.just(otherwise), strategy)


def one_in(number: int) -> st.SearchStrategy[bool]:
    """Rarely true, and never in the smallest example."""
    return st.integers(1, number).map(lambda drawn: drawn == number)


def some(values: list[Any], most: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(values), max_size=most)


# --- labels and selectors ---

POD_LABELS = st.fixed_dictionaries(
    {},
    optional={
        "app": st.sampled_from(["web", "db"]),
        "tier": st.sampled_from(["front", "back"]),
        "index": st.sampled_from(["1", "2"]),
    },
)
NAMESPACE_LABELS = st.fixed_dictionaries({}, optional={"team": st.sampled_from(["a", "b"])})
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

# --- nodes ---

TAINTS = [
    {"key": key, "value": value, "effect": effect}
    for key, value in (("dedicated", "gpu"), ("dedicated", "batch"), ("spot", ""))
    for effect in ("NoSchedule", "PreferNoSchedule", "NoExecute")
]
NODE_LABELS = st.fixed_dictionaries(
    {},
    optional={
        ZONE: st.sampled_from(["a", "b", ""]),
        "rack": st.sampled_from(["r1", "r2"]),
        "disk": st.sampled_from(["ssd", "hdd"]),
        "generation": st.sampled_from(["1", "4", "09", "many"]),
    },
)
ALLOCATABLE = st.fixed_dictionaries(
    {
        "cpu": st.sampled_from(["1", "3900m", "16"]),
        "memory": st.sampled_from(["1Gi", "7901372Ki", "64G"]),
        "pods": st.sampled_from(["1", "3", "110"]),
    },
    optional={"example.com/gpu": st.sampled_from(["0", "2"]), "ephemeral-storage": st.sampled_from(["1Gi", "10Gi"])},
)


@st.composite
def node(draw: st.DrawFn, name: str) -> Json:
    labels = draw(NODE_LABELS)
    if not draw(one_in(10)):
        labels[HOSTNAME] = name
    spec: Json = {"unschedulable": True} if draw(one_in(6)) else {}
    if taints := draw(some(TAINTS, 2)):
        spec["taints"] = taints
    allocatable = {} if draw(one_in(16)) else draw(ALLOCATABLE)
    images = [{"names": [i], "sizeBytes": IMAGES[i] * 2**20} for i in draw(st.sets(st.sampled_from(list(IMAGES))))]
    status = {"allocatable": allocatable, "images": images}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": status}


# --- pods ---

_REQUESTS = st.fixed_dictionaries(
    {},
    optional={
        "cpu": st.sampled_from(["0", "100m", "0.5", "2"]),
        "memory": st.sampled_from(["0", "100M", "256Mi", "3Gi"]),
        "example.com/gpu": st.sampled_from(["1", "2"]),
        "ephemeral-storage": st.just("800Mi"),
    },
)
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


@st.composite
def container(draw: st.DrawFn, *, init: bool = False) -> Json:
    body: Json = {"name": "c", "image": draw(st.sampled_from(["example.com/large", *IMAGES]))}
    body["resources"] = {"requests": draw(_REQUESTS)}
    if draw(one_in(4)):
        body["ports"] = [draw(st.sampled_from(_PORTS))]
    if init and draw(st.booleans()):
        body["restartPolicy"] = "Always"
    return body


@st.composite
def _pod_term(draw: st.DrawFn) -> Json:
    term = pod_term(draw(st.sampled_from(TOPOLOGY_KEYS)), draw(st.sampled_from(SELECTORS)))
    if draw(one_in(3)):
        term["namespaces"] = draw(some(NAMESPACES, 2))
    if draw(one_in(3)):
        term["namespaceSelector"] = draw(st.sampled_from(NAMESPACE_SELECTORS))
    return term


def _weighted(terms: st.SearchStrategy[Json]) -> st.SearchStrategy[list[tuple[int, Json]]]:
    return st.lists(st.tuples(st.sampled_from([1, 10, 100]), terms), max_size=2)


@st.composite
def _affinity(draw: st.DrawFn, *, nodes: bool) -> Json:
    required, preferred = st.lists(_pod_term(), max_size=2), _weighted(_pod_term())
    chosen: Json = {}
    for side in ("near", "apart"):
        kind = draw(st.sampled_from(["", "required", "preferred"]))
        if kind == "required":
            chosen[side] = draw(required)
        elif kind == "preferred":
            chosen[f"prefer_{side}"] = draw(preferred)
    if nodes and draw(st.booleans()):
        chosen["nodes"] = draw(some(_NODE_TERMS, 3))
    if nodes and draw(st.booleans()):
        chosen["prefer_nodes"] = draw(_weighted(st.sampled_from(_NODE_TERMS)))
    return affinity(**chosen)


_SPREAD = st.fixed_dictionaries(
    {
        "maxSkew": st.integers(1, 3),
        "topologyKey": st.sampled_from(TOPOLOGY_KEYS),
        "whenUnsatisfiable": st.sampled_from(["DoNotSchedule", "ScheduleAnyway"]),
    },
    optional={
        "labelSelector": st.sampled_from(SELECTORS[1:]),
        "minDomains": st.integers(1, 4),
        "matchLabelKeys": st.sampled_from([["index"], ["index", "no-such-label"]]),
        "nodeAffinityPolicy": st.sampled_from(["Honor", "Ignore"]),
        "nodeTaintsPolicy": st.sampled_from(["Honor", "Ignore"]),
    },
)


@st.composite
def _basic_pod(draw: st.DrawFn, name: str) -> Json:
    metadata: Json = {"name": name, "uid": name, "namespace": draw(st.sampled_from(["default", *NAMESPACES]))}
    metadata["labels"] = draw(POD_LABELS)
    if kind := draw(often(st.sampled_from(_KINDS))):
        metadata["ownerReferences"] = [{"kind": kind, "name": "owner", "controller": draw(st.booleans())}]
    spec: Json = {"containers": draw(st.lists(container(), min_size=1, max_size=2))}
    if draw(one_in(4)):
        spec["initContainers"] = draw(st.lists(container(init=True), min_size=1, max_size=3))
    if draw(one_in(6)):
        spec["overhead"] = {"cpu": "250m"}
    if draw(one_in(8)):
        spec["resources"] = {"requests": {"memory": "4Gi"}}
    return {"metadata": metadata, "spec": spec}


@st.composite
def pod_on_a_node(draw: st.DrawFn, name: str) -> Json:
    """It is not judged, only counted: it may well not fit where it is."""
    pod = draw(_basic_pod(name))
    pod["spec"]["nodeName"] = draw(st.sampled_from(NODE_NAMES))
    if draw(st.booleans()):
        pod["spec"]["affinity"] = draw(_affinity(nodes=False))
    if draw(one_in(5)):
        pod["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    return pod


@st.composite
def incoming_pod(draw: st.DrawFn, name: str = "incoming") -> Json:
    pod = draw(_basic_pod(name))
    spec = pod["spec"]
    if draw(st.booleans()):
        spec["affinity"] = draw(_affinity(nodes=True))
    if draw(st.booleans()):
        spec["topologySpreadConstraints"] = draw(st.lists(_SPREAD, max_size=2))
    if draw(one_in(5)):
        spec["nodeSelector"] = draw(st.sampled_from([{"disk": "ssd"}, {ZONE: "a"}, {"rack": "r1", ZONE: "b"}]))
    spec["tolerations"] = draw(some(_TOLERATIONS, 2))
    return pod


@st.composite
def surroundings(draw: st.DrawFn) -> World:
    """Namespaces, services and owners, without nodes and pods."""
    world = World(namespaces={name: draw(NAMESPACE_LABELS) for name in NAMESPACES})
    for i, chosen in enumerate(draw(some([{"app": "web"}, {"tier": "front"}, {"index": "1"}, {}], 2))):
        world.services[draw(st.sampled_from(["default", *NAMESPACES])), f"s{i}"] = chosen
    owners = [selector(app="web"), selector(app="db"), selector(requirement("tier", "Exists")), selector()]
    for kind in draw(some(_KINDS, 2)):
        world.owners[kind, "default", "owner"] = draw(st.sampled_from(owners))
    return world


@st.composite
def worlds(draw: st.DrawFn) -> World:
    world = draw(surroundings())
    world.nodes = [draw(node(name)) for name in NODE_NAMES[: draw(st.integers(0, len(NODE_NAMES)))]]
    world.pods = [draw(pod_on_a_node(f"p{i}")) for i in range(draw(st.integers(0, 8)))]
    return world
