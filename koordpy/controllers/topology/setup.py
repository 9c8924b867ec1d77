"""The topology controller put together: the watches of nodes and of the topology, the looks and their agenda."""

from __future__ import annotations

import socket
from collections.abc import Callable

import structlog

from koordpy.api.decode import Decoder
from koordpy.api.topology import NAME
from koordpy.controllers.runtime.workqueue import Agenda
from koordpy.controllers.topology.controller import TopologyKeeper
from koordpy.controllers.topology.tree import LabelledNode, LiveTree
from koordpy.kube.client import Client
from koordpy.kube.events import EventRecorder
from koordpy.kube.watch.reflector import Reflector, Resource

_NODES = Resource("/api/v1/nodes", Decoder("Node", LabelledNode))

log = structlog.get_logger()


class TopologyController:
    """`writing` is the client that writes only while we lead."""

    def __init__(self, client: Client, writing: Client, wall: Callable[[], float]) -> None:
        self._agenda = Agenda(width=1)
        tree = LiveTree(self._agenda.note)
        self._keeper = TopologyKeeper(writing, tree, self._agenda, EventRecorder(writing, socket.gethostname()), wall)
        self._nodes = Reflector(client, _NODES, tree)
        self.reflectors = (self._nodes, Reflector(client, TopologyKeeper.resource, self._keeper))

    @property
    def trouble(self) -> str:
        return self._keeper.trouble

    async def run(self) -> None:
        """Keep the status true until cancelled."""
        await self._nodes.synced.wait()  # half of the nodes would make half a tree
        log.info("keeping_topology_status")
        await self._agenda.run(self._keeper.look, [NAME])
