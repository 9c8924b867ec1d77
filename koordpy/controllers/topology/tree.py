"""The live tree: the default topology and the labels of the nodes, as the watches tell them. It notes what changes.

A spec that cannot be used leaves the layers of the last good one in place, and the tree goes on following the nodes by
them, as the scheduler's does.
"""

from __future__ import annotations

from collections.abc import Callable

from koordpy.api.errors import MalformedValue
from koordpy.api.meta import ObjectMeta, Struct
from koordpy.api.topology import NAME, chain
from koordpy.api.topologystatus import TopologyObject
from koordpy.controllers.runtime.statuswriter import is_news
from koordpy.controllers.topology.outline import Branch, outline
from koordpy.state.nodes.columns import NodeColumns
from koordpy.state.nodes.resources import ResourceTable
from koordpy.state.topology import Topology


class LabelledNode(Struct, frozen=True):
    """A node, as far as the network is concerned."""

    metadata: ObjectMeta


class LiveTree:
    """A sink of nodes. `on_change` is called with the name of the topology when its status may have to change."""

    def __init__(self, on_change: Callable[[str], None]) -> None:
        self._on_change = on_change
        self._nodes = NodeColumns(ResourceTable())
        self._topology = Topology(self._nodes)
        self._keys: frozenset[str] = frozenset()  # labels that tell domains apart
        self.object: TopologyObject | None = None
        self.problem = ""  # with its spec; empty while it is in use

    def outline(self) -> Branch | None:
        """The tree; None while there has been no spec that makes one."""
        return outline(self._topology, self._nodes)

    @property
    def nodes(self) -> int:
        return len(self._nodes)

    @property
    def depth(self) -> int:
        """Layers, that of the nodes included."""
        return len(self._topology.layers)

    # --- nodes ---

    def upsert(self, obj: LabelledNode) -> None:
        """A node appeared or changed."""
        name, labels = obj.metadata.name, obj.metadata.labels
        known = self._nodes.row_of(name) is not None
        row = self._nodes.open_row(name)
        before = self._nodes.labels.of(row)
        self._nodes.set_labels(row, labels)
        if not known or any(before.get(key) != labels.get(key) for key in self._keys):
            self._tell()

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - nodes are known by name
        """A node is gone."""
        if self._nodes.row_of(key) is not None:
            self._nodes.close_row(key)
            self._tell()

    # --- the topology ---

    def put(self, topology: TopologyObject) -> None:
        """It appeared or changed."""
        if not is_news(topology, self.object):
            return
        self.object = topology
        try:
            layers = chain(topology.spec)
        except MalformedValue as error:
            self.problem = str(error)
        else:
            self.problem = ""
            self._topology.set_layers(layers)
            self._keys = frozenset(key for layer in layers for key in layer.label_key)
        self._tell()

    def answered(self, topology: TopologyObject) -> None:
        """Our own write has made it so: no news to us, also when the watch says it afterwards."""
        known = self.object
        if known is not None and known.metadata.uid == topology.metadata.uid and is_news(topology, known):
            self.object = topology

    def drop(self) -> None:
        """It is gone, and its tree with it."""
        self.object, self.problem, self._keys = None, "", frozenset()
        self._topology.set_layers(())

    def _tell(self) -> None:
        if self.object is not None:
            self._on_change(NAME)
