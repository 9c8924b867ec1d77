"""The QueueJobs in `examples/`, under `koordpy run --with-controllers` beside the embedded cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from koordpy.app.crds import definitions
from koordpy.sim.embedded.kubelet import RUN_SECONDS
from koordpy.sim.embedded.nodes import simulated_node
from koordpy.sim.embedded.server import EmbeddedServer
from tests.cli.commands import started
from tests.controlplane.client import Client, Json, path
from tests.controlplane.fixtures import Real

pytestmark = pytest.mark.process

EXAMPLES = sorted((Path(__file__).parent.parent.parent / "examples").glob("queuejob-*.yaml"))
QUEUE_JOBS = "apis/arbitrator.incubator.k8s.io/v1alpha1/queuejobs"
PATIENCE_S = 30


def example(name: str) -> Json:
    (found,) = [each for each in EXAMPLES if each.stem == f"queuejob-{name}"]
    return yaml.safe_load(found.read_text())


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Client]:
    nodes = [simulated_node(f"node-0{number}", cpu="8", memory="32Gi") for number in (1, 2, 3)]
    async with EmbeddedServer(nodes) as server, Client(server.url) as client:
        for definition in definitions():
            (await client.create("customresourcedefinitions", definition)).ok()
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(server.kubeconfig())
        quiet = ("--bind-address", "127.0.0.1", "--port", "0")
        with started("run", "--with-controllers", "--kubeconfig", kubeconfig, *quiet):
            yield client


async def until_phase(api: Client, name: str, phase: str) -> Json:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = (await api.get(QUEUE_JOBS, name)).ok().get("status", {})
            if found.get("phase") == phase:
                return found
            await asyncio.sleep(0.1)


@pytest.mark.parametrize(("name", "job", "pods"), [("tensorflow", "training", 6), ("mpi", "mpi", 9)])
async def test_an_example_is_scheduled_runs_and_completes(api: Client, name: str, job: str, pods: int):
    body = example(name)
    for task in body["spec"]["taskSpecs"]:
        task["template"]["metadata"] = {"annotations": {RUN_SECONDS: "3"}}
    (await api.create(QUEUE_JOBS, body)).ok()
    await until_phase(api, job, "Running")
    assert (await until_phase(api, job, "Completed"))["succeeded"] == pods


async def test_the_example_that_fails_is_restarted_as_a_whole(api: Client):
    (await api.create(QUEUE_JOBS, example("restarts"))).ok()
    await until_phase(api, "flaky", "Running")
    (await api.patch("pods", "flaky-worker-1-0", {"status": {"phase": "Failed"}}, subresource="status")).ok()
    assert (await until_phase(api, "flaky", "Restarting"))["restarts"] == 1
    await until_phase(api, "flaky", "Running")
    assert [pod["metadata"]["name"] for pod in (await api.list("pods")).ok()["items"]] == [
        "flaky-worker-0-1",
        "flaky-worker-1-1",
        "flaky-worker-2-1",
    ]


@pytest.mark.real
@pytest.mark.parametrize("name", ["tensorflow", "mpi", "restarts"])
async def test_a_real_api_server_takes_the_example_to_the_letter(name: str, real: Real):
    for each in definitions():
        if each["spec"]["group"] == "arbitrator.incubator.k8s.io":
            await real.client.create("customresourcedefinitions", each)
    async with asyncio.timeout(PATIENCE_S):
        while (await real.client.list(QUEUE_JOBS)).status != 200:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    at = path(QUEUE_JOBS, namespace=real.namespace) + "?fieldValidation=Strict"
    (await real.client.request("POST", at, example(name))).ok()
