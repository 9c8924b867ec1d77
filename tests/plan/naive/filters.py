"""The filters of the naive reference, in the order in which a node is asked; the first to refuse gives the reason."""

from collections import Counter
from typing import Any

from tests.plan.naive.matching import affinity_of, allocatable, host_ports, labels_of, request, resources_of, tolerates
from tests.plan.naive.world import (
    REQUIRED,
    World,
    admits,
    count_alike,
    includes,
    is_alike,
    matches_node,
    own_constraints,
    placed,
    pods_around,
    same_domain,
    speaks_about,
)

Json = dict[str, Any]


def reasons_against(pod: Json, node: Json, world: World) -> list[str]:
    if not _is_worth_asking(pod, node):
        return ["node(s) didn't satisfy plugin(s) [NodeAffinity]"]
    for rule in FILTERS.values():
        against = rule(pod, node, world)
        if against:
            return against
    return []


def _is_worth_asking(pod: Json, node: Json) -> bool:
    """If every term of the required affinity pins the name of a node, only these nodes are looked at."""
    terms = affinity_of(pod, "nodeAffinity").get(REQUIRED, {}).get("nodeSelectorTerms", [])
    pins = [[f["values"] for f in t.get("matchFields", []) if f["operator"] == "In"] for t in terms]
    if not pins or not all(pins):
        return True
    return any(all(node["metadata"]["name"] in values for values in pin) for pin in pins)


def _cordon(pod: Json, node: Json, _: World) -> list[str]:
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    cordoned = node["spec"].get("unschedulable") and not tolerates(pod, taint)
    return ["node(s) were unschedulable"] if cordoned else []


def _taints(pod: Json, node: Json, _: World) -> list[str]:
    return [] if admits(node, pod) else ["node(s) had untolerated taint(s)"]


def _node_affinity(pod: Json, node: Json, _: World) -> list[str]:
    return [] if matches_node(pod, node) else ["node(s) didn't match Pod's node affinity/selector"]


def _ports(pod: Json, node: Json, world: World) -> list[str]:
    used = [port for other in world.pods_on(node) for port in host_ports(other)]
    if any(_collide(wanted, taken) for wanted in host_ports(pod) for taken in used):
        return ["node(s) didn't have free ports for the requested pod ports"]
    return []


def _collide(one: Json, other: Json) -> bool:
    addresses = {one.get("hostIP") or "0.0.0.0", other.get("hostIP") or "0.0.0.0"}
    same = all(one.get(name, default) == other.get(name, default) for name, default in _PORT_FIELDS)
    return same and (len(addresses) == 1 or "0.0.0.0" in addresses)


_PORT_FIELDS = (("hostPort", 0), ("protocol", "TCP"))


def _resources(pod: Json, node: Json, world: World) -> list[str]:
    there = world.pods_on(node)
    against = ["Too many pods"] if len(there) + 1 > allocatable(node, "pods") else []
    for resource in resources_of(pod):
        asked = request(pod, resource)
        free = allocatable(node, resource) - sum(request(other, resource) for other in there)
        if asked and asked > free:
            against.append(f"Insufficient {resource}")
    return against


def _spread(pod: Json, node: Json, world: World) -> list[str]:
    constraints = [c for c in own_constraints(pod) if c["whenUnsatisfiable"] == "DoNotSchedule"]
    eligible = [n for n in world.nodes if all(c["topologyKey"] in labels_of(n) for c in constraints)]
    for constraint in constraints:
        key = constraint["topologyKey"]
        if key not in labels_of(node):
            return ["node(s) didn't match pod topology spread constraints (missing required label)"]
        pods_in: Counter[str] = Counter()
        for other in eligible:
            if includes(constraint, pod, other):
                pods_in[labels_of(other)[key]] += count_alike(constraint, pod, world.pods_on(other))
        fewest = min(pods_in.values(), default=0) if len(pods_in) >= constraint.get("minDomains", 1) else 0
        itself = is_alike(constraint, pod, pod)
        if pods_in[labels_of(node)[key]] + itself - fewest > constraint["maxSkew"]:
            return ["node(s) didn't match pod topology spread constraints"]
    return []


def _affinity(pod: Json, node: Json, world: World) -> list[str]:
    near, apart = (affinity_of(pod, kind).get(REQUIRED, []) for kind in ("podAffinity", "podAntiAffinity"))
    if near and not _is_near(pod, near, node, world):
        return ["node(s) didn't match pod affinity rules"]
    for term in apart:
        if any(speaks_about(term, pod, other, world) for other in pods_around(node, term, world)):
            return ["node(s) didn't match pod anti-affinity rules"]
    for other, where in placed(world):
        for term in affinity_of(other, "podAntiAffinity").get(REQUIRED, []):
            if same_domain(node, where, term["topologyKey"]) and speaks_about(term, other, pod, world):
                return ["node(s) didn't satisfy existing pods anti-affinity rules"]
    return []


def _is_near(pod: Json, terms: list[Json], node: Json, world: World) -> bool:
    if any(term["topologyKey"] not in labels_of(node) for term in terms):
        return False

    def wanted(other: Json) -> bool:
        return all(speaks_about(term, pod, other, world) for term in terms)

    if all(any(wanted(other) for other in pods_around(node, term, world)) for term in terms):
        return True
    # The first of a set that wants to be near itself; a pod on a node outside of all domains does not count.
    anywhere = any(
        wanted(other) and any(term["topologyKey"] in labels_of(where) for term in terms)
        for other, where in placed(world)
    )
    return not anywhere and wanted(pod)


FILTERS = {
    "NodeUnschedulable": _cordon,
    "TaintToleration": _taints,
    "NodeAffinity": _node_affinity,
    "NodePorts": _ports,
    "NodeResourcesFit": _resources,
    "PodTopologySpread": _spread,
    "InterPodAffinity": _affinity,
}
