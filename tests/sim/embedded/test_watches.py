"""What a watch does over time: bookmarks, its end, a client that is too slow. In virtual time."""

import asyncio

import pytest

from koordpy.app.crds import definitions
from koordpy.sim.embedded import watching as module
from koordpy.sim.embedded.server import EmbeddedCluster
from tests.sim.embedded.inprocess import PODS, call, pod, watching

pytestmark = [pytest.mark.looptime]
WATCH = f"{PODS}?watch=true"


async def test_bookmarks_come_every_minute_to_those_who_allow_them():
    async with EmbeddedCluster() as cluster, watching(cluster, f"{WATCH}&allowWatchBookmarks=true") as lines:
        start = asyncio.get_running_loop().time()
        for minute in (1, 2):
            assert (await lines.next(within=100))["type"] == "BOOKMARK"
            assert asyncio.get_running_loop().time() - start == pytest.approx(60 * minute, abs=0.5)


async def test_a_bookmark_carries_the_newest_version():
    async with EmbeddedCluster() as cluster, watching(cluster, f"{WATCH}&allowWatchBookmarks=true") as lines:
        created = await cluster.create("/api/v1/namespaces", {"metadata": {"name": "elsewhere"}})
        bookmark = await lines.next(within=100)
        assert bookmark["object"]["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]


async def test_a_watch_that_times_out_says_where_to_resume_just_before():
    async with EmbeddedCluster() as cluster:
        asked = f"{WATCH}&allowWatchBookmarks=true&timeoutSeconds=30"
        async with watching(cluster, asked) as lines:
            assert (await lines.next(within=29))["type"] == "BOOKMARK"
            assert await lines.next() is None


async def test_a_watch_without_bookmarks_ends_silently_at_its_timeout():
    async with EmbeddedCluster() as cluster, watching(cluster, f"{WATCH}&timeoutSeconds=10") as lines:
        start = asyncio.get_running_loop().time()
        assert await lines.next(within=20) is None
        assert asyncio.get_running_loop().time() - start == pytest.approx(10, abs=0.5)


async def test_a_timer_that_fires_a_hair_early_does_not_stop_bookmarks():
    """A loop may call 1 ns before the time that was asked for, and virtual time stands still until then."""
    async with EmbeddedCluster() as cluster:
        await asyncio.sleep(1.565493)  # plus 60 is 61.565493000000004, which the loop takes for 61.565493
        async with watching(cluster, f"{WATCH}&allowWatchBookmarks=true&timeoutSeconds=70") as lines:
            told = [await lines.next(within=61) for _ in range(3)]
            assert [each and each["type"] for each in told] == ["BOOKMARK", "BOOKMARK", None]


async def test_what_happens_between_the_request_and_the_first_read_is_not_lost():
    async with EmbeddedCluster() as cluster, watching(cluster, WATCH) as lines:
        await cluster.create(PODS, pod("a"))
        assert (await lines.next())["object"]["metadata"]["name"] == "a"


async def test_initial_events_end_with_a_bookmark_that_says_so():
    async with EmbeddedCluster() as cluster:
        await cluster.create(PODS, pod("a"))
        asked = f"{WATCH}&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
        async with watching(cluster, asked) as lines:
            assert (await lines.next())["type"] == "ADDED"
            end = await lines.next()
        assert end["type"] == "BOOKMARK"
        assert end["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_a_client_that_falls_too_far_behind_is_cut_off(monkeypatch):
    monkeypatch.setattr(module, "BACKLOG", 3)
    async with EmbeddedCluster() as cluster, watching(cluster, WATCH) as lines:
        for number in range(6):
            await cluster.create(PODS, pod(f"p{number}"))
        events = []
        while (event := await lines.next()) is not None:
            events.append(event)
        assert 0 < len(events) < 10


async def test_a_closed_watch_no_longer_hears_the_store():
    async with EmbeddedCluster(kubelets=False) as cluster:
        async with watching(cluster, WATCH):
            assert len(cluster.store._listeners["pods"]) == 1
        assert not cluster.store._listeners["pods"]


async def test_kubectl_get_watch_receives_rows():
    async with EmbeddedCluster() as cluster:
        table = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
        async with watching(cluster, WATCH, **table) as lines:
            await cluster.create(PODS, pod("a"))
            event = await lines.next()
        assert event["object"]["kind"] == "Table"
        assert event["object"]["rows"][0]["cells"][:3] == ["a", "0/1", "Pending"]


async def test_the_creation_time_is_that_of_the_injected_clock():
    async with EmbeddedCluster(clock=lambda: 86_400.0) as cluster:
        created = await cluster.create(PODS, pod("a"))
        assert created["metadata"]["creationTimestamp"] == "1970-01-02T00:00:00Z"
        listed = await call(cluster, "GET", PODS)
        assert listed["items"][0]["metadata"]["creationTimestamp"] == "1970-01-02T00:00:00Z"


async def test_a_watch_of_a_custom_resource_ends_with_its_definition():
    (definition,) = [each for each in definitions() if each["metadata"]["name"] == "podgroups.scheduling.run.ai"]
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    async with EmbeddedCluster() as cluster:
        await cluster.create(path, definition)
        async with watching(cluster, "/apis/scheduling.run.ai/v2alpha2/podgroups?watch=true") as lines:
            await call(cluster, "DELETE", f"{path}/podgroups.scheduling.run.ai")
            assert await lines.next(within=1) is None
