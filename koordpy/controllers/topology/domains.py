"""The network topology as a tree of domains for people to read: `status.detailStatus`, and `koordpy topology`.

The scheduler's own tree (`koordpy.state.topology`) gives every node without a label of the lowest layer a domain of its
own. Here the nodes of one parent that lack a label form one domain without a name: four thousand machines without
accelerators are one line that says so, and not four thousand. Domains are in natural order, so that a status changes
only when the cluster does. This module reads the scheduler's tree and never changes it.
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
class Domain:
    """A domain. Without a name it is the cluster, or the nodes of its parent that lack the label of its layer."""

    layer: str
    child_layer: str
    name: str
    rows: Ints  # the nodes in it, by row of the node columns
    children: tuple[Domain, ...]  # the one without a name last; empty in the layer above the nodes


def domain_tree(topology: Topology, nodes: NodeColumns) -> Domain | None:
    """The cluster, with its domains below it; None without a topology. Nodes themselves are no domains here."""
    if not topology.layers:
        return None
    return _domain(topology, nodes, 0, "", np.flatnonzero(nodes.live))


def depth_first(domain: Domain, parent: Domain | None = None) -> Iterator[tuple[Domain | None, Domain]]:
    """Each domain with its parent, a domain right before what is in it: cluster, s1, its blocks, s2, its blocks."""
    yield parent, domain
    for child in domain.children:
        yield from depth_first(child, domain)


def _domain(topology: Topology, nodes: NodeColumns, depth: int, name: str, rows: Ints) -> Domain:
    child_depth = depth + 1
    children: list[Domain] = []
    if child_depth < len(topology.levels) - 1:
        rows_of = _rows_by_name(topology, nodes, child_depth, rows)
        names = sorted(rows_of, key=lambda name: (not name, natural(name), name))
        children = [
            _domain(topology, nodes, child_depth, name, np.array(rows_of[name], dtype=np.int64)) for name in names
        ]
    levels = topology.levels
    return Domain(levels[depth].layer, levels[child_depth].layer, name, rows, tuple(children))


def _rows_by_name(topology: Topology, nodes: NodeColumns, depth: int, rows: Ints) -> dict[str, list[int]]:
    """The nodes of one parent by the name of their domain; domains of one parent differ in name."""
    level, layer = topology.levels[depth], topology.layers[depth - 1]
    found: dict[str, list[int]] = {}
    for row, domain in zip(rows.tolist(), level.codes[rows].tolist(), strict=True):
        name = level.names[domain] if _is_labelled(nodes.labels.of(row), layer) else ""
        found.setdefault(name, []).append(row)
    return found


def _is_labelled(labels: dict[str, str], layer: Layer) -> bool:
    return any(labels.get(key) for key in layer.label_key)
