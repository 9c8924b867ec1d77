"""PodGroups that are not installed: it is said once, and by whoever waits for one, with what to do about it."""

from __future__ import annotations

import asyncio

import structlog

from koordpy.app.crds import definitions
from tests.scenarios.api import Json
from tests.scenarios.objects import POD_GROUP_APIS
from tests.scenarios.world import World

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
POD_GROUPS = [each for each in definitions() if each["spec"]["group"] in POD_GROUP_APIS.values()]
INSTALL = "koordpy crds | kubectl apply -f -"


async def start_without(world: World, *definitions: Json) -> None:
    """koordpy on a cluster that lacks these."""
    for each in definitions:
        await world.api.ask("DELETE", f"{DEFINITIONS}/{each['metadata']['name']}")
    await world.restart()


async def test_a_pod_that_waits_for_a_pod_group_says_how_to_install_them_where_there_are_none(virtual: World) -> None:
    await virtual.nodes(1)
    await virtual.pods("a-1", "a-2", gang="a")
    await virtual.says("a-1", "which does not exist")
    await start_without(virtual, *POD_GROUPS)
    text = f"gang {{ns}}/a waits for PodGroup {{ns}}/a, but PodGroups are not installed: {INSTALL}"
    await virtual.all_say(text, "a-1", "a-2")
    for each in POD_GROUPS:
        await virtual.api.ask("POST", DEFINITIONS, each)
    await virtual.all_say("gang {ns}/a waits for PodGroup {ns}/a, which does not exist", "a-1", "a-2")
    await virtual.pod_group("a", minimum=2)
    await virtual.bound("a-1", "a-2")


async def test_the_log_says_once_that_pod_groups_are_not_installed_and_once_that_they_are(virtual: World) -> None:
    with structlog.testing.capture_logs() as entries:
        await start_without(virtual, *POD_GROUPS)
        await virtual.nodes(1)
        await virtual.pods("a-1", gang="a")
        await virtual.says("a-1", "not installed")
        await asyncio.sleep(30)
        await virtual.api.ask("POST", DEFINITIONS, POD_GROUPS[0])
        await virtual.says("a-1", "does not exist")
    said = [entry for entry in entries if entry["event"].startswith("podgroups_")]
    assert [entry["event"] for entry in said] == ["podgroups_not_installed", "podgroups_installed"]
    assert said[0]["log_level"] == "warning"
    assert INSTALL in said[0]["hint"]


async def test_one_of_the_two_api_groups_is_enough(virtual: World) -> None:
    with structlog.testing.capture_logs() as entries:
        await start_without(virtual, POD_GROUPS[0])
        await virtual.nodes(1)
        await virtual.pods("a-1", gang="a")
        await virtual.says("a-1", "which does not exist")
        await asyncio.sleep(30)
    assert not [entry for entry in entries if entry["event"].startswith("podgroups_")]
