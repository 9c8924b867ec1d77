"""The topology controller put together: watches of nodes and of the topology, tree, work queue and reconciler."""

from __future__ import annotations

import socket
from collections.abc import Callable

from koordpy.api.decode import Decoder
from koordpy.api.topology import NAME
from koordpy.controllers.runtime.controller import Controller
from koordpy.controllers.runtime.workqueue import WorkQueue
from koordpy.controllers.topology.reconciler import TOPOLOGIES, TopologyReconciler
from koordpy.controllers.topology.tree import LabelledNode, TopologySink, TopologyTree
from koordpy.kube.client import Client
from koordpy.kube.events import EventRecorder
from koordpy.kube.watch.reflector import Reflector, Resource

_NODES = Resource("/api/v1/nodes", Decoder("Node", LabelledNode))


def topology_controller(client: Client, writing: Client, clock: Callable[[], float]) -> Controller[str]:
    """`client` lists and watches; `writing` writes, and only while this process leads.

    `clock` is the wall clock, in seconds since the epoch.
    """
    queue: WorkQueue[str] = WorkQueue()
    tree = TopologyTree(queue.add)
    nodes = Reflector(client, _NODES, tree)
    events = EventRecorder(writing, socket.gethostname())
    return Controller(
        "topology",
        TopologyReconciler(writing, tree, events, clock),
        queue,
        reflectors=(nodes, Reflector(client, TOPOLOGIES, TopologySink(tree))),
        synced=nodes.synced,
        all_keys=lambda: [NAME],
        workers=1,  # there is one topology
    )
