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
    path = _FOLDER / f"podgroups.{group}.yaml"
    return yaml.safe_load(path.read_text()) if path.exists() else _minimal(group)


def _minimal(group: str) -> Json:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": {"openAPIV3Schema": anything}}
    names = {"plural": "podgroups", "singular": "podgroup", "kind": "PodGroup", "listKind": "PodGroupList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"podgroups.{group}",
            # Groups under k8s.io are protected: the API server wants to know where they were reviewed.
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
        },
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }
