"""The network tree as people read it: domains below domains, in an order that does not change by itself.

The scheduler's tree gives every node without a label of the lowest layer a domain of its own. Here such nodes are one
branch without a name, like those that lack a label further up: four thousand machines without accelerators are one line
that says so, and not four thousand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from koordpy.api.topology import Layer
from koordpy.state.arrays import Ints
from koordpy.state.natural import natural
from koordpy.state.nodes.columns import NodeColumns
from koordpy.state.topology import Topology


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """A domain. Without a name it is the cluster, or the nodes of its parent that have no label of its layer."""

    layer: str
    below: str  # the layer of its children
    name: str
    rows: Ints  # of the nodes in it
    children: tuple[Branch, ...]  # the nameless one last; none above the nodes


def outline(topology: Topology, nodes: NodeColumns) -> Branch | None:
    """The cluster; None without a topology. The nodes themselves are no branches."""
    if not topology.layers:
        return None
    rows = np.flatnonzero(nodes.live)
    return _branch(topology, nodes, 0, "", rows)


def by_level(root: Branch) -> Iterator[list[tuple[Branch | None, Branch]]]:
    """Layer by layer, each branch with its parent; in each layer by parent, then by name."""
    level: list[tuple[Branch | None, Branch]] = [(None, root)]
    while level:
        yield level
        level = [(branch, child) for _, branch in level for child in branch.children]


def _branch(topology: Topology, nodes: NodeColumns, depth: int, name: str, rows: Ints) -> Branch:
    below = depth + 1
    children: list[Branch] = []
    if below < len(topology.levels) - 1:
        named = _by_name(topology, nodes, below, rows)
        order = sorted(named, key=lambda name: (not name, natural(name), name))
        children = [_branch(topology, nodes, below, name, np.array(named[name], dtype=np.int64)) for name in order]
    return Branch(topology.levels[depth].layer, topology.levels[below].layer, name, rows, tuple(children))


def _by_name(topology: Topology, nodes: NodeColumns, depth: int, rows: Ints) -> dict[str, list[int]]:
    """The rows of one parent by the name of their domain; domains of one parent differ in name."""
    level, layer = topology.levels[depth], topology.layers[depth - 1]
    found: dict[str, list[int]] = {}
    for row, domain in zip(rows.tolist(), level.codes[rows].tolist(), strict=True):
        name = level.names[domain] if _is_labelled(nodes.labels.of(row), layer) else ""
        found.setdefault(name, []).append(row)
    return found


def _is_labelled(labels: dict[str, str], layer: Layer) -> bool:
    return any(labels.get(key) for key in layer.label_key)
