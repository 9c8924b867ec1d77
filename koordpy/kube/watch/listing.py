"""Lists a resource once, for commands; long-running processes use a reflector."""

from __future__ import annotations

from collections.abc import AsyncIterator

from koordpy.api.errors import MalformedObject
from koordpy.kube.client import Client
from koordpy.kube.watch.reflector import Resource
from koordpy.kube.watch.sinks import T

_PAGE = 500


async def listed(client: Client, resource: Resource[T], skipped: list[MalformedObject]) -> AsyncIterator[T]:
    """Every object of the resource; errors of those that cannot be decoded are added to `skipped`."""
    token = ""
    while True:
        query = resource.query() | {"limit": _PAGE} | ({"continue": token} if token else {})
        page = await client.page(resource.path, metadata_only=resource.metadata_only, **query)
        for raw in page.items:
            try:
                yield resource.decode(raw)
            except MalformedObject as error:
                skipped.append(error)
        token = page.metadata.continue_
        if not token:
            return
