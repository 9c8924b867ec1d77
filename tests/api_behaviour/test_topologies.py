"""The definition of ClusterNetworkTopology in `crds/`: accepted as it is, and what it refuses names the field."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from koordpy.api.topology import GROUP
from koordpy.app.crds import definitions
from tests.controllers.topologies import BROKEN, GOOD, layer, topology
from tests.controlplane.client import Client, Json

NAME = f"clusternetworktopologies.{GROUP}"
RESOURCE = f"apis/{GROUP}/v1alpha1/clusternetworktopologies"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


@pytest.fixture
async def topologies(api: Client) -> AsyncIterator[Client]:
    """The definition is there; what a test makes is gone after it, since no namespace takes it along."""
    (definition,) = [each for each in definitions() if each["spec"]["group"] == GROUP]
    created = await api.create("customresourcedefinitions", definition, fieldValidation="Strict")
    assert created.status in {201, 409}, created.body
    deadline = time.monotonic() + 10
    while (await api.list(RESOURCE, namespace="")).status != 200:
        assert time.monotonic() < deadline, f"{RESOURCE} is not served"
        await asyncio.sleep(0.03)
    yield api
    for each in (await api.list(RESOURCE, namespace="")).ok()["items"]:
        await api.delete(RESOURCE, each["metadata"]["name"], namespace="")


async def create(api: Client, body: Json, **query: str):
    return await api.create(RESOURCE, body, namespace="", **query)


async def test_the_definition_is_accepted_with_its_short_name(topologies: Client):
    found = (await topologies.get("customresourcedefinitions", NAME)).ok()
    conditions = {condition["type"]: condition["status"] for condition in found["status"]["conditions"]}
    assert conditions["Established"] == conditions["NamesAccepted"] == "True"
    assert conditions.get("NonStructuralSchema", "False") == "False"
    assert found["status"]["acceptedNames"]["shortNames"] == ["cnt"]


async def test_a_topology_keeps_all_that_it_says(topologies: Client):
    created = (await create(topologies, topology(GOOD))).ok()
    assert created["spec"] == {"networkTopologySpec": GOOD}


@pytest.mark.parametrize("problem", BROKEN)
async def test_what_is_wrong_with_the_chain_of_layers_is_for_the_controller_to_say(topologies: Client, problem: str):
    (await create(topologies, topology(BROKEN[problem][0]))).ok()


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ({"parentTopologyLayer": "SpineLayer"}, "spec.networkTopologySpec[0].topologyLayer"),
        (layer(""), "spec.networkTopologySpec[0].topologyLayer"),
        ({"topologyLayer": 7}, "spec.networkTopologySpec[0].topologyLayer"),
        ({"topologyLayer": "SpineLayer", "labelKey": "example.com/spine"}, "spec.networkTopologySpec[0].labelKey"),
        (layer("SpineLayer", "", "example.com/the spine"), "spec.networkTopologySpec[0].labelKey[0]"),
        (layer("SpineLayer", "", ""), "spec.networkTopologySpec[0].labelKey[0]"),
    ],
    ids=str,
)
async def test_a_wrong_layer_is_refused_and_the_field_named(topologies: Client, entry: Json, field: str):
    refused = await create(topologies, topology([entry]))
    assert field in refused.refused(422, "Invalid")


async def test_a_field_that_does_not_exist_is_named_to_who_asks_for_strictness(topologies: Client):
    refused = await create(topologies, topology([{"layer": "SpineLayer", **GOOD[0]}]), fieldValidation="Strict")
    assert "spec.networkTopologySpec[0].layer" in refused.refused(400, "BadRequest")


async def test_the_status_is_written_on_its_own_and_shown_in_the_columns(topologies: Client):
    (await create(topologies, topology(GOOD))).ok()
    root = {"topologyLayer": "ClusterTopologyLayer", "topologyName": ""}
    status: Json = {"layers": 3, "domains": 5, "nodes": 12}
    status["detailStatus"] = [
        {"topologyInfo": root, "childTopologyLayer": "SpineLayer", "childTopologyNames": ["s1"], "nodeNum": 12},
        {
            "topologyInfo": {"topologyLayer": "SpineLayer", "topologyName": "s1"},
            "parentTopologyInfo": root,
            "nodeNum": 12,
        },
    ]
    since = "2026-01-02T03:04:05Z"
    condition = {"type": "Ready", "status": "True", "reason": "TreeBuilt", "message": "", "lastTransitionTime": since}
    status["conditions"] = [condition | {"observedGeneration": 1}]
    patched = (await topologies.patch(RESOURCE, "default", {"status": status}, subresource="status", namespace="")).ok()
    assert patched["status"] == status
    table = (await topologies.request("GET", topologies.path(RESOURCE, namespace=""), headers=TABLE)).ok()
    columns = ["Name", "Ready", "Layers", "Domains", "Nodes", "Age"]
    assert [column["name"] for column in table["columnDefinitions"]] == columns
    assert table["rows"][0]["cells"][:-1] == ["default", "True", 3, 5, 12]


@pytest.mark.parametrize(
    ("status", "field"),
    [
        ({"nodes": -1}, "status.nodes"),
        ({"detailStatus": [{"nodeNum": 1}]}, "status.detailStatus[0].topologyInfo"),
        ({"conditions": [{"type": "Ready", "status": "Perhaps"}]}, "status.conditions[0].status"),
    ],
    ids=str,
)
async def test_a_wrong_status_is_refused_and_the_field_named(topologies: Client, status: Json, field: str):
    (await create(topologies, topology(GOOD))).ok()
    refused = await topologies.patch(RESOURCE, "default", {"status": status}, subresource="status", namespace="")
    assert field in refused.refused(422, "Invalid")
