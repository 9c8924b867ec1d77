"""The parts of pods and nodes that constrain placement, as API JSON and in few words."""

from collections.abc import Iterable
from typing import Any

Json = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def selector(*requirements: Json, **labels: str) -> Json:
    """A label selector: `selector(app="web")`, `selector(requirement("app", "Exists"))`."""
    parts = {"matchLabels": labels, "matchExpressions": list(requirements)}
    return {name: part for name, part in parts.items() if part}


def requirement(key: str, operator: str, *values: str) -> Json:
    """Of a label selector or of a node affinity term."""
    return {"key": key, "operator": operator, "values": list(values)} if values else {"key": key, "operator": operator}


def node_term(*expressions: Json, name: str | None = None) -> Json:
    """A node affinity term; `name` pins `metadata.name`."""
    parts = {"matchExpressions": list(expressions)}
    if name is not None:
        parts["matchFields"] = [requirement("metadata.name", "In", name)]
    return {field: part for field, part in parts.items() if part}


def pod_term(topology_key: str, label_selector: Json | None, **more: Any) -> Json:
    """A pod affinity term; `namespaces` and `namespaceSelector` go into `more`."""
    return {"topologyKey": topology_key, "labelSelector": label_selector, **more}


def affinity(
    *,
    nodes: Iterable[Json] | None = None,
    prefer_nodes: Iterable[tuple[int, Json]] = (),
    near: Iterable[Json] = (),
    prefer_near: Iterable[tuple[int, Json]] = (),
    apart: Iterable[Json] = (),
    prefer_apart: Iterable[tuple[int, Json]] = (),
) -> Json:
    """Node terms, and terms about the pods to be near to and apart from; preferred ones with their weights."""
    node_affinity: Json = {PREFERRED: [{"weight": weight, "preference": term} for weight, term in prefer_nodes]}
    if nodes is not None:
        node_affinity[REQUIRED] = {"nodeSelectorTerms": list(nodes)}
    return {
        "nodeAffinity": node_affinity,
        "podAffinity": {REQUIRED: list(near), PREFERRED: _weighted(prefer_near)},
        "podAntiAffinity": {REQUIRED: list(apart), PREFERRED: _weighted(prefer_apart)},
    }


def spread_over(topology_key: str, label_selector: Json | None, *, soft: bool = False, **more: Any) -> Json:
    """A topology spread constraint with `maxSkew: 1`."""
    action = "ScheduleAnyway" if soft else "DoNotSchedule"
    constraint = {"maxSkew": 1, "topologyKey": topology_key, "whenUnsatisfiable": action, **more}
    return constraint | ({"labelSelector": label_selector} if label_selector is not None else {})


def taint(key: str, value: str = "", effect: str = "NoSchedule") -> Json:
    return {"key": key, "value": value, "effect": effect}


def host_port(port: int, protocol: str = "TCP", address: str = "") -> Json:
    return {"containerPort": 80, "hostPort": port, "protocol": protocol, **({"hostIP": address} if address else {})}


def _weighted(terms: Iterable[tuple[int, Json]]) -> list[Json]:
    return [{"weight": weight, "podAffinityTerm": term} for weight, term in terms]
