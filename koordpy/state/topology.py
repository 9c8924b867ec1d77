"""The network topology as a tree over the node columns: layers of domains, each node in at most one of each.

Level 0 is the cluster, the last level the nodes themselves. Domains are told apart by their whole path, so that block
b1 of spine s1 is another one than b1 of s2. A node without a label is never lost: without the one of the lowest layer
it is a domain of its own there; without a higher one it lies in a makeshift domain of all such nodes, which keeps the
tree whole but is no place to gather in. The tree follows labels live: it is built anew when it is asked for after they
have changed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from koordpy.api.keys import HOSTNAME
from koordpy.api.topology import BY_LABEL, CLUSTER_LAYER, NODE_LAYER, Layer
from koordpy.state.arrays import Bools, Ints
from koordpy.state.natural import natural
from koordpy.state.nodes.columns import NodeColumns


@dataclass(frozen=True, slots=True)
class Level:
    """One layer of the tree: `N` node rows, `D` domains."""

    layer: str
    codes: Ints  # [N]: the domain of each node, or -1 for none
    names: tuple[str, ...]  # [D]
    paths: tuple[tuple[str, ...], ...]  # [D]: names from the top layer down
    parents: Ints  # [D]: the domain of the level above that each lies in
    real: Bools  # [D]: False for a makeshift domain of nodes that lack the label

    def sums(self, values: Ints) -> Ints:
        """`[D]`: the sum of `values`, `[N]`, over the nodes of each domain."""
        inside = self.codes >= 0
        return np.bincount(self.codes[inside], weights=values[inside], minlength=len(self.names)).astype(np.int64)

    def nodes_of(self, domain: int) -> Bools:
        """`[N]`: the nodes of a domain."""
        inside: Bools = self.codes == domain
        return inside


class Topology:
    """What the `default` ClusterNetworkTopology says, applied to the nodes that there are."""

    def __init__(self, nodes: NodeColumns) -> None:
        self._nodes = nodes
        self.layers: tuple[Layer, ...] = ()  # from the top to the nodes; none: there is no topology
        self._levels: tuple[Level, ...] = ()
        self._orders: dict[int, Ints] = {}
        self._built_at = -1

    def set_layers(self, layers: tuple[Layer, ...]) -> bool:
        """Says whether anything changed."""
        changed = layers != self.layers
        if changed:
            self.layers, self._built_at = layers, -1
        return changed

    @property
    def levels(self) -> tuple[Level, ...]:
        """The cluster first, the nodes last; none without a topology."""
        if self._built_at != self._nodes.label_generation:
            self._levels = self._build() if self.layers else ()
            self._built_at = self._nodes.label_generation
            self._orders.clear()
        return self._levels

    def level_of(self, layer: str) -> int | None:
        """The number of a layer's level; names match regardless of case. `label:KEY` is the layer of that label key."""
        wanted = layer.lower()
        if wanted.startswith(BY_LABEL):
            wanted = self._layer_with(wanted.removeprefix(BY_LABEL))
        return next((i for i, level in enumerate(self.levels) if level.layer.lower() == wanted), None)

    def _layer_with(self, label_key: str) -> str:
        """In lower case, as `label_key` is; the nodes themselves are told apart by their host name."""
        if label_key == HOSTNAME:
            return NODE_LAYER.lower()
        layers = (each for each in self.layers if label_key in map(str.lower, each.label_key))
        return next((each.topology_layer.lower() for each in layers), label_key)

    def order(self, level: int) -> Ints:
        """`[D]`: the place of each domain of a level in the natural order of paths."""
        paths = self.levels[level].paths
        if level not in self._orders:
            by_name = sorted(range(len(paths)), key=lambda domain: tuple(map(natural, paths[domain])))
            self._orders[level] = np.argsort(np.array(by_name, dtype=np.int64))
        return self._orders[level]

    # --- building ---

    def _build(self) -> tuple[Level, ...]:
        nodes = self._nodes
        everything = np.where(nodes.live, 0, -1).astype(np.int64)
        root = Level(CLUSTER_LAYER, everything, ("",), ((),), np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.bool_))
        levels = [root]
        lowest = len(self.layers) - 2
        for i, layer in enumerate(self.layers[:-1]):
            levels.append(self._level(layer, levels[-1], is_lowest=i == lowest))
        return (*levels, self._node_level(levels[-1]))

    def _level(self, layer: Layer, above: Level, *, is_lowest: bool) -> Level:
        nodes = self._nodes
        found: dict[tuple[int, str], int] = {}  # parent and name -> domain
        codes = np.full(nodes.capacity, -1, dtype=np.int64)
        for row in np.flatnonzero(nodes.live).tolist():
            name = _first_label(nodes.labels.of(row), layer.label_key)
            if not name and is_lowest:
                name = nodes.names[row]
            codes[row] = found.setdefault((int(above.codes[row]), name), len(found))
        names = tuple(name for _, name in found)
        return Level(
            layer.topology_layer,
            codes,
            names,
            paths=tuple((*above.paths[parent], name) for parent, name in found),
            parents=np.array([parent for parent, _ in found], dtype=np.int64),
            real=np.array([bool(name) for name in names], dtype=np.bool_),
        )

    def _node_level(self, above: Level) -> Level:
        nodes = self._nodes
        paths = tuple(
            (*above.paths[parent], name) if parent >= 0 else ()
            for parent, name in zip(above.codes.tolist(), nodes.names, strict=True)
        )
        codes = np.where(nodes.live, np.arange(nodes.capacity), -1)
        return Level(NODE_LAYER, codes, tuple(nodes.names), paths, above.codes, nodes.live.copy())


def _first_label(labels: dict[str, str], keys: tuple[str, ...]) -> str:
    return next((labels[key] for key in keys if labels.get(key)), "")
