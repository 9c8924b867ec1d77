"""ClusterNetworkTopology with its status, which only its controller reads and writes.

The scheduler reads the spec alone (`koordpy.api.topology`), and not the status of a thousand domains.
"""

from __future__ import annotations

from koordpy.api.meta import ObjectMeta, StatusCondition, Struct
from koordpy.api.topology import TopologySpec


class TopologyInfo(Struct, frozen=True):
    """A domain; the cluster and the domain of nodes without a label of the layer have empty names."""

    topology_layer: str
    topology_name: str


class DetailStatus(Struct, frozen=True, omit_defaults=True):
    """One domain, or the cluster."""

    topology_info: TopologyInfo
    node_num: int
    parent_topology_info: TopologyInfo | None = None
    child_topology_layer: str = ""
    child_topology_names: tuple[str, ...] = ()


class TopologyStatus(Struct, frozen=True):
    layers: int = 0
    domains: int = 0
    nodes: int = 0
    detail_status: tuple[DetailStatus, ...] = ()
    conditions: tuple[StatusCondition, ...] = ()


class TopologyObject(Struct, frozen=True):
    metadata: ObjectMeta
    spec: TopologySpec = TopologySpec()
    status: TopologyStatus = TopologyStatus()
