"""The reflectors of one process: each resource is listed, watched and decoded once, however many sinks want it.

client-go calls this a shared informer factory. All subscriptions are made before `run`. A consumer keeps the reflectors
that it gets, to wait for those alone (`synced`) or to list one again (`resync`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from koordpy.kube.client import Client
from koordpy.kube.watch.definitions import Definition, Installed
from koordpy.kube.watch.reflector import Reflector, Resource
from koordpy.kube.watch.sinks import Sink, T


class SharedReflectors:
    """One reflector per path, selector and decoder."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._reflectors: dict[Resource[Any], Reflector[Any]] = {}
        self._installed: dict[Definition, Installed] = {}
        self._is_running = False

    def subscribe(self, resource: Resource[T], sink: Sink[T], settle: Callable[[], None] | None = None) -> Reflector[T]:
        """Deliver the resource to this sink too; `settle` is called after each batch of objects."""
        reflector = self._reflector_of(resource)
        reflector.subscribe(sink, settle)
        return reflector

    def installed(self, definition: Definition) -> Installed:
        """Whether it is, for everybody who needs it: what there is to say is said once."""
        if definition not in self._installed:
            reflectors = [self._reflector_of(resource) for resource in definition.resources]
            self._installed[definition] = Installed(definition, reflectors)
        return self._installed[definition]

    async def run(self) -> None:
        """Run all reflectors, until cancelled."""
        self._is_running = True
        async with asyncio.TaskGroup() as group:
            for reflector in self._reflectors.values():
                group.create_task(reflector.run())

    async def synced(self) -> None:
        """Return when everything has been listed once."""
        for reflector in self._reflectors.values():
            await reflector.synced.wait()

    def checks(self) -> dict[str, Callable[[], str]]:
        """One check per resource for `/readyz`, which returns its trouble."""
        named: dict[str, list[Reflector[Any]]] = {}
        for reflector in self._reflectors.values():
            named.setdefault(f"watch-{reflector.full_name}", []).append(reflector)
        return {name: _trouble(reflectors) for name, reflectors in named.items()}

    def _reflector_of(self, resource: Resource[T]) -> Reflector[T]:
        key = replace(resource, optional=False)  # subscriptions that differ in it are an error, and not two resources
        found = self._reflectors.get(key)
        if found is None:
            if self._is_running:
                raise RuntimeError(f"{resource.full_name}: subscribe before the reflectors run")
            found = self._reflectors[key] = Reflector(self._client, resource)
        elif found.resource.optional != resource.optional:
            raise ValueError(f"{resource.path}: optional for one sink and required for another")
        return found


def _trouble(reflectors: list[Reflector[Any]]) -> Callable[[], str]:
    def first() -> str:
        troubles = (each.trouble or ("" if each.synced.is_set() else "not synced yet") for each in reflectors)
        return next((trouble for trouble in troubles if trouble), "")

    return first
