"""What kubectl asks for before it shows anything: discovery, tables and the version."""

import pytest

from tests.api_behaviour.objects import node, pod
from tests.controlplane.client import Client

TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}


async def test_pods_as_a_table_have_the_columns_that_kubectl_shows(api: Client):
    (await api.create("pods", pod("a"))).ok()
    table = (await api.request("GET", api.path("pods"), headers=TABLE)).ok()
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    columns = [column["name"] for column in table["columnDefinitions"]]
    assert columns[:5] == ["Name", "Ready", "Status", "Restarts", "Age"]
    cells = dict(zip(columns, table["rows"][0]["cells"], strict=True))
    assert (cells["Name"], cells["Ready"], cells["Status"]) == ("a", "0/1", "Pending")
    assert table["rows"][0]["object"]["metadata"]["name"] == "a"


async def test_nodes_as_a_table_say_whether_they_are_ready(api: Client):
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    (await api.create("nodes", {**node("n"), "status": ready})).ok()
    table = (await api.request("GET", api.path("nodes"), headers=TABLE)).ok()
    assert [column["name"] for column in table["columnDefinitions"]][:3] == ["Name", "Status", "Roles"]
    assert table["rows"][0]["cells"][:3] == ["n", "Ready", "<none>"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/v1", {"pods", "pods/binding", "pods/eviction", "pods/status", "nodes", "nodes/status", "namespaces"}),
        ("/apis/coordination.k8s.io/v1", {"leases"}),
        ("/apis/events.k8s.io/v1", {"events"}),
        ("/apis/policy/v1", {"poddisruptionbudgets"}),
        ("/apis/scheduling.k8s.io/v1", {"priorityclasses"}),
        ("/apis/apiextensions.k8s.io/v1", {"customresourcedefinitions"}),
    ],
)
async def test_discovery_names_the_resources(api: Client, path: str, expected: set[str]):
    found = (await api.request("GET", path)).ok()
    assert found["kind"] == "APIResourceList"
    assert expected <= {resource["name"] for resource in found["resources"]}


async def test_discovery_names_the_groups(api: Client):
    found = (await api.request("GET", "/apis")).ok()
    assert found["kind"] == "APIGroupList"
    assert {"coordination.k8s.io", "policy", "apiextensions.k8s.io"} <= {group["name"] for group in found["groups"]}


async def test_the_version_is_that_of_a_current_kubernetes(api: Client):
    version = (await api.request("GET", "/version")).ok()
    assert version["major"] == "1"
    assert int(version["minor"].rstrip("+")) >= 30


@pytest.mark.parametrize("path", ["/readyz", "/livez"])
async def test_health_is_plain_ok(api: Client, path: str):
    assert (await api.request("GET", path)).ok() == {"text": "ok"}
