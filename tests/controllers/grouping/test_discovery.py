"""Where a kind is served, as the API server says; asked once, and again when a kind turns up that was not there."""

from __future__ import annotations

import pytest

from koordpy.controllers.grouping.discovery import Discovery, NotServed
from koordpy.kube.client import Client
from tests.controllers.grouping.world import CUSTOM, DEFINITIONS, permissive


async def test_kinds_of_the_core_of_groups_and_of_definitions_are_found(world):
    await world.define("PyTorchJob")
    discovery = Discovery(Client(world.recording))
    assert (await discovery.find("v1", "Pod")).path("ns", "x") == "/api/v1/namespaces/ns/pods/x"
    assert (await discovery.find("v1", "Node")).path("ns", "x") == "/api/v1/nodes/x"
    assert (await discovery.find("apps/v1", "ReplicaSet")).collection == "/apis/apps/v1/replicasets"
    assert (await discovery.find("kubeflow.org/v1", "PyTorchJob")).plural == "pytorchjobs"


async def test_a_version_that_is_served_no_more_is_the_preferred_one(world):
    await world.define("RayCluster")
    discovery = Discovery(Client(world.recording))
    assert (await discovery.find("ray.io/v1alpha1", "RayCluster")).api_version == "ray.io/v1"


async def test_a_group_is_asked_for_once_and_again_after_a_while(embedded):
    now = [0.0]
    discovery = Discovery(Client(embedded.recording), clock=lambda: now[0])
    for _ in range(3):
        with pytest.raises(NotServed, match="Simulation"):
            await discovery.find("example.com/v1", "Simulation")
    assert embedded.recording.count("GET", "^/apis/example.com/v1$") == 1
    api_version, plural = CUSTOM["Simulation"]
    await embedded.api.ask("POST", DEFINITIONS, permissive(api_version, "Simulation", plural))
    with pytest.raises(NotServed):
        await discovery.find("example.com/v1", "Simulation")
    now[0] = 6.0
    for _ in range(3):
        await discovery.find("example.com/v1", "Simulation")
    assert embedded.recording.count("GET", "^/apis/example.com/v1$") == 2


async def test_what_could_be_no_api_version_is_not_asked_for(embedded):
    discovery = Discovery(Client(embedded.recording))
    for strange in ("../v1", "a/b/c", "x?y=/v1", "", "%2e%2e/v1", "V1"):
        with pytest.raises(NotServed):
            await discovery.find(strange, "Pod")
    assert embedded.recording.count("GET", "") == 0


async def test_a_name_is_one_step_of_a_path(embedded):
    pods = await Discovery(Client(embedded.recording)).find("v1", "Pod")
    assert pods.path("ns", "x/log?follow=true") == "/api/v1/namespaces/ns/pods/x%2Flog%3Ffollow%3Dtrue"


async def test_of_invented_versions_only_the_last_are_remembered(embedded):
    discovery = Discovery(Client(embedded.recording))
    await discovery.find("v1", "Pod")
    for number in range(600):
        with pytest.raises(NotServed):
            await discovery.find(f"batch/v{number}x", "Nothing")
        await discovery.find("v1", "Pod")
    assert len(discovery._asked) <= 256
    assert embedded.recording.count("GET", "^/api/v1$") == 1


async def test_an_object_that_is_gone_costs_others_of_its_kind_nothing(embedded):
    now = [0.0]
    discovery = Discovery(Client(embedded.recording), clock=lambda: now[0])
    await discovery.find("batch/v1", "Job")
    discovery.doubt("batch/v1")
    await discovery.find("batch/v1", "Job")
    assert embedded.recording.count("GET", "^/apis/batch/v1$") == 1
    now[0] = 6.0
    await discovery.find("batch/v1", "Job")
    await discovery.find("batch/v1", "Job")
    assert embedded.recording.count("GET", "^/apis/batch/v1$") == 2
