"""Nodes into columns."""

from __future__ import annotations

import structlog

from koordpy import metrics
from koordpy.api.errors import MalformedValue
from koordpy.api.node import Node
from koordpy.scheduler.wakeups import Wakeups
from koordpy.state.cluster import Cluster

log = structlog.get_logger()


class NodeSink:
    """The sink of the watch of nodes. One that cannot be read stays as it was."""

    def __init__(self, cluster: Cluster, wakeups: Wakeups) -> None:
        self._cluster, self._wakeups = cluster, wakeups

    def upsert(self, node: Node) -> None:
        try:
            self._cluster.upsert_node(node)
        except MalformedValue as error:
            metrics.MALFORMED.labels("Node").inc()
            log.warning("malformed_object", kind="Node", object=node.metadata.name, problem=str(error))
        self._wakeups.deliver()

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - nodes are known by name
        self._cluster.remove_node(key)
        self._wakeups.deliver()
