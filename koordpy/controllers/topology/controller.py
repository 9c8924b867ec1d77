"""Builds the topology controller: watches of nodes and of the topology, tree, work queue and reconciler."""

from __future__ import annotations

import socket
from collections.abc import Callable

from koordpy.api.definitions import INSTALL
from koordpy.api.topology import NAME
from koordpy.controllers.runtime.controller import Controller
from koordpy.controllers.runtime.workqueue import WorkQueue
from koordpy.controllers.topology.reconciler import TopologyReconciler
from koordpy.controllers.topology.tree import TopologySink, TopologyTree
from koordpy.kube.client import Client
from koordpy.kube.events import EventRecorder
from koordpy.kube.watch.definitions import Definition
from koordpy.kube.watch.shared import SharedReflectors
from koordpy.scheduler.ingest.resources import NODES, TOPOLOGIES

_DEFINITION = Definition("topologies", (TOPOLOGIES,), f"{INSTALL}; until then nothing describes the network")


def topology_controller(reflectors: SharedReflectors, writing: Client, clock: Callable[[], float]) -> Controller[str]:
    """`reflectors` list and watch, for all of the process; `writing` writes, and only while this process leads.

    `clock` is the wall clock, in seconds since the epoch.
    """
    queue: WorkQueue[str] = WorkQueue()
    tree = TopologyTree(queue.add)
    nodes = reflectors.subscribe(NODES, tree)
    reflectors.subscribe(TOPOLOGIES, TopologySink(tree))
    installed = reflectors.installed(_DEFINITION)
    events = EventRecorder(writing, socket.gethostname())
    return Controller(
        "topology",
        TopologyReconciler(writing, tree, events, clock),
        queue,
        synced=nodes.synced,
        all_keys=lambda: [NAME] if tree.object is not None else [],
        workers=1,  # there is one topology
        is_installed=lambda: installed.now,
    )
