"""The scores of the naive reference: for each candidate 0 to 100."""

from math import floor, log
from typing import Any

from tests.plan.naive.matching import (
    affinity_of,
    allocatable,
    labels_of,
    node_term_matches,
    request,
    scored_request,
    selects,
    tolerates,
)
from tests.plan.naive.world import (
    PREFERRED,
    REQUIRED,
    World,
    count_alike,
    includes,
    own_constraints,
    placed,
    same_domain,
    speaks_about,
)

Json = dict[str, Any]

_HOSTNAME, _ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
_DEFAULT_SPREAD = ((_HOSTNAME, 3), (_ZONE, 5))


def _by_name(nodes: list[Json], values: list[int]) -> dict[str, int]:
    return {node["metadata"]["name"]: value for node, value in zip(nodes, values, strict=True)}


def _taint_score(pod: Json, nodes: list[Json], _: World) -> dict[str, int]:
    discouraging = [
        sum(t["effect"] == "PreferNoSchedule" and not tolerates(pod, t) for t in node["spec"].get("taints", []))
        for node in nodes
    ]
    most = max(discouraging)
    return _by_name(nodes, [100 - 100 * n // most if most else 100 for n in discouraging])


def _node_affinity_score(pod: Json, nodes: list[Json], _: World) -> dict[str, int]:
    wishes = affinity_of(pod, "nodeAffinity").get(PREFERRED, [])
    sums = [sum(w["weight"] for w in wishes if node_term_matches(w["preference"], node)) for node in nodes]
    return _by_name(nodes, [100 * each // max(sums) if max(sums) else 0 for each in sums])


def _least_allocated(pod: Json, nodes: list[Json], world: World) -> dict[str, int]:
    def score(node: Json) -> int:
        shares = []
        for resource in ("cpu", "memory"):
            has = allocatable(node, resource)
            taken = sum(scored_request(each, resource, is_new=False) for each in world.pods_on(node))
            taken += scored_request(pod, resource, is_new=True)
            if has:
                shares.append(max(has - taken, 0) * 100 // has)
        return sum(shares) // len(shares) if shares else 0

    return _by_name(nodes, [score(node) for node in nodes])


def _balanced(pod: Json, nodes: list[Json], world: World) -> dict[str, int]:
    def evenness(node: Json, pods: list[Json]) -> int:
        shares = [
            min(sum(request(each, resource) for each in pods) / allocatable(node, resource), 1.0)
            for resource in ("cpu", "memory")
            if allocatable(node, resource)
        ]
        deviation = abs((shares[0] - shares[1]) / 2) if len(shares) == 2 else 0.0
        return int((1 - deviation) * 100)

    def score(node: Json) -> int:
        there = world.pods_on(node)
        return 50 + (50 + evenness(node, [*there, pod]) - evenness(node, there)) // 2

    if not request(pod, "cpu") and not request(pod, "memory"):
        return _by_name(nodes, [0] * len(nodes))
    return _by_name(nodes, [score(node) for node in nodes])


def _spread_score(pod: Json, nodes: list[Json], world: World) -> dict[str, int]:
    constraints, all_labels_needed = _soft_constraints(pod, world)
    if not constraints:
        return _by_name(nodes, [0] * len(nodes))

    def counts(node: Json) -> bool:
        return not all_labels_needed or all(c["topologyKey"] in labels_of(node) for c in constraints)

    scored = [node for node in nodes if counts(node)]
    counted = [node for node in world.nodes if counts(node)]
    crowds = {}
    for node in scored:
        total = sum(_crowd(c, pod, node, world, scored=scored, counted=counted) for c in constraints)
        crowds[node["metadata"]["name"]] = floor(total + 0.5)
    least, most = min(crowds.values(), default=0), max(crowds.values(), default=0)

    def score(name: str) -> int:
        if name not in crowds:
            return 0
        return 100 * (most + least - crowds[name]) // most if most else 100

    return {node["metadata"]["name"]: score(node["metadata"]["name"]) for node in nodes}


def _soft_constraints(pod: Json, world: World) -> tuple[list[Json], bool]:
    """The pod's own, which insist on all their labels; else the system's, for pods of services and owners."""
    if own_constraints(pod):
        return [c for c in own_constraints(pod) if c["whenUnsatisfiable"] == "ScheduleAnyway"], True
    namespace = pod["metadata"]["namespace"]
    services = [s for (where, _), s in world.services.items() if where == namespace]
    selectors = [{"matchLabels": s} for s in services if s and selects({"matchLabels": s}, labels_of(pod))]
    owner = next((o for o in pod["metadata"].get("ownerReferences", []) if o.get("controller")), None)
    owned = world.owners.get((owner["kind"], namespace, owner["name"]), {}) if owner is not None else {}
    if any(owned.values()) and owner["kind"] == "ReplicationController":  # its labels overrule those of services
        merged = {k: v for each in (*selectors, owned) for k, v in each.get("matchLabels", {}).items()}
        selectors = [{"matchLabels": merged, "matchExpressions": owned.get("matchExpressions", [])}]
    elif any(owned.values()):
        selectors.append(owned)
    if not selectors:
        return [], False
    return [{"topologyKey": key, "maxSkew": skew, "selectors": selectors} for key, skew in _DEFAULT_SPREAD], False


def _crowd(constraint: Json, pod: Json, node: Json, world: World, *, scored: list[Json], counted: list[Json]) -> float:
    """How many pods of the kind are in the node's domain, more weight being given to topologies of many domains."""
    key = constraint["topologyKey"]
    if key not in labels_of(node):
        return 0.0
    if key == _HOSTNAME:
        size, alike = len(scored), count_alike(constraint, pod, world.pods_on(node))
    else:
        domain = labels_of(node)[key]
        size = len({labels_of(each).get(key, "") for each in scored})  # no label is as good as an empty one
        peers = [n for n in counted if labels_of(n).get(key, "") == domain and includes(constraint, pod, n)]
        alike = sum(count_alike(constraint, pod, world.pods_on(each)) for each in peers)
    return alike * log(size + 2) + (constraint["maxSkew"] - 1)


def _affinity_score(pod: Json, nodes: list[Json], world: World) -> dict[str, int]:
    sums = [sum(_sympathy(pod, node, other, where, world) for other, where in placed(world)) for node in nodes]
    least, most = min(sums), max(sums)
    return _by_name(nodes, [int(100.0 * ((s - least) / (most - least))) if most > least else 0 for s in sums])


def _sympathy(pod: Json, node: Json, other: Json, where: Json, world: World) -> int:
    """What one placed pod adds to a node: preferences in both directions, and what it requires of the new pod."""
    total = 0
    for kind, sign in (("podAffinity", 1), ("podAntiAffinity", -1)):
        wishes = [(pod, other, w) for w in affinity_of(pod, kind).get(PREFERRED, [])]
        wishes += [(other, pod, w) for w in affinity_of(other, kind).get(PREFERRED, [])]
        for speaker, about, wish in wishes:
            term = wish["podAffinityTerm"]
            if same_domain(node, where, term["topologyKey"]) and speaks_about(term, speaker, about, world):
                total += sign * wish["weight"]
    for term in affinity_of(other, "podAffinity").get(REQUIRED, []):
        total += same_domain(node, where, term["topologyKey"]) and speaks_about(term, other, pod, world)
    return total


def _image_score(pod: Json, nodes: list[Json], world: World) -> dict[str, int]:
    def images(node: Json) -> dict[str, int]:
        return {name: i["sizeBytes"] for i in node["status"].get("images", []) for name in i["names"]}

    wanted = [c["image"] for c in pod["spec"]["containers"] + pod["spec"].get("initContainers", [])]
    tagged = [image if ":" in image.rpartition("/")[2] else f"{image}:latest" for image in wanted]
    least, most = 23 * 2**20, 1000 * 2**20 * len(wanted)

    def score(node: Json) -> int:
        total = 0
        for image in tagged:
            if image in images(node):
                having = sum(image in images(each) for each in world.nodes)
                total += int(images(node)[image] * (having / len(world.nodes)))
        return 100 * (min(max(total, least), most) - least) // (most - least)

    return _by_name(nodes, [score(node) for node in nodes])


SCORES = {
    "TaintToleration": _taint_score,
    "NodeAffinity": _node_affinity_score,
    "NodeResourcesFit": _least_allocated,
    "PodTopologySpread": _spread_score,
    "InterPodAffinity": _affinity_score,
    "NodeResourcesBalancedAllocation": _balanced,
    "ImageLocality": _image_score,
    "NetworkTopology": lambda _, nodes, __: _by_name(nodes, [0] * len(nodes)),  # these worlds have no network
}
