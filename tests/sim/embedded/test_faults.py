"""Injected faults: each does what it says, as often as it says."""

import asyncio

import pytest

from koordpy.sim.embedded.faults import Fault, Rule
from koordpy.sim.embedded.request import ConnectionCut
from koordpy.sim.embedded.server import EmbeddedCluster
from tests.sim.embedded.inprocess import PODS, call, pod, watching

pytestmark = [pytest.mark.looptime]
WATCH = f"{PODS}?watch=true"


async def test_a_status_fault_does_nothing_else_and_is_used_up():
    async with EmbeddedCluster() as cluster:
        cluster.faults.add(Rule(Fault.STATUS, method="POST", path=".*/pods", status=429, retry_after=3))
        refused = await call(cluster, "POST", PODS, pod("a"))
        assert (refused["code"], refused["reason"], refused["httpHeaders"]["Retry-After"]) == (
            429,
            "TooManyRequests",
            "3",
        )
        assert (await call(cluster, "GET", f"{PODS}/a"))["httpStatus"] == 404
        assert (await call(cluster, "POST", PODS, pod("a")))["httpStatus"] == 201


async def test_a_rule_without_a_count_holds_until_it_is_cleared():
    async with EmbeddedCluster() as cluster:
        cluster.faults.add(Rule(Fault.STATUS, count=None, status=500))
        assert [(await call(cluster, "GET", PODS))["httpStatus"] for _ in range(3)] == [500, 500, 500]
        cluster.faults.clear()
        assert (await call(cluster, "GET", PODS))["httpStatus"] == 200


async def test_a_rule_spares_other_methods_and_paths():
    async with EmbeddedCluster() as cluster:
        rule = cluster.faults.add(Rule(Fault.STATUS, method="POST", path=".*/binding"))
        assert (await call(cluster, "POST", PODS, pod("a")))["httpStatus"] == 201
        assert (await call(cluster, "GET", PODS))["httpStatus"] == 200
        assert rule.hits == 0


async def test_a_dropped_request_is_not_carried_out():
    async with EmbeddedCluster() as cluster:
        cluster.faults.add(Rule(Fault.DROP, method="POST"))
        with pytest.raises(ConnectionCut):
            await call(cluster, "POST", PODS, pod("a"))
        assert (await call(cluster, "GET", f"{PODS}/a"))["httpStatus"] == 404


async def test_a_lost_answer_leaves_the_write_done():
    async with EmbeddedCluster() as cluster:
        cluster.faults.add(Rule(Fault.ANSWER_LOST, method="POST", status=503))
        assert (await call(cluster, "POST", PODS, pod("a")))["code"] == 503
        assert (await call(cluster, "GET", f"{PODS}/a"))["httpStatus"] == 200


async def test_an_answer_can_be_lost_with_the_connection():
    async with EmbeddedCluster() as cluster:
        cluster.faults.add(Rule(Fault.ANSWER_LOST, method="POST", status=0))
        with pytest.raises(ConnectionCut):
            await call(cluster, "POST", PODS, pod("a"))
        assert (await call(cluster, "GET", f"{PODS}/a"))["httpStatus"] == 200


async def test_a_delayed_request_is_carried_out_after_the_delay():
    async with EmbeddedCluster() as cluster:
        cluster.faults.add(Rule(Fault.DELAY, seconds=30))
        start = asyncio.get_running_loop().time()
        assert (await call(cluster, "POST", PODS, pod("a")))["httpStatus"] == 201
        assert asyncio.get_running_loop().time() - start == pytest.approx(30, abs=0.5)


async def test_a_cut_watch_breaks_after_the_chunks_it_is_granted():
    async with EmbeddedCluster() as cluster:
        cluster.faults.add(Rule(Fault.WATCH_CUT, after_chunks=1))
        async with watching(cluster, WATCH) as lines:
            await cluster.create(PODS, pod("a"))
            assert (await lines.next())["type"] == "ADDED"
            with pytest.raises(ConnectionCut):
                await lines.next()


async def test_a_stuck_watch_stays_open_and_silent():
    async with EmbeddedCluster() as cluster:
        cluster.faults.add(Rule(Fault.WATCH_STUCK))
        async with watching(cluster, WATCH) as lines:
            await cluster.create(PODS, pod("a"))
            with pytest.raises(TimeoutError):
                await lines.next(within=3600)


async def test_a_half_written_line_is_followed_by_a_cut():
    async with EmbeddedCluster() as cluster:
        cluster.faults.add(Rule(Fault.HALF_LINE))
        async with watching(cluster, WATCH) as lines:
            await cluster.create(PODS, pod("a"))
            chunk = await anext(lines._chunks)
            assert chunk.startswith(b'{"type":"ADDED"')
            assert not chunk.endswith(b"\n")
            with pytest.raises(ConnectionCut):
                await anext(lines._chunks)


async def test_a_watch_fault_spares_lists():
    async with EmbeddedCluster() as cluster:
        cluster.faults.add(Rule(Fault.WATCH_CUT, path=".*/pods"))
        assert (await call(cluster, "GET", PODS))["httpStatus"] == 200
