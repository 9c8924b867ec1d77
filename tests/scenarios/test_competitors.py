"""Another scheduler for the same pods: noticed by its lease or by what it binds, and said loudly; nobody else is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from prometheus_client import REGISTRY

from koordpy.api.times import micro_instant_of_seconds
from koordpy.sim.embedded.faults import Fault, Rule
from tests.scenarios import clock
from tests.scenarios.api import MERGE, Json
from tests.scenarios.world import World

LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"
LONG_S = 61.0  # that the leader before us may have had requests under way
NEXT_LOOK_S = 301.0
NOWHERE = {"disk": "none-has"}


@pytest.fixture
def log() -> Iterator[list[Any]]:
    with structlog.testing.capture_logs() as entries:
        yield entries


def said(log: list[Any], event: str) -> list[Any]:
    return [entry for entry in log if entry["event"] == event]


def metric(name: str) -> float:
    return REGISTRY.get_sample_value(name) or 0.0


async def renew(world: World, namespace: str, holder: str = "koord-scheduler-1") -> None:
    """As somebody in that namespace does who leads."""
    now = micro_instant_of_seconds(world._wall())
    lease: Json = {"metadata": {"name": "koord-scheduler"}}
    lease["spec"] = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": now}
    path = LEASES.format(namespace)
    try:
        await world.api.ask("PATCH", f"{path}/koord-scheduler", lease, MERGE)
    except AssertionError:  # there is none yet
        await world.api.ask("POST", path, lease)


async def events(world: World) -> list[str]:
    found = await world.api.ask("GET", f"/apis/events.k8s.io/v1/namespaces/{world.namespace}/events")
    return [
        event["note"]
        for event in found["items"]
        if event["reason"] == "AnotherScheduler" and event["regarding"]["kind"] == "Lease"
    ]


# --- leases ---


async def test_a_lease_that_somebody_renews_in_another_namespace_is_said_in_log_event_and_metric(
    world: World, log
) -> None:
    await renew(world, world.other_namespace)
    await world.lead()
    async with asyncio.timeout(30):
        while not await events(world):  # noqa: ASYNC110 - it is written last
            await asyncio.sleep(0.1)
    name = f"{world.other_namespace}/koord-scheduler"
    (entry,) = [entry for entry in said(log, "competing_lease") if entry["lease"] == name]
    assert (entry["log_level"], entry["holder"]) == ("error", "koord-scheduler-1")
    assert metric("koordpy_competing_leases") >= 1
    notes = await events(world)
    assert any(f"lease {name} is renewed by koord-scheduler-1: two schedulers take the same pods" in n for n in notes)


async def test_one_that_begins_later_is_found_by_the_next_look_and_one_that_ends_is_over(virtual: World, log) -> None:
    await virtual.lead()
    await asyncio.sleep(5)
    await renew(virtual, "kube-system")
    await asyncio.sleep(NEXT_LOOK_S - 10)
    await renew(virtual, "kube-system")
    await asyncio.sleep(10)
    assert metric("koordpy_competing_leases") == 1
    await asyncio.sleep(NEXT_LOOK_S)
    assert metric("koordpy_competing_leases") == 0
    assert len(said(log, "competing_lease_is_over")) == 1


@pytest.mark.parametrize("holder", ["", "koord-scheduler-1"], ids=["given back", "of one that is gone"])
async def test_a_lease_that_nobody_renews_is_no_competitor(virtual: World, log, holder) -> None:
    await renew(virtual, "kube-system", holder)
    await asyncio.sleep(120)
    await virtual.lead()
    await asyncio.sleep(NEXT_LOOK_S)
    assert not said(log, "competing_lease")


async def test_our_own_lease_and_leases_of_other_names_are_no_competitors(virtual: World, log) -> None:
    path = LEASES.format("kube-system")
    now = micro_instant_of_seconds(clock.wall())
    other = {"metadata": {"name": "kube-scheduler"}, "spec": {"holderIdentity": "x", "renewTime": now}}
    await virtual.api.ask("POST", path, other | {"spec": other["spec"] | {"leaseDurationSeconds": 15}})
    await virtual.lead()
    await asyncio.sleep(NEXT_LOOK_S)
    assert not said(log, "competing_lease")


async def test_one_list_is_all_that_a_look_costs(virtual: World) -> None:
    await virtual.lead()
    asked: list[str] = []
    transport = virtual.instance.transport
    send = transport.send

    async def counted(method: str, path: str, *given: Any, **named: Any) -> Any:
        if path.startswith("/apis/coordination.k8s.io/v1/leases"):
            asked.append(path)
        return await send(method, path, *given, **named)

    transport.send = counted
    await asyncio.sleep(NEXT_LOOK_S)
    assert asked == ["/apis/coordination.k8s.io/v1/leases?fieldSelector=metadata.name%3Dkoord-scheduler"]


async def test_without_the_permission_it_goes_on_and_says_so_once(virtual: World, log) -> None:
    virtual._rules.append(Rule(Fault.STATUS, path="/apis/coordination.k8s.io/v1/leases", status=403, count=None))
    await virtual.lead()
    await asyncio.sleep(NEXT_LOOK_S)
    await virtual.nodes(1)
    await virtual.pods("p")
    await virtual.bound("p")
    assert len(said(log, "competitors_not_looked_for")) == 1


# --- binds ---


async def test_a_pod_of_ours_that_somebody_else_bound_is_said_in_log_event_and_metric(virtual: World, log) -> None:
    before = metric("koordpy_foreign_binds_total")
    await virtual.lead()
    await virtual.nodes(1)
    await virtual.pods("p", node_selector=NOWHERE)
    await virtual.says("p", "didn't match")
    await asyncio.sleep(LONG_S)
    await virtual.bind("p", "n1")
    await asyncio.sleep(5)
    (entry,) = said(log, "foreign_binds")
    assert (entry["log_level"], entry["count"], entry["first"]) == ("error", 1, "scenario/p to n1")
    assert metric("koordpy_foreign_binds_total") == before + 1
    (note,) = await events(virtual)
    assert note.startswith("somebody else bound pod scenario/p to n1: two schedulers take the same pods")


async def test_many_binds_are_said_together_and_not_one_by_one(virtual: World, log) -> None:
    await virtual.lead()
    await virtual.nodes(1)
    names = [f"p{number}" for number in range(5)]
    await virtual.pods(*names, node_selector=NOWHERE)
    await asyncio.sleep(LONG_S)
    for name in names:
        await virtual.bind(name, "n1")
    await asyncio.sleep(700)
    assert [entry["count"] for entry in said(log, "foreign_binds")] == [1, 4]


async def test_our_own_binds_are_nobody_elses_also_when_their_answers_are_lost(virtual: World, log) -> None:
    await virtual.lead()
    await asyncio.sleep(LONG_S)
    await virtual.nodes(1)
    virtual.loses_answer("bind", times=3)
    await virtual.pods("p1", "p2", "p3")
    await virtual.bound("p1", "p2", "p3")
    await asyncio.sleep(60)
    assert not said(log, "foreign_binds")


async def test_pods_that_are_created_with_a_node_are_bound_by_nobody(virtual: World, log) -> None:
    await virtual.lead()
    await asyncio.sleep(LONG_S)
    await virtual.nodes(1)
    await virtual.pods("p", node="n1")
    await asyncio.sleep(5)
    assert not said(log, "foreign_binds")


async def test_pods_of_other_schedulers_are_theirs(virtual: World, log) -> None:
    await virtual.lead()
    await asyncio.sleep(LONG_S)
    await virtual.nodes(1)
    await virtual.bind_elsewhere("p", "n1")
    await asyncio.sleep(5)
    assert not said(log, "foreign_binds")


async def test_a_standby_does_not_wonder_about_what_the_leader_binds(virtual: World, log) -> None:
    await virtual.stand_by()
    await virtual.nodes(1)
    await virtual.pods("p")
    await asyncio.sleep(LONG_S)
    await virtual.bind("p", "n1")
    await asyncio.sleep(5)
    assert not said(log, "foreign_binds")


async def test_what_the_leader_before_us_had_under_way_is_no_competitors(virtual: World, log) -> None:
    await virtual.lead()
    await virtual.nodes(1)
    await virtual.pods("p", node_selector=NOWHERE)
    await virtual.says("p", "didn't match")
    await virtual.bind("p", "n1")
    await asyncio.sleep(5)
    assert not said(log, "foreign_binds")
