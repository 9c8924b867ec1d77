"""Clusters with a network: nodes under spines and blocks."""

from __future__ import annotations

from typing import Any

from koordpy.api.topology import Layer
from koordpy.state.cluster import Cluster
from tests.builders import node

SELECTOR = "scheduling.koordinator.sh/network-topology-selector"
SPINE, BLOCK = "SpineLayer", "BlockLayer"
LAYERS = (
    Layer(SPINE, "", ("spine",)),
    Layer(BLOCK, SPINE, ("block",)),
    Layer("NodeTopologyLayer", BLOCK),
)
ONE = {"cpu": 1}
EIGHT = [
    ("s1/b1", "node-1", ONE), ("s1/b1", "node-8", ONE), ("s1/b2", "node-2", ONE), ("s1/b2", "node-7", ONE),
    ("s2/b3", "node-3", ONE), ("s2/b3", "node-6", ONE), ("s2/b4", "node-4", ONE), ("s2/b4", "node-5", ONE),
]  # fmt: skip


def tree(*nodes: tuple[str, str, dict[str, Any]]) -> Cluster:
    """`tree(("s1/b1", "n1", {"cpu": 1}), ...)`: nodes under a spine and a block."""
    cluster = Cluster()
    cluster.topology.set_layers(LAYERS)
    for path, name, given in nodes:
        cluster.upsert_node(node(name, labels=labels_of(path), **given))
    return cluster


def labels_of(path: str) -> dict[str, str]:
    """`s1/b1` -> the labels of a node there."""
    spine, _, block = path.partition("/")
    return {key: value for key, value in (("spine", spine), ("block", block)) if value}


def must(layer: str, multiple: int = 0) -> str:
    """The annotation of a gang that has to be gathered in a layer."""
    return f'{{"gatherStrategy":[{{"layer":"{layer}","strategy":"MustGather","podCountMultiple":{multiple}}}]}}'
