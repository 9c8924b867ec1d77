"""The ClusterNetworkTopology into the layers of the network."""

from __future__ import annotations

import structlog

from koordpy import metrics
from koordpy.api.errors import MalformedValue
from koordpy.api.topology import NAME, Layer, chain
from koordpy.api.topologystatus import TopologyObject
from koordpy.scheduler.wakeups import Wakeups
from koordpy.state.cluster import Cluster

log = structlog.get_logger()


class TopologySink:
    """Only the one named `default` counts. A broken one changes nothing: the last good tree stays."""

    def __init__(self, cluster: Cluster, wakeups: Wakeups) -> None:
        self._cluster, self._wakeups = cluster, wakeups

    def upsert(self, topology: TopologyObject) -> None:
        if topology.metadata.name != NAME:
            return
        try:
            layers = chain(topology.spec)
        except MalformedValue as error:
            metrics.MALFORMED.labels("ClusterNetworkTopology").inc()
            log.warning("malformed_object", kind="ClusterNetworkTopology", object=NAME, problem=str(error))
            return
        self._set(layers)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002
        if key == NAME:
            self._set(())

    def _set(self, layers: tuple[Layer, ...]) -> None:
        self._cluster.set_layers(layers)
        self._wakeups.deliver()
