"""Everything that the scheduler watches, each resource with the sink that takes it into the state."""

from __future__ import annotations

from functools import partial
from typing import Any

from koordpy.kube.watch.reflector import Reflector
from koordpy.kube.watch.shared import SharedReflectors
from koordpy.scheduler.grouper import LEASE
from koordpy.scheduler.ingest import resources
from koordpy.scheduler.ingest.sinks import Sinks


class Watches:
    """The scheduler's part in the reflectors of its process."""

    def __init__(self, reflectors: SharedReflectors, sinks: Sinks, lease_namespace: str) -> None:
        self.pods = reflectors.subscribe(resources.PODS, sinks.pods, sinks.settle_pods)
        subscribe = reflectors.subscribe
        self._others: tuple[Reflector[Any], ...] = (
            subscribe(resources.NODES, sinks.nodes),
            *(self._gang_objects(reflectors, sinks, version) for version in resources.GANG_OBJECTS),
            subscribe(resources.PRIORITY_CLASSES, sinks.priority_classes),
            subscribe(resources.QUEUES, sinks.queues, sinks.settle_queues),
            subscribe(resources.lease(lease_namespace, LEASE), sinks.grouper),
            subscribe(resources.TOPOLOGIES, sinks.topologies),
            subscribe(resources.BUDGETS, sinks.budgets),
            subscribe(resources.NAMESPACES, sinks.namespaces),
            subscribe(resources.SERVICES, sinks.services),
            *(subscribe(resource, sinks.owners[kind]) for kind, resource in resources.OWNERS.items()),
            *(subscribe(resource, sinks.storage[kind]) for kind, resource in resources.STORAGE.items()),
        )
        reflectors.installed(resources.POD_GROUP_DEFINITION)

    @staticmethod
    def _gang_objects(reflectors: SharedReflectors, sinks: Sinks, version: str) -> Reflector[Any]:
        reflector = reflectors.subscribe(resources.GANG_OBJECTS[version], sinks.gang_objects[version])
        reflector.on_served(partial(sinks.gang_objects_served, version))
        return reflector

    async def synced(self) -> None:
        """Return when everything has been listed once."""
        for reflector in (self.pods, *self._others):
            await reflector.synced.wait()
