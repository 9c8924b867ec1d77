"""The network of the demo: where its nodes are, and what the labels mean that say so.

Twenty nodes below three spines of nine, six and five: the gang `ring`, of six pods that take a node each, has to be
below one spine, and there is one that it fills exactly. Nodes with GPUs have no place in it.
"""

from __future__ import annotations

from typing import Any

from koordpy.api.topology import GROUP, KIND, NAME, NODE_LAYER, VERSION

TOPOLOGIES = f"/apis/{GROUP}/{VERSION}/clusternetworktopologies"

SPINE, LEAF = "network.topology.nvidia.com/spine", "network.topology.nvidia.com/leaf"
_LEAVES = (("spine-1", 5), ("spine-1", 4), ("spine-2", 3), ("spine-2", 3), ("spine-3", 3), ("spine-3", 2))  # nodes each


def topology() -> dict[str, Any]:
    """What the labels mean."""
    layers = [
        {"topologyLayer": "SpineLayer", "labelKey": [SPINE]},
        {"topologyLayer": "LeafLayer", "parentTopologyLayer": "SpineLayer", "labelKey": [LEAF]},
        {"topologyLayer": NODE_LAYER, "parentTopologyLayer": "LeafLayer"},
    ]
    spec = {"networkTopologySpec": layers}
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": KIND, "metadata": {"name": NAME}, "spec": spec}


def places() -> list[dict[str, str]]:
    """The labels of the nodes in the network, one after another."""
    return [
        {SPINE: spine, LEAF: f"leaf-{number}"}
        for number, (spine, nodes) in enumerate(_LEAVES, start=1)
        for _ in range(nodes)
    ]
