"""What the naive reference knows, and the questions about pods and nodes that filters and scores share."""

from dataclasses import dataclass, field
from typing import Any

from tests.plan.naive.matching import Labels, affinity_of, labels_of, node_term_matches, selects, tolerates

Json = dict[str, Any]

REQUIRED, PREFERRED = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)


@dataclass
class World:
    """Everything there is. Pods count where `spec.nodeName` says, if there is such a node."""

    nodes: list[Json] = field(default_factory=list)
    pods: list[Json] = field(default_factory=list)
    namespaces: dict[str, Labels] = field(default_factory=dict)
    services: dict[tuple[str, str], Labels] = field(default_factory=dict)  # by namespace and name: selectors
    owners: dict[tuple[str, str, str], Json] = field(default_factory=dict)  # by kind, namespace and name: selectors

    def pods_on(self, node: Json) -> list[Json]:
        return [pod for pod in self.pods if pod["spec"].get("nodeName") == node["metadata"]["name"]]


def matches_node(pod: Json, node: Json) -> bool:
    if not selects({"matchLabels": pod["spec"].get("nodeSelector", {})}, labels_of(node)):
        return False
    required = affinity_of(pod, "nodeAffinity").get(REQUIRED)
    return required is None or any(node_term_matches(term, node) for term in required["nodeSelectorTerms"])


def admits(node: Json, pod: Json) -> bool:
    taints = [t for t in node["spec"].get("taints", []) if t["effect"] in ("NoSchedule", "NoExecute")]
    return all(tolerates(pod, taint) for taint in taints)


def placed(world: World) -> list[tuple[Json, Json]]:
    return [(pod, node) for node in world.nodes for pod in world.pods_on(node)]


def same_domain(one: Json, other: Json, key: str) -> bool:
    return key in labels_of(one) and labels_of(one)[key] == labels_of(other).get(key)


def pods_around(node: Json, term: Json, world: World) -> list[Json]:
    return [pod for pod, where in placed(world) if same_domain(node, where, term["topologyKey"])]


def speaks_about(term: Json, speaker: Json, other: Json, world: World) -> bool:
    """Whether a pod affinity term of one pod is about another; a namespace nobody described has no labels."""
    namespace = other["metadata"]["namespace"]
    names, by_labels = term.get("namespaces", []), term.get("namespaceSelector")
    if not names and by_labels is None:
        names = [speaker["metadata"]["namespace"]]
    in_namespace = namespace in names or selects(by_labels, world.namespaces.get(namespace, {}))
    return in_namespace and selects(term.get("labelSelector"), labels_of(other))


def own_constraints(pod: Json) -> list[Json]:
    return pod["spec"].get("topologySpreadConstraints", [])


def includes(constraint: Json, pod: Json, node: Json) -> bool:
    """The node inclusion policies: whether a node's pods, and its domain, count."""
    if constraint.get("nodeAffinityPolicy", "Honor") == "Honor" and not matches_node(pod, node):
        return False
    return constraint.get("nodeTaintsPolicy", "Ignore") == "Ignore" or admits(node, pod)


def is_alike(constraint: Json, pod: Json, other: Json) -> bool:
    if "selectors" in constraint:  # of the services and the owner
        return all(selects(each, labels_of(other)) for each in constraint["selectors"])
    same = {key: labels_of(pod)[key] for key in constraint.get("matchLabelKeys", []) if key in labels_of(pod)}
    return selects(constraint.get("labelSelector"), labels_of(other)) and selects(
        {"matchLabels": same}, labels_of(other)
    )


def count_alike(constraint: Json, pod: Json, others: list[Json]) -> int:
    keys_of_pod = set(constraint.get("matchLabelKeys", [])) & labels_of(pod).keys()
    if "selectors" not in constraint and not any(constraint.get("labelSelector", {}).values()) and not keys_of_pod:
        return 0  # a selector that asks for nothing counts nobody
    alive = [other for other in others if "deletionTimestamp" not in other["metadata"]]
    here = [other for other in alive if other["metadata"]["namespace"] == pod["metadata"]["namespace"]]
    return sum(is_alike(constraint, pod, other) for other in here)
