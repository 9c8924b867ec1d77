"""Every object that the chart renders, asked of a real API server: strictly, so that an unknown field is an error."""

import asyncio

import pytest
import yaml

from deploy import chart
from tests.controlplane.client import Client, Json
from tests.controlplane.fixtures import Real
from tests.controlplane.operators import definitions

pytestmark = pytest.mark.real


async def collections(client: Client, versions: set[str]) -> dict[tuple[str, str], tuple[str, bool]]:
    """By API version and kind: the plural, and whether it is namespaced; as the server says."""
    found = {}
    for version in versions:
        listed = (await client.request("GET", f"{root(version)}")).ok()
        for each in listed["resources"]:
            if "/" not in each["name"]:
                found[version, each["kind"]] = each["name"], each["namespaced"]
    return found


def root(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


@pytest.fixture
async def client(real: Real) -> Client:
    """With the definitions of the operators whose objects the chart makes; they stay, for the next test."""
    for name in ("koordpy-system", "gangs"):
        await real.client.create("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    others = await asyncio.to_thread(definitions)
    for each in others:
        answer = await real.client.create("customresourcedefinitions", each)
        if answer.status != 409:
            answer.ok()
    for each in others:
        await _is_served(real.client, each["spec"])
    return real.client


async def _is_served(client: Client, spec: Json) -> None:
    path = f"/apis/{spec['group']}/v1"
    async with asyncio.timeout(30):
        while True:
            found = await client.request("GET", path)
            if found.status == 200 and spec["names"]["plural"] in {one["name"] for one in found.body["resources"]}:
                return
            await asyncio.sleep(0.1)


@pytest.mark.parametrize("case", chart.CASES)
async def test_the_api_server_knows_every_field(client, case):
    objects = [each for each in yaml.safe_load_all(chart.render_case(case)) if each]
    where = await collections(client, {each["apiVersion"] for each in objects})
    for each in objects:
        plural, namespaced = where[each["apiVersion"], each["kind"]]
        assert namespaced == ("namespace" in each["metadata"]), each["metadata"]["name"]
        home = f"/namespaces/{each['metadata']['namespace']}" if namespaced else ""
        strictly = {"dryRun": "All", "fieldValidation": "Strict"}
        path = f"{root(each['apiVersion'])}{home}/{plural}"
        answer = await client.request("POST", path, each, params=strictly)
        if answer.status != 409:  # a definition that another test has installed: its fields were looked at before that
            answer.ok()


async def test_an_unknown_field_would_be_noticed(client):
    body = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "x"},
        "spec": {"ports": [{"port": 1, "prot": 2}]},
    }
    params = {"dryRun": "All", "fieldValidation": "Strict"}
    refused = await client.request("POST", "/api/v1/namespaces/koordpy-system/services", body, params=params)
    assert "prot" in refused.refused(400, "BadRequest")
