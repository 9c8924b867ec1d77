"""The definitions of PodGroup in `crds/`: accepted as they are, and what they refuse names the field."""

import asyncio
import time

import pytest

from koordpy.api.podgroup.coscheduling import GROUPS, SIGS_GROUP, X_GROUP
from koordpy.app.crds import definitions
from tests.controlplane.client import Client, Json

TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
BOTH = pytest.mark.parametrize("group", GROUPS)


async def installed(api: Client, group: str) -> str:
    """Install the definition of this group, if no test has yet; where its objects are."""
    (definition,) = [each for each in definitions() if each["spec"]["group"] == group]
    created = await api.create("customresourcedefinitions", definition, fieldValidation="Strict")
    assert created.status in {201, 409}, created.body
    resource = f"apis/{group}/v1alpha1/podgroups"
    deadline = time.monotonic() + 10
    while (await api.list(resource)).status != 200:
        assert time.monotonic() < deadline, f"{resource} is not served"
        await asyncio.sleep(0.03)
    return resource


def pod_group(group: str, name: str = "a", **spec: object) -> Json:
    return {"apiVersion": f"{group}/v1alpha1", "kind": "PodGroup", "metadata": {"name": name}, "spec": spec}


@BOTH
async def test_the_definition_is_accepted_with_all_its_names(api: Client, group: str):
    await installed(api, group)
    found = (await api.get("customresourcedefinitions", f"podgroups.{group}")).ok()
    conditions = {condition["type"]: condition["status"] for condition in found["status"]["conditions"]}
    assert conditions["Established"] == conditions["NamesAccepted"] == "True"
    assert conditions.get("NonStructuralSchema", "False") == "False"
    assert found["status"]["acceptedNames"]["shortNames"] == found["spec"]["names"]["shortNames"]


@BOTH
async def test_a_podgroup_keeps_all_that_it_says(api: Client, group: str):
    resource = await installed(api, group)
    spec = {"minMember": 4, "minResources": {"cpu": "16", "memory": "1.5Gi", "nvidia.com/gpu": 8}}
    created = (await api.create(resource, pod_group(group, **spec, scheduleTimeoutSeconds=60))).ok()
    assert created["spec"] == {**spec, "scheduleTimeoutSeconds": 60}


@BOTH
async def test_a_podgroup_may_say_nothing(api: Client, group: str):
    resource = await installed(api, group)
    (await api.create(resource, pod_group(group))).ok()


@BOTH
@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"minMember": -1}, "spec.minMember"),
        ({"minMember": 2**31}, "spec.minMember"),
        ({"minMember": "four"}, "spec.minMember"),
        ({"minResources": ["cpu"]}, "spec.minResources"),
        ({"minResources": {"cpu": "many"}}, "spec.minResources.cpu"),
        ({"minResources": {"cpu": "-1"}}, "spec.minResources.cpu"),
        ({"minResources": {"cpu": True}}, "spec.minResources.cpu"),
        ({"scheduleTimeoutSeconds": -1}, "spec.scheduleTimeoutSeconds"),
        ({"scheduleTimeoutSeconds": "10m"}, "spec.scheduleTimeoutSeconds"),
    ],
    ids=str,
)
async def test_a_wrong_spec_is_refused_and_the_field_named(api: Client, group: str, spec: Json, field: str):
    resource = await installed(api, group)
    message = (await api.create(resource, pod_group(group, **spec))).refused(422, "Invalid")
    assert field in message


@pytest.mark.parametrize(("group", "status"), [(SIGS_GROUP, 201), (X_GROUP, 422)])
async def test_a_minimum_of_0_is_legal_where_koordinator_allows_it(api: Client, group: str, status: int):
    resource = await installed(api, group)
    assert (await api.create(resource, pod_group(group, minMember=0))).status == status


@BOTH
async def test_a_field_that_does_not_exist_is_named_to_who_asks_for_strictness(api: Client, group: str):
    resource = await installed(api, group)
    wrong = pod_group(group, minMembers=4)
    assert "spec.minMembers" in (await api.create(resource, wrong, fieldValidation="Strict")).refused(400, "BadRequest")


@BOTH
async def test_the_status_is_written_on_its_own_and_shown_in_the_columns(api: Client, group: str):
    resource = await installed(api, group)
    (await api.create(resource, pod_group(group, minMember=4))).ok()
    status = {"phase": "Scheduling", "scheduled": 3, "running": 2, "succeeded": 1, "failed": 0, "occupiedBy": "x/job"}
    status["scheduleStartTime"] = "2026-01-02T03:04:05Z"
    waits = {"type": "Scheduled", "status": "False", "reason": "Incomplete", "message": "3 of 4 members"}
    status["conditions"] = [{"type": "Other", "status": "True", "reason": "Else"}, waits]
    patched = (await api.patch(resource, "a", {"status": status}, subresource="status")).ok()
    assert patched["status"] == status
    table = (await api.request("GET", api.path(resource), headers=TABLE)).ok()
    minimum = "Min" if group == SIGS_GROUP else "MinMember"
    columns = ["Name", "Phase", minimum, "Scheduled", "Running", "Succeeded", "Failed", "Reason", "Age"]
    assert [column["name"] for column in table["columnDefinitions"]] == columns
    assert table["rows"][0]["cells"][:-1] == ["a", "Scheduling", 4, 3, 2, 1, 0, "Incomplete"]


@BOTH
@pytest.mark.parametrize(
    ("status", "field"), [({"phase": "Sleeping"}, "status.phase"), ({"running": -1}, "status.running")]
)
async def test_a_wrong_status_is_refused_and_the_field_named(api: Client, group: str, status: Json, field: str):
    resource = await installed(api, group)
    (await api.create(resource, pod_group(group))).ok()
    refused = await api.patch(resource, "a", {"status": status}, subresource="status")
    assert field in refused.refused(422, "Invalid")
