"""PodGroups of both API groups, defined once per server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import yaml

from tests.scenarios.api import Api, Refused
from tests.scenarios.mirror import GROUPS
from tests.scenarios.objects import POD_GROUP_APIS

Json = dict[str, Any]

_FOLDER = Path(__file__).parents[2] / "crds"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


async def install_crds(server: Api) -> None:
    for api, group in POD_GROUP_APIS.items():
        try:
            await server.ask("GET", GROUPS[api])
        except Refused:
            await server.ask("POST", _DEFINITIONS, _definition(group))
            await _served(server, GROUPS[api])


async def _served(server: Api, path: str) -> None:
    async with asyncio.timeout(20):
        while True:
            try:
                await server.ask("GET", path)
            except Refused:
                await asyncio.sleep(0.05)
            else:
                return


def _definition(group: str) -> Json:
    return yaml.safe_load((_FOLDER / f"podgroups.{group}.yaml").read_text())
