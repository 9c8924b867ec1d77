"""Watches: what a reflector lives on. A change is told once, in order, and the end of a watch is a clean one."""

import asyncio
import time

from tests.api_behaviour.objects import node, pod
from tests.api_behaviour.servers import Server
from tests.controlplane.client import Client, Watch

UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"


async def _version(api: Client) -> str:
    return (await api.list("pods")).ok()["metadata"]["resourceVersion"]


async def _told(watch: Watch, count: int) -> list[tuple[str, str]]:
    events = [await watch.next() for _ in range(count)]
    return [(event["type"], event["object"]["metadata"]["name"]) for event in events]


async def _finish(api: Client, name: str) -> None:
    (await api.patch("pods", name, {"status": {"phase": "Succeeded"}}, subresource="status")).ok()


async def test_a_watch_from_a_list_tells_each_later_change_once_and_in_order(api: Client):
    (await api.create("pods", pod("before"))).ok()
    version = await _version(api)
    (await api.create("pods", pod("a"))).ok()
    (await api.patch("pods", "a", {"metadata": {"labels": {"x": "y"}}})).ok()
    async with api.watch("pods", resourceVersion=version) as watch:
        (await api.create("pods", pod("b"))).ok()
        (await api.patch("pods", "a", {"metadata": {"labels": {"x": "z"}}})).ok()
        expected = [("ADDED", "a"), ("MODIFIED", "a"), ("ADDED", "b"), ("MODIFIED", "a")]
        assert await _told(watch, 4) == expected
        assert await watch.quiet()


async def test_a_watched_object_carries_kind_and_growing_versions(api: Client):
    async with api.watch("pods", resourceVersion=await _version(api)) as watch:
        (await api.create("pods", pod("a"))).ok()
        (await api.create("pods", pod("b"))).ok()
        first, second = [(await watch.next())["object"] for _ in range(2)]
    assert (first["kind"], first["apiVersion"]) == ("Pod", "v1")
    assert int(first["metadata"]["resourceVersion"]) < int(second["metadata"]["resourceVersion"])


async def test_a_pod_that_goes_at_once_is_told_as_terminating_and_then_as_deleted_each_with_its_version(api: Client):
    created = (await api.create("pods", pod("a"))).ok()
    async with api.watch("pods", resourceVersion=await _version(api)) as watch:
        (await api.delete("pods", "a")).ok()
        terminating, gone = await watch.next(), await watch.next()
    assert (terminating["type"], gone["type"]) == ("MODIFIED", "DELETED")
    versions = [int(told["metadata"]["resourceVersion"]) for told in (created, terminating["object"], gone["object"])]
    assert versions == sorted(set(versions))


async def test_a_deleted_node_is_told_once_with_a_version_of_its_own(api: Client):
    created = (await api.create("nodes", node("n"))).ok()
    version = created["metadata"]["resourceVersion"]
    async with api.watch("nodes", resourceVersion=version) as watch:
        (await api.delete("nodes", "n")).ok()
        gone = await watch.next()
    assert gone["type"] == "DELETED"
    assert int(gone["object"]["metadata"]["resourceVersion"]) > int(version)


async def test_a_watch_without_a_version_begins_with_what_exists(api: Client):
    (await api.create("pods", pod("a"))).ok()
    async with api.watch("pods") as watch:
        assert await _told(watch, 1) == [("ADDED", "a")]
        (await api.create("pods", pod("b"))).ok()
        assert await _told(watch, 1) == [("ADDED", "b")]


async def test_an_object_that_leaves_the_field_selector_is_told_as_deleted(api: Client):
    (await api.create("pods", pod("a"))).ok()
    async with api.watch("pods", resourceVersion=await _version(api), fieldSelector=UNFINISHED) as watch:
        await _finish(api, "a")
        assert await _told(watch, 1) == [("DELETED", "a")]
        (await api.patch("pods", "a", {"metadata": {"labels": {"x": "y"}}})).ok()
        assert await watch.quiet()


async def test_an_object_that_comes_into_the_label_selector_is_told_as_added(api: Client):
    (await api.create("pods", pod("a"))).ok()
    async with api.watch("pods", resourceVersion=await _version(api), labelSelector="gang=g") as watch:
        (await api.patch("pods", "a", {"metadata": {"labels": {"gang": "g"}}})).ok()
        assert await _told(watch, 1) == [("ADDED", "a")]
        (await api.patch("pods", "a", {"metadata": {"labels": {"gang": None}}})).ok()
        assert await _told(watch, 1) == [("DELETED", "a")]


async def test_a_watch_over_all_namespaces_sees_this_one(api: Client):
    async with api.watch("pods", namespace="", resourceVersion=await _version(api)) as watch:
        created = (await api.create("pods", pod("a"))).ok()
        assert (await watch.next())["object"] == created


async def test_a_watch_of_one_namespace_does_not_see_another(api: Client):
    async with api.watch("pods", resourceVersion=await _version(api)) as watch:
        (await api.create("pods", pod("elsewhere"), namespace="default")).ok()
        (await api.delete("pods", "elsewhere", namespace="default")).ok()
        assert await watch.quiet()


async def test_bookmarks_come_with_a_version_when_they_are_asked_for(api: Client):
    # One is due two seconds before the watch ends, once there was a change; otherwise about every minute.
    asked = {"allowWatchBookmarks": "true", "timeoutSeconds": 3}
    async with api.watch("pods", resourceVersion=await _version(api), **asked) as watch:
        created = (await api.create("pods", pod("a"))).ok()
        assert await _told(watch, 1) == [("ADDED", "a")]
        bookmark = await watch.next()
    assert (bookmark["type"], bookmark["object"]["kind"]) == ("BOOKMARK", "Pod")
    assert int(bookmark["object"]["metadata"]["resourceVersion"]) >= int(created["metadata"]["resourceVersion"])


async def test_initial_events_end_with_a_bookmark_that_says_so(api: Client):
    (await api.create("pods", pod("a"))).ok()
    asked = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    async with api.watch("pods", **asked) as watch:
        assert await _told(watch, 1) == [("ADDED", "a")]
        end = await watch.next()
    assert end["type"] == "BOOKMARK"
    assert end["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_timeout_seconds_ends_a_watch_cleanly(api: Client):
    started = time.monotonic()
    async with api.watch("pods", resourceVersion=await _version(api), timeoutSeconds=1) as watch:
        assert await watch.next() is None
    assert 0.5 < time.monotonic() - started < 4


async def test_a_watch_from_a_forgotten_version_is_told_410_expired(server: Server):
    version = await _version(server.client)
    (await server.client.create("pods", pod("a"))).ok()
    await server.forget_history()
    async with server.client.watch("pods", resourceVersion=version) as watch:
        event = await watch.next()
        assert event["type"] == "ERROR"
        assert (event["object"]["kind"], event["object"]["code"]) == ("Status", 410)
        assert event["object"]["reason"] == "Expired"
        assert await watch.next() is None


async def test_two_watches_are_told_the_same(api: Client):
    version = await _version(api)
    async with (
        api.watch("pods", resourceVersion=version) as one,
        api.watch("pods", resourceVersion=version) as other,
    ):
        created = (await api.create("pods", pod("a"))).ok()
        expected = {"type": "ADDED", "object": created}
        assert await asyncio.gather(one.next(), other.next()) == [expected, expected]
