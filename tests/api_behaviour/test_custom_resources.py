"""Custom resources: served soon after they are defined, with or without a status of their own."""

import asyncio
import time

from tests.api_behaviour.objects import custom, definition
from tests.controlplane.client import Client, Json

DEFINITIONS = "customresourcedefinitions"


async def _defined(api: Client, definition: Json) -> str:
    """Make sure of the definition and return where its objects are.

    It stays for the next test, as a real server takes a second to serve one and another to stop serving it.
    """
    assert (await api.create(DEFINITIONS, definition)).status in {201, 409}
    spec = definition["spec"]
    resource = f"apis/{spec['group']}/v1/{spec['names']['plural']}"
    deadline = time.monotonic() + 10
    while (await api.list(resource)).status != 200:
        assert time.monotonic() < deadline, f"{resource} is not served"
        await asyncio.sleep(0.03)
    return resource


async def _widgets(api: Client) -> str:
    return await _defined(api, definition("Widget", status_subresource=True))


async def test_a_definition_says_when_it_is_established(api: Client):
    await _widgets(api)
    found = (await api.get(DEFINITIONS, "widgets.koordpy.test")).ok()
    conditions = {condition["type"]: condition["status"] for condition in found["status"]["conditions"]}
    assert conditions["Established"] == "True"
    assert conditions["NamesAccepted"] == "True"


async def test_a_defined_resource_is_found_by_discovery(api: Client):
    await _widgets(api)
    (found,) = [
        resource
        for resource in (await api.request("GET", "/apis/koordpy.test/v1")).ok()["resources"]
        if resource["name"] == "widgets"
    ]
    assert (found["kind"], found["namespaced"]) == ("Widget", True)


async def test_with_a_status_subresource_the_main_resource_ignores_status(api: Client):
    widgets = await _widgets(api)
    created = (await api.create(widgets, custom("Widget", "w", spec={"size": 1}, status={"phase": "made"}))).ok()
    assert "status" not in created
    patched = (await api.patch(widgets, "w", {"status": {"phase": "made"}})).ok()
    assert "status" not in patched


async def test_with_a_status_subresource_status_writes_leave_spec_and_generation_alone(api: Client):
    widgets = await _widgets(api)
    (await api.create(widgets, custom("Widget", "w", spec={"size": 1}))).ok()
    patch = {"spec": {"size": 2}, "status": {"phase": "ready"}}
    patched = (await api.patch(widgets, "w", patch, subresource="status")).ok()
    assert (patched["spec"], patched["status"]) == ({"size": 1}, {"phase": "ready"})
    assert patched["metadata"]["generation"] == 1


async def test_a_change_of_the_spec_moves_the_generation_and_one_of_labels_does_not(api: Client):
    widgets = await _widgets(api)
    assert (await api.create(widgets, custom("Widget", "w", spec={"size": 1}))).ok()["metadata"]["generation"] == 1
    assert (await api.patch(widgets, "w", {"spec": {"size": 3}})).ok()["metadata"]["generation"] == 2
    labelled = (await api.patch(widgets, "w", {"metadata": {"labels": {"x": "y"}}})).ok()
    assert labelled["metadata"]["generation"] == 2


async def test_without_a_status_subresource_status_is_a_field_like_any_other(api: Client):
    gadgets = await _defined(api, definition("Gadget", status_subresource=False))
    created = (await api.create(gadgets, custom("Gadget", "g", status={"phase": "made"}))).ok()
    assert created["status"] == {"phase": "made"}
    patched = (await api.patch(gadgets, "g", {"status": {"phase": "changed"}})).ok()
    assert patched["status"] == {"phase": "changed"}
    assert patched["metadata"]["generation"] == 2
    assert (await api.patch(gadgets, "g", {"status": {}}, subresource="status")).status == 404


async def test_a_field_of_the_wrong_type_is_refused_with_422_and_its_path(api: Client):
    widgets = await _widgets(api)
    message = (await api.create(widgets, custom("Widget", "w", spec={"size": "big"}))).refused(422, "Invalid")
    assert "spec.size" in message


async def test_a_field_that_the_schema_does_not_know_is_dropped(api: Client):
    widgets = await _widgets(api)
    created = (await api.create(widgets, custom("Widget", "w", spec={"size": 1, "colour": "red"}))).ok()
    assert created["spec"] == {"size": 1}


async def test_custom_objects_are_listed_and_watched_as_all_others(api: Client):
    widgets = await _widgets(api)
    (await api.create(widgets, custom("Widget", "w", spec={"size": 1}))).ok()
    listed = (await api.list(widgets)).ok()
    assert (listed["kind"], len(listed["items"])) == ("WidgetList", 1)
    async with api.watch(widgets, resourceVersion=listed["metadata"]["resourceVersion"]) as watch:
        (await api.patch(widgets, "w", {"spec": {"size": 2}})).ok()
        assert (await watch.next())["object"]["spec"] == {"size": 2}


async def test_a_stale_put_of_a_custom_object_is_refused_with_409(api: Client):
    widgets = await _widgets(api)
    first = (await api.create(widgets, custom("Widget", "w", spec={"size": 1}))).ok()
    (await api.patch(widgets, "w", {"spec": {"size": 2}})).ok()
    (await api.replace(widgets, first)).refused(409, "Conflict")


async def test_a_put_of_a_custom_object_must_say_which_version_it_replaces(api: Client):
    widgets = await _widgets(api)
    created = (await api.create(widgets, custom("Widget", "w"))).ok()
    del created["metadata"]["resourceVersion"]
    assert "metadata.resourceVersion" in (await api.replace(widgets, created)).refused(422, "Invalid")


async def test_a_custom_resource_takes_no_strategic_patch(api: Client):
    widgets = await _widgets(api)
    (await api.create(widgets, custom("Widget", "w"))).ok()
    (await api.patch(widgets, "w", {"spec": {}}, how="strategic")).refused(415, "UnsupportedMediaType")


async def test_its_printer_columns_are_in_its_table(api: Client):
    widgets = await _widgets(api)
    (await api.create(widgets, custom("Widget", "w", spec={"size": 5}))).ok()
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    table = (await api.request("GET", api.path(widgets), headers={"Accept": accept})).ok()
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Size"]
    assert table["rows"][0]["cells"] == ["w", 5]


async def test_a_list_of_metadata_leaves_the_rest_out(api: Client):
    widgets = await _widgets(api)
    (await api.create(widgets, custom("Widget", "w", spec={"size": 1}))).ok()
    accept = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
    (item,) = (await api.request("GET", api.path(widgets), headers=accept)).ok()["items"]
    assert item.keys() == {"kind", "apiVersion", "metadata"}
    assert (item["kind"], item["metadata"]["name"]) == ("PartialObjectMetadata", "w")
