"""The definitions of QueueJob and SchedulingSpec in `crds/`: their names, their columns, and what kubectl explains."""

import asyncio
import time

import pytest

from koordpy.api.queuejob import API_VERSION, GROUP
from koordpy.app.crds import definitions
from tests.controlplane.client import Client, Json

BASE = f"apis/{API_VERSION}"
TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
BOTH = pytest.mark.parametrize("plural", ["queuejobs", "schedulingspecs"])
TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "work"}]}}


def definition_of(plural: str) -> Json:
    (found,) = [each for each in definitions() if each["metadata"]["name"] == f"{plural}.{GROUP}"]
    return found


@pytest.fixture
async def arbitrator(api: Client) -> Client:
    """Both definitions are there."""
    for plural in ("queuejobs", "schedulingspecs"):
        created = await api.create("customresourcedefinitions", definition_of(plural), fieldValidation="Strict")
        assert created.status in {201, 409}, created.body
        deadline = time.monotonic() + 10
        while (await api.list(f"{BASE}/{plural}")).status != 200:
            assert time.monotonic() < deadline, f"{plural} are not served"
            await asyncio.sleep(0.03)
    return api


def body(kind: str, **spec: object) -> Json:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": "a"}, "spec": spec}


# --- names ---


@BOTH
async def test_the_definition_is_accepted_with_all_its_names(arbitrator: Client, plural: str):
    found = (await arbitrator.get("customresourcedefinitions", f"{plural}.{GROUP}")).ok()
    conditions = {condition["type"]: condition["status"] for condition in found["status"]["conditions"]}
    assert conditions["Established"] == conditions["NamesAccepted"] == "True"
    assert conditions.get("NonStructuralSchema", "False") == "False"
    wanted, accepted = definition_of(plural)["spec"]["names"], found["status"]["acceptedNames"]
    assert {key: accepted.get(key) for key in wanted} == wanted


@pytest.mark.parametrize(
    ("plural", "kind", "short"), [("queuejobs", "QueueJob", "qj"), ("schedulingspecs", "SchedulingSpec", "ss")]
)
async def test_kubectl_finds_it_by_its_short_name(arbitrator: Client, plural: str, kind: str, short: str):
    resources = (await arbitrator.request("GET", f"/{BASE}")).ok()["resources"]
    (found,) = [each for each in resources if each["name"] == plural]
    assert (found["kind"], found["shortNames"], found["namespaced"]) == (kind, [short], True)
    assert {"get", "list", "watch", "create", "patch", "delete"} <= set(found["verbs"])


async def test_queuejobs_are_among_all_and_have_a_status_of_their_own(arbitrator: Client):
    resources = {each["name"]: each for each in (await arbitrator.request("GET", f"/{BASE}")).ok()["resources"]}
    assert resources["queuejobs"]["categories"] == ["all"]
    assert {"queuejobs/status"} == {name for name in resources if "/" in name}


# --- columns ---


async def test_the_columns_of_a_queuejob_are_its_phase_and_counters(arbitrator: Client):
    queuejobs = f"{BASE}/queuejobs"
    (await arbitrator.create(queuejobs, body("QueueJob", taskSpecs=[{"template": TEMPLATE}]))).ok()
    counters = {"minAvailable": 4, "pending": 3, "running": 2, "succeeded": 1, "failed": 0, "restarts": 5}
    status = {"phase": "Running", **counters}
    (await arbitrator.patch(queuejobs, "a", {"status": status}, subresource="status")).ok()
    table = (await arbitrator.request("GET", arbitrator.path(queuejobs), headers=TABLE)).ok()
    columns = ["Name", "Phase", "Min", "Pending", "Running", "Succeeded", "Failed", "Restarts", "Age"]
    assert [column["name"] for column in table["columnDefinitions"]] == columns
    assert table["rows"][0]["cells"][:-1] == ["a", "Running", 4, 3, 2, 1, 0, 5]


async def test_the_columns_of_a_scheduling_spec_are_its_minimum_and_whose_pods_it_is_about(arbitrator: Client):
    specs = f"{BASE}/schedulingspecs"
    spec = body("SchedulingSpec", minAvailable=4)
    owner = {"apiVersion": API_VERSION, "kind": "QueueJob", "name": "training", "uid": "u", "controller": True}
    spec["metadata"]["ownerReferences"] = [{**owner, "name": "other", "uid": "v", "controller": False}, owner]
    (await arbitrator.create(specs, spec)).ok()
    table = (await arbitrator.request("GET", arbitrator.path(specs), headers=TABLE)).ok()
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Min", "Owner", "Age"]
    assert table["rows"][0]["cells"][:-1] == ["a", 4, "training"]


# --- kubectl explain ---


async def schema_of(client: Client, kind: str) -> Json:
    """What `kubectl explain` reads: the schema in the API server's OpenAPI v3 document of the group."""
    deadline = time.monotonic() + 20  # it is published some time after the definition
    while True:
        found = await client.request("GET", f"/openapi/v3/{BASE}")
        for name, schema in found.body.get("components", {}).get("schemas", {}).items() if found.status == 200 else ():
            kinds = schema.get("x-kubernetes-group-version-kind", [])
            if name.endswith(f".{kind}") and {"group": GROUP, "kind": kind, "version": "v1alpha1"} in kinds:
                return schema
        assert time.monotonic() < deadline, f"{kind} is not in the document: {found.status}"
        await asyncio.sleep(0.1)


@pytest.mark.parametrize(("plural", "kind"), [("queuejobs", "QueueJob"), ("schedulingspecs", "SchedulingSpec")])
async def test_kubectl_explains_every_field(arbitrator: Client, plural: str, kind: str):
    published = await schema_of(arbitrator, kind)
    written = definition_of(plural)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    fields = described(written)
    assert [path for path, text in fields.items() if not text] == []
    assert fields.items() <= described(published).items()


def described(schema: Json, path: str = "") -> dict[str, str]:
    """The description of each field by its path; the API server has its own words for what every object has."""
    found = {path: schema.get("description", "")}
    for name, field in schema.get("items", schema).get("properties", {}).items():
        if path or name not in {"apiVersion", "kind", "metadata"}:
            found |= described(field, f"{path}.{name}")
    return found
