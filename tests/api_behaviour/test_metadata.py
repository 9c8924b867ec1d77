"""Metadata alone, for those who want no more: PartialObjectMetadata in gets, lists, watches and answers to writes."""

import pytest

from tests.api_behaviour.objects import pod
from tests.controlplane.client import Client, Json

ONE = {"Accept": "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
LIST = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
TYPE = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
LABELLED = {"labels": {"x": "y"}, "annotations": {"note": "kept"}}


async def _created(api: Client, name: str = "a") -> Json:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "set", "uid": "1234", "controller": True}
    return (await api.create("pods", pod(name, meta={**LABELLED, "ownerReferences": [owner]}))).ok()


async def test_a_get_of_metadata_has_all_of_it_and_nothing_else(api: Client):
    created = await _created(api)
    found = (await api.request("GET", api.path("pods", "a"), headers=ONE)).ok()
    assert found == {**TYPE, "metadata": created["metadata"]}
    assert found["metadata"]["ownerReferences"][0]["name"] == "set"


async def test_a_list_of_metadata_has_the_pages_and_the_version_of_any_list(api: Client):
    for name in ("a", "b", "c"):
        await _created(api, name)
    path = api.path("pods")
    first = (await api.request("GET", path, headers=LIST, params={"limit": "2"})).ok()
    assert (first["kind"], first["apiVersion"]) == ("PartialObjectMetadataList", "meta.k8s.io/v1")
    assert first["metadata"]["remainingItemCount"] == 1
    more = {"limit": "2", "continue": first["metadata"]["continue"]}
    second = (await api.request("GET", path, headers=LIST, params=more)).ok()
    items = first["items"] + second["items"]
    assert [item["metadata"]["name"] for item in items] == ["a", "b", "c"]
    assert all(item.keys() == {"kind", "apiVersion", "metadata"} and item["kind"] == TYPE["kind"] for item in items)
    assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]


async def test_an_empty_list_of_metadata_has_null_where_other_lists_have_none(api: Client):
    assert (await api.request("GET", api.path("pods"), headers=LIST)).ok()["items"] is None
    assert (await api.list("pods")).ok()["items"] == []


async def test_selectors_pick_by_what_is_not_sent(api: Client):
    await _created(api, "a")
    (await api.create("pods", pod("b", nodeName="n"))).ok()
    params = {"fieldSelector": "spec.nodeName=n"}
    listed = (await api.request("GET", api.path("pods"), headers=LIST, params=params)).ok()
    assert [item["metadata"]["name"] for item in listed["items"]] == ["b"]


async def test_a_watch_tells_of_metadata(api: Client):
    await _created(api)
    async with api.watch("pods", headers=ONE) as watch:
        added = await watch.next()
        (await api.patch("pods", "a", {"metadata": {"labels": {"x": "z"}}})).ok()
        changed = await watch.next()
        (await api.delete("pods", "a", grace=0)).ok()
        terminating, gone = await watch.next(), await watch.next()
    events = (added, changed, terminating, gone)
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]
    for event in events:
        assert event["object"].keys() == {"kind", "apiVersion", "metadata"}
        assert event["object"]["kind"] == TYPE["kind"]
    assert changed["object"]["metadata"]["labels"] == {"x": "z"}


async def test_a_bookmark_in_a_watch_of_metadata_has_its_type(api: Client):
    asked = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    async with api.watch("pods", headers=ONE, **asked) as watch:
        bookmark = await watch.next()
    assert bookmark["type"] == "BOOKMARK"
    assert (bookmark["object"]["kind"], bookmark["object"]["apiVersion"]) == (TYPE["kind"], TYPE["apiVersion"])


async def test_a_write_can_be_answered_with_metadata(api: Client):
    created = (await api.request("POST", api.path("pods"), pod("a"), headers=ONE)).ok()
    assert created.keys() == {"kind", "apiVersion", "metadata"}
    assert (await api.get("pods", "a")).ok()["metadata"] == created["metadata"]


async def test_an_object_is_no_list_and_a_list_is_no_object(api: Client):
    await _created(api)
    for path, headers in ((api.path("pods", "a"), LIST), (api.path("pods"), ONE)):
        message = (await api.request("GET", path, headers=headers)).refused(406, "NotAcceptable")
        assert "you requested PartialObjectMetadata" in message


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (LIST["Accept"] + ",application/json", "PartialObjectMetadataList"),
        ("application/json," + LIST["Accept"], "PodList"),
        ("application/json;as=Nonsense;g=meta.k8s.io;v=v1,application/json", "PodList"),
        ("application/json;as=PartialObjectMetadataList;g=elsewhere;v=v1,application/json", "PodList"),
    ],
)
async def test_the_first_form_that_can_be_served_counts(api: Client, accept: str, kind: str):
    assert (await api.request("GET", api.path("pods"), headers={"Accept": accept})).ok()["kind"] == kind


@pytest.mark.parametrize("form", ["as=Nonsense;g=meta.k8s.io;v=v1", "as=PartialObjectMetadataList;g=meta.k8s.io;v=v9"])
async def test_a_form_that_cannot_be_served_is_406(api: Client, form: str):
    headers = {"Accept": f"application/json;{form}"}
    (await api.request("GET", api.path("pods"), headers=headers)).refused(406, "NotAcceptable")
