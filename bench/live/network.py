"""A network topology for workloads: cores, spines, leaves, nodes; and the score of placements in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bench.live.objects import Gang, Json, node

CORES, SPINES_PER_CORE, LEAVES_PER_SPINE, NODES_PER_LEAF = 5, 5, 4, 10
PREFIX = "network.example.com"
LAYERS = ("LeafLayer", "SpineLayer", "CoreLayer")  # from the lowest
GPU = "nvidia.com/gpu"
GPUS = 8

TOPOLOGY: Json = {
    "apiVersion": "scheduling.koordinator.sh/v1alpha1",
    "kind": "ClusterNetworkTopology",
    "metadata": {"name": "default"},
    "spec": {
        "networkTopologySpec": [
            {"topologyLayer": "CoreLayer", "labelKey": [f"{PREFIX}/core"]},
            {"topologyLayer": "SpineLayer", "parentTopologyLayer": "CoreLayer", "labelKey": [f"{PREFIX}/spine"]},
            {"topologyLayer": "LeafLayer", "parentTopologyLayer": "SpineLayer", "labelKey": [f"{PREFIX}/leaf"]},
            {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "LeafLayer"},
        ]
    },
}


def nodes(
    cores: int = CORES, spines: int = SPINES_PER_CORE, leaves: int = LEAVES_PER_SPINE, size: int = NODES_PER_LEAF
) -> tuple[Json, ...]:
    """Nodes whose names do not follow the tree: among equal nodes, many schedulers take the first by name."""
    total = cores * spines * leaves * size
    found = []
    for number in range(total):
        leaf = number // size
        spine = leaf // leaves
        labels = {
            f"{PREFIX}/leaf": f"leaf-{leaf}",
            f"{PREFIX}/spine": f"spine-{spine}",
            f"{PREFIX}/core": f"core-{spine // spines}",
        }
        shuffled = number * 7919 % total if total % 7919 else number
        found.append(node(f"node-{shuffled:05d}", labels, {"cpu": "64", "memory": "512Gi", GPU: str(GPUS)}))
    return tuple(sorted(found, key=lambda made: made["metadata"]["name"]))


def placement_score(gangs: Iterable[Gang], node_of: Mapping[str, str], cluster: Iterable[Json]) -> float:
    """The mean, over gangs that gather, of the fewest leaves that could hold it / the leaves that it was spread over.

    1 is the best that an empty cluster allows. `node_of` has the node of each pod, also of completed ones.
    """
    leaf_of = {made["metadata"]["name"]: made["metadata"]["labels"][f"{PREFIX}/leaf"] for made in cluster}
    largest = max((list(leaf_of.values()).count(leaf) for leaf in set(leaf_of.values())), default=1)
    shares = []
    for gang in (gang for gang in gangs if gang.gather):
        used = {leaf_of[node_of[name]] for name in gang.member_names() if name in node_of}
        if used:
            per_leaf = largest * (GPUS // int(gang.requests[GPU]))
            shares.append(-(-gang.size // per_leaf) / len(used))
    return sum(shares) / len(shares) if shares else 0.0
