"""Remarks of `koordpy topology`: nodes without slots and why, and a tree that is not a network topology."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from koordpy.api.node import Taint
from koordpy.api.topology import KIND, NAME, NODE_LAYER, Layer
from koordpy.plan.constraints.tolerations import tolerated, tolerates_cordon
from koordpy.state.arrays import Ints
from koordpy.state.cluster import Cluster
from koordpy.state.nodes.columns import NodeColumns
from koordpy.state.nodes.resources import NOWHERE
from koordpy.state.shapes import Shape

_LABELS = {"RegionLayer": "topology.kubernetes.io/region", "ZoneLayer": "topology.kubernetes.io/zone"}
_KEEPS_OUT = ("NoSchedule", "NoExecute")


# --- without a topology object ---


def layers_of_labels(nodes: NodeColumns) -> tuple[Layer, ...]:
    """Kubernetes' own labels, as far as nodes have them: zones, and regions if there are several."""
    found: list[Layer] = []
    for name, key in _LABELS.items():
        values = {value for row in np.flatnonzero(nodes.live).tolist() if (value := nodes.labels.of(row).get(key))}
        if len(values) > (name == "RegionLayer"):
            found.append(Layer(name, found[-1].topology_layer if found else "", (key,)))
    return (*found, Layer(NODE_LAYER, found[-1].topology_layer if found else ""))


def without_topology(layers: tuple[Layer, ...]) -> Iterator[str]:
    shown = " and ".join(key for layer in layers for key in layer.label_key)
    instead = f"this is the tree of {shown}" if shown else "this is one level, the cluster"
    yield f"there is no {KIND} named {NAME}: {instead}; docs/topology.md says how to describe the network"


# --- nodes that offer nothing ---


def remarks_about(cluster: Cluster, request: dict[str, str], shape: Shape, on_empty: Ints) -> Iterator[str]:
    for name in request:
        if cluster.resources.find(name) == NOWHERE:
            yield f"no node has {name}"
    nodes = cluster.nodes
    rows = [row for row in np.flatnonzero(nodes.live).tolist() if on_empty[row] == 0]
    cordoned = {row for row in rows if nodes.unschedulable[row] and not tolerates_cordon(shape)}
    in_the_way = {row: _in_the_way(nodes, row, shape) for row in rows if row not in cordoned}
    tainted = [row for row, taints in in_the_way.items() if taints]
    small = len(rows) - len(cordoned) - len(tainted)
    if cordoned:
        yield f"{_of(len(cordoned), nodes)} cordoned"
    if tainted:
        counts = Counter(taint for taints in in_the_way.values() for taint in taints)
        named = ", ".join(f"{_shown(taint)} on {count}" for taint, count in counts.most_common())
        yield f"{_of(len(tainted), nodes)} tainted, and such a pod tolerates that with --toleration: {named}"
    if small:
        yield f"{_of(small, nodes)} too small for such a pod"


def _in_the_way(nodes: NodeColumns, row: int, shape: Shape) -> list[Taint]:
    taints = nodes.taint_sets[int(nodes.taint_code[row])]
    return [each for each in taints if each.effect in _KEEPS_OUT and not tolerated(each, shape.traits.tolerations)]


def _of(count: int, nodes: NodeColumns) -> str:
    return f"{count} of {len(nodes)} nodes {'is' if count == 1 else 'are'}"


def _shown(taint: Taint) -> str:
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
