"""What users do to the topology and its nodes, and what became of it."""

from __future__ import annotations

import asyncio
from typing import Any

from koordpy.api.topology import GROUP
from tests.builders import Json
from tests.controllers.topologies import (
    DEFAULT,
    GOOD,
    NODES,
    TOPOLOGIES,
    koordinators,
    topology,
)
from tests.controllers.world import SETTLED_S, World, definition

KINDS = {
    "ours": definition(GROUP),
    "koordinators": koordinators(),
    "without-subresource": definition(GROUP, status_subresource=False),
}


async def add(world: World, *nodes: Json) -> None:
    for each in nodes:
        await world.cluster.create(NODES, each)


async def status_after(world: World, seconds: float = SETTLED_S) -> Json:
    await asyncio.sleep(seconds)
    return (await world.ask("GET", DEFAULT)).get("status", {})


async def install(world: World, layers: list[Json] | None = None) -> None:
    await world.cluster.create(TOPOLOGIES, topology(GOOD if layers is None else layers))


async def change_spec(world: World, layers: list[Json]) -> None:
    await world.ask("PATCH", DEFAULT, {"spec": {"networkTopologySpec": layers}})


async def events(world: World) -> list[Any]:
    found = await world.ask("GET", "/apis/events.k8s.io/v1/namespaces/default/events")
    return [(e["type"], e["reason"], e["regarding"]["name"], e["note"]) for e in found["items"]]


def topology_writes(world: World) -> list[str]:
    return [path for path in world.writes() if path.startswith(TOPOLOGIES)]
