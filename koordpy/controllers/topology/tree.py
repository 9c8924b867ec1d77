"""The topology tree: the default ClusterNetworkTopology and the labels of the nodes, kept up to date by the watches.

When the spec becomes invalid the tree keeps the layers of the last valid one, and goes on following the nodes by them,
as the scheduler's does. The tree never writes to the API server. It adds the topology to the work queue when its status
may have to change.
"""

from __future__ import annotations

from collections.abc import Callable

from koordpy.api.errors import MalformedValue
from koordpy.api.node import Node
from koordpy.api.topology import NAME, chain
from koordpy.api.topologystatus import TopologyObject
from koordpy.controllers.runtime.versions import is_newer
from koordpy.controllers.topology.domains import Domain, domain_tree
from koordpy.state.nodes.columns import NodeColumns
from koordpy.state.nodes.resources import ResourceTable
from koordpy.state.topology import Topology


class TopologyTree:
    """It is the sink of the watch of nodes; `TopologySink` passes on the topology.

    `on_change` is called with the name of the topology.
    """

    def __init__(self, on_change: Callable[[str], None]) -> None:
        self._on_change = on_change
        self._nodes = NodeColumns(ResourceTable())
        self._topology = Topology(self._nodes)
        self._label_keys: frozenset[str] = frozenset()  # labels that decide in which domain a node is
        self._object: TopologyObject | None = None
        self._problem = ""

    @property
    def object(self) -> TopologyObject | None:
        """The topology in its latest version; None while there is none."""
        return self._object

    @property
    def problem(self) -> str:
        """Why the spec cannot be used; empty while it is in use."""
        return self._problem

    @property
    def node_count(self) -> int:
        return len(self._nodes)

    @property
    def layer_count(self) -> int:
        """Layers of the last valid spec, that of the nodes included."""
        return len(self._topology.layers)

    def domains(self) -> Domain | None:
        """The cluster with its domains; None while no spec was valid."""
        return domain_tree(self._topology, self._nodes)

    # --- nodes ---

    def upsert(self, obj: Node) -> None:
        """A node was added or updated."""
        name, labels = obj.metadata.name, obj.metadata.labels
        known = self._nodes.row_of(name) is not None
        row = self._nodes.open_row(name)
        before = self._nodes.labels.of(row)
        self._nodes.set_labels(row, labels)
        if not known or any(before.get(key) != labels.get(key) for key in self._label_keys):
            self._changed()

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - a sink gets both; the columns know nodes by name
        """A node was deleted."""
        if self._nodes.row_of(key) is not None:
            self._nodes.close_row(key)
            self._changed()

    # --- the topology ---

    def set_topology(self, topology: TopologyObject) -> None:
        """The watch shows the topology, which was added or updated."""
        if not is_newer(topology.metadata, self._object.metadata if self._object is not None else None):
            return
        self._object = topology
        try:
            layers = chain(topology.spec)
        except MalformedValue as error:
            self._problem = str(error)
        else:
            self._problem = ""
            self._topology.set_layers(layers)
            self._label_keys = frozenset(key for layer in layers for key in layer.label_key)
        self._changed()

    def record_write(self, topology: TopologyObject) -> None:
        """Our own write returned this version: it needs no reconcile, nor does the watch event that follows it."""
        known = self._object
        if known is None or known.metadata.uid != topology.metadata.uid:
            return
        if is_newer(topology.metadata, known.metadata):
            self._object = topology

    def remove_topology(self) -> None:
        """The topology was deleted, and its domains with it."""
        self._object, self._problem, self._label_keys = None, "", frozenset()
        self._topology.set_layers(())

    def _changed(self) -> None:
        if self._object is not None:
            self._on_change(NAME)


class TopologySink:
    """The sink of the watch of the topology, of which there is one."""

    def __init__(self, tree: TopologyTree) -> None:
        self._tree = tree

    def upsert(self, obj: TopologyObject) -> None:
        """The topology was added or updated."""
        self._tree.set_topology(obj)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - a sink gets both
        """The topology was deleted."""
        self._tree.remove_topology()
