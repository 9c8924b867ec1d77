"""Everything that the scheduler watches, each resource with the sink that takes it into the state."""

from __future__ import annotations

from functools import partial
from typing import Any

from koordpy.kube.watch.reflector import Reflector
from koordpy.kube.watch.shared import SharedReflectors
from koordpy.scheduler.ingest import resources
from koordpy.scheduler.ingest.sinks import Sinks


class Watches:
    """The scheduler's part in the reflectors of its process."""

    def __init__(self, reflectors: SharedReflectors, sinks: Sinks) -> None:
        self.pods = reflectors.subscribe(resources.PODS, sinks.pods, sinks.settle_pods)
        subscribe = reflectors.subscribe
        self._others: tuple[Reflector[Any], ...] = (
            subscribe(resources.NODES, sinks.nodes),
            *(self._pod_groups(reflectors, sinks, group) for group in resources.POD_GROUPS),
            subscribe(resources.TOPOLOGIES, sinks.topologies),
            subscribe(resources.BUDGETS, sinks.budgets),
            subscribe(resources.NAMESPACES, sinks.namespaces),
            subscribe(resources.SERVICES, sinks.services),
            *(subscribe(resource, sinks.owners[kind]) for kind, resource in resources.OWNERS.items()),
            *(subscribe(resource, sinks.storage[kind]) for kind, resource in resources.STORAGE.items()),
        )

    @staticmethod
    def _pod_groups(reflectors: SharedReflectors, sinks: Sinks, group: str) -> Reflector[Any]:
        reflector = reflectors.subscribe(resources.POD_GROUPS[group], sinks.pod_groups[group])
        reflector.on_served(partial(sinks.pod_groups_served, group))
        return reflector

    async def synced(self) -> None:
        """Return when everything has been listed once."""
        for reflector in (self.pods, *self._others):
            await reflector.synced.wait()
