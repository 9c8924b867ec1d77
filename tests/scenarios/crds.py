"""Definitions of the objects of gangs and of the network topology, installed once per server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import yaml

from tests.scenarios.api import Api, Refused
from tests.scenarios.mirror import GROUPS, KAI_GROUPS, QUEUES, SPECS, TOPOLOGIES
from tests.scenarios.objects import POD_GROUP_APIS

Json = dict[str, Any]

_FOLDER = Path(__file__).parents[2] / "crds"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


async def install_crds(server: Api) -> None:
    defined = {GROUPS[api]: f"podgroups.{group}" for api, group in POD_GROUP_APIS.items()}
    defined[KAI_GROUPS] = "podgroups.scheduling.run.ai"
    defined[QUEUES] = "queues.scheduling.run.ai"
    defined[SPECS] = "schedulingspecs.arbitrator.incubator.k8s.io"
    defined[TOPOLOGIES] = "clusternetworktopologies.scheduling.koordinator.sh"
    for path, name in defined.items():
        try:
            await server.ask("GET", path)
        except Refused as refused:
            if refused.status != 429:  # that one is defined, and its storage wants a moment more
                await server.ask("POST", DEFINITIONS, _definition(name))
            await served(server, path)


async def served(server: Api, path: str) -> None:
    async with asyncio.timeout(20):
        while True:
            try:
                await server.ask("GET", path)
            except Refused:
                await asyncio.sleep(0.05)
            else:
                return


def _definition(name: str) -> Json:
    return yaml.safe_load((_FOLDER / f"{name}.yaml").read_text())
