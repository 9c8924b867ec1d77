"""What a running scheduler does to the pods of a real cluster, and what it leaves alone."""

from __future__ import annotations

import asyncio

import pytest

from tests.app.cluster import add_nodes, add_pods, bound, condition, events, overcommitted, pods
from tests.app.scheduler import SchedulerProcess
from tests.builders import node_json, pod_json
from tests.controlplane.fixtures import Real

pytestmark = pytest.mark.real

NO_ROOM = "0/100 nodes are available: 100 Insufficient cpu."


async def test_a_thousand_pods_are_bound_where_they_fit_and_the_rest_is_told_why(real: Real, tmp_path) -> None:
    await add_nodes(real.client, 100)
    await asyncio.gather(add_pods(real.client, 980, "400m"), add_pods(real.client, 20, "5", name="big"))
    async with SchedulerProcess(tmp_path, "--kubeconfig", real.kubeconfig(tmp_path)) as scheduler:

        async def done() -> bool:
            everyone = await pods(real.client)
            told = [pod for pod in everyone if condition(pod).get("status") == "False"]
            return (len(await bound(real.client)), len(told)) == (980, 20)

        await scheduler.until(done, 40, every=0.5)
        everyone = await pods(real.client)
        assert overcommitted(everyone) == {}
        big = [pod for pod in everyone if pod["metadata"]["name"].startswith("big")]
        assert not any(pod["spec"].get("nodeName") for pod in big)
        assert {condition(pod)["reason"] for pod in big} == {"Unschedulable"}
        assert all(condition(pod)["message"].startswith(NO_ROOM) for pod in big)
        await _events_say_the_same(real, scheduler)
        assert scheduler.lines("bind_failed") == []


async def _events_say_the_same(real: Real, scheduler: SchedulerProcess) -> None:
    async def all_there() -> bool:
        return len(await events(real)) >= 1000

    await scheduler.until(all_there, 30, every=0.5)
    found = await events(real)
    failed = [event for event in found if event["reason"] == "FailedScheduling"]
    assert len({event["regarding"]["uid"] for event in failed}) == 20
    assert all(event["note"].startswith(NO_ROOM) for event in failed)
    assert len([event for event in found if event["reason"] == "Scheduled"]) == 980


async def test_a_pod_that_stays_pending_for_the_same_reason_is_not_written_to(real: Real, tmp_path) -> None:
    await add_nodes(real.client, 2)
    await add_pods(real.client, 1, "5")
    async with SchedulerProcess(tmp_path, "--kubeconfig", real.kubeconfig(tmp_path)) as scheduler:

        async def told() -> bool:
            return bool(condition((await pods(real.client))[0]))

        await scheduler.until(told, 20)
        version = (await pods(real.client))[0]["metadata"]["resourceVersion"]
        await _unrelated_things_happen(real)
        await asyncio.sleep(2)  # longer than the first back-off
        assert (await pods(real.client))[0]["metadata"]["resourceVersion"] == version
    async with SchedulerProcess(tmp_path, "--kubeconfig", real.kubeconfig(tmp_path)) as scheduler:
        await scheduler.ready()
        await asyncio.sleep(1)
        assert (await pods(real.client))[0]["metadata"]["resourceVersion"] == version, "nor after a restart"


async def _unrelated_things_happen(real: Real) -> None:
    for number in range(5):
        label = {"metadata": {"labels": {"number": str(number)}}}
        (await real.client.patch("nodes", "n000", label)).ok()
    await add_pods(real.client, 3, "100m", name="small")
    (await real.client.delete("pods", "small0000", grace=0)).ok()


async def test_a_waiting_pod_is_bound_when_room_appears(real: Real, tmp_path) -> None:
    await add_pods(real.client, 1, "5")
    async with SchedulerProcess(tmp_path, "--kubeconfig", real.kubeconfig(tmp_path)) as scheduler:

        async def message() -> str:
            return condition((await pods(real.client))[0]).get("message", "")

        async def says(text: str) -> None:
            await scheduler.until(lambda: _is(message(), text), 20)

        await says("no nodes available to schedule pods")
        (await real.client.create("nodes", node_json("small", cpu=4))).ok()
        (await real.client.create("nodes", node_json("large", cpu=8))).ok()
        await scheduler.until(lambda: _is(_nodes(real), ["large"]), 20)


async def _is(answer, wanted) -> bool:
    return await answer == wanted


async def _nodes(real: Real) -> list[str]:
    return [pod["spec"]["nodeName"] for pod in await bound(real.client)]


async def test_pods_of_other_schedulers_are_not_touched_and_count_as_usage(real: Real, tmp_path) -> None:
    await add_nodes(real.client, 1)
    other = pod_json("other", namespace=real.namespace, cpu=3, scheduler="default-scheduler")
    (await real.client.create("pods", other)).ok()
    (await real.client.bind("other", "n000")).ok()
    idle = pod_json("idle", namespace=real.namespace, cpu="100m", scheduler="default-scheduler")
    untouched = (await real.client.create("pods", idle)).ok()
    await add_pods(real.client, 2, "800m")
    async with SchedulerProcess(tmp_path, "--kubeconfig", real.kubeconfig(tmp_path)) as scheduler:

        async def done() -> bool:
            ours = [pod for pod in await pods(real.client) if pod["metadata"]["name"].startswith("p0")]
            return all(condition(pod) for pod in ours)

        await scheduler.until(done, 20)
        assert len(await bound(real.client)) == 2, "the other scheduler's pod and one of ours; there is no room for two"
        now = (await real.client.get("pods", "idle")).ok()
        assert now["metadata"]["resourceVersion"] == untouched["metadata"]["resourceVersion"]


async def test_gated_and_terminating_pods_are_not_attempted(real: Real, tmp_path) -> None:
    await add_nodes(real.client, 1)
    gated = pod_json("gated", namespace=real.namespace, cpu="100m")
    gated["spec"]["schedulingGates"] = [{"name": "example.com/gate"}]
    leaving = pod_json("leaving", namespace=real.namespace, cpu="100m")
    leaving["metadata"]["finalizers"] = ["example.com/wait"]
    for pod in (gated, leaving):
        (await real.client.create("pods", pod)).ok()
    (await real.client.delete("pods", "leaving")).ok()
    before = {pod["metadata"]["name"]: pod["metadata"]["resourceVersion"] for pod in await pods(real.client)}
    async with SchedulerProcess(tmp_path, "--kubeconfig", real.kubeconfig(tmp_path)) as scheduler:
        await add_pods(real.client, 1, "100m", name="plain")
        await scheduler.until(lambda: _is(_nodes(real), ["n000"]), 20)
        after = {pod["metadata"]["name"]: pod["metadata"]["resourceVersion"] for pod in await pods(real.client)}
        assert {name: after[name] for name in before} == before
        assert await scheduler.metric('scheduler_pending_pods{queue="gated"}') == 1
        ungate = {"spec": {"schedulingGates": None}}
        (await real.client.patch("pods", "gated", ungate)).ok()
        await scheduler.until(lambda: _is(_nodes(real), ["n000", "n000"]), 20)
