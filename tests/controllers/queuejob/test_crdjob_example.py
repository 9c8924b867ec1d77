"""The controller of somebody else's that the docs show, and koordpy's scheduler: as processes, on the embedded API."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from koordpy.app.crds import definitions
from koordpy.sim.embedded.nodes import simulated_node
from koordpy.sim.embedded.server import EmbeddedServer
from tests.cli.commands import started
from tests.configs import HEAD
from tests.controlplane.client import Client, Json

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "crdjob"
CRD_JOBS = "apis/batch.example.com/v1/crdjobs"
SPECS = "apis/arbitrator.incubator.k8s.io/v1alpha1/schedulingspecs"
PATIENCE_S = 30
QUIET_S = 1.0

pytestmark = pytest.mark.process


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Client]:
    """A cluster without nodes, on which the example's controller runs."""
    async with EmbeddedServer(kubelets=False) as server, Client(server.url) as client:
        for definition in (*definitions(), yaml.safe_load((EXAMPLE / "definition.yaml").read_text())):
            (await client.create("customresourcedefinitions", definition)).ok()
        (tmp_path / "kubeconfig").write_text(server.kubeconfig())
        async with _kopf(tmp_path):
            yield client


@contextlib.asynccontextmanager
async def _kopf(folder: Path) -> AsyncIterator[None]:
    environment = os.environ | {"KUBECONFIG": str(folder / "kubeconfig")}
    arguments = ["-m", "kopf", "run", "--all-namespaces", "--standalone", str(EXAMPLE / "controller.py")]
    with (folder / "log").open("wb") as output:
        controller = await asyncio.create_subprocess_exec(
            sys.executable, *arguments, env=environment, stdout=output, stderr=output
        )
    try:
        yield
    finally:
        controller.send_signal(signal.SIGTERM)
        await controller.wait()


@contextlib.contextmanager
def scheduler(folder: Path, **koordpy: Any) -> Iterator[None]:
    """koordpy's, with these fields of its own in the configuration."""
    config = HEAD | {"profiles": [{"schedulerName": "koord-scheduler"}], "koordpy": koordpy}
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    files = ("--kubeconfig", folder / "kubeconfig", "--config", folder / "config.yaml")
    with started("run", *files, "--bind-address", "127.0.0.1", "--port", "0"):
        yield


async def submit(api: Client) -> Json:
    """The example's job, and return it when all is made of it."""
    made = (await api.create(CRD_JOBS, yaml.safe_load((EXAMPLE / "crdjob.yaml").read_text()))).ok()
    await until_pods(api, lambda pods: len(pods) == 3)
    return made


async def node(api: Client, name: str, *, cpu: str) -> None:
    (await api.create("nodes", simulated_node(name, cpu=cpu))).ok()


async def until_pods(api: Client, are_so: Callable[[list[Json]], bool]) -> list[Json]:
    async with asyncio.timeout(PATIENCE_S):
        while not are_so(pods := (await api.list("pods")).ok()["items"]):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    return pods


def are_bound(pods: list[Json]) -> bool:
    return all(pod["spec"].get("nodeName") for pod in pods)


def all_say(text: str) -> Callable[[list[Json]], bool]:
    return lambda pods: all(
        any(text in each.get("message", "") for each in pod["status"].get("conditions", ())) for pod in pods
    )


async def none_starts(api: Client) -> None:
    await asyncio.sleep(QUIET_S)
    assert [pod for pod in (await api.list("pods")).ok()["items"] if pod["spec"].get("nodeName")] == []


async def test_a_controller_in_forty_lines_of_kopf_makes_its_pods_and_one_scheduling_spec(api: Client):
    made = await submit(api)
    pods, (spec,) = (await api.list("pods")).ok()["items"], (await api.list(SPECS)).ok()["items"]
    assert sorted(pod["metadata"]["name"] for pod in pods) == ["three-0", "three-1", "three-2"]
    assert spec["spec"] == {"minAvailable": 3}
    owners = [each["metadata"]["ownerReferences"] for each in (spec, *pods)]
    assert all(
        [(owner["uid"], owner["controller"]) for owner in each] == [(made["metadata"]["uid"], True)] for each in owners
    )


async def test_the_scheduler_starts_its_pods_together_or_none_of_them(api: Client, tmp_path: Path):
    await node(api, "small", cpu="200m")  # room for two
    with scheduler(tmp_path):
        await submit(api)
        await until_pods(api, all_say("Insufficient cpu"))
        await none_starts(api)
        await node(api, "other", cpu="100m")
        await until_pods(api, are_bound)


async def test_where_specs_are_required_its_pods_do_not_start_before_theirs_is_there(api: Client, tmp_path: Path):
    with scheduler(tmp_path, requireSchedulingSpec=True):
        await submit(api)
        (spec,) = (await api.list(SPECS)).ok()["items"]
        (await api.delete(SPECS, spec["metadata"]["name"])).ok()
        await until_pods(api, all_say("wait for their SchedulingSpec, which does not exist"))
        await node(api, "large", cpu="8")
        await none_starts(api)
        kept = {key: spec["metadata"][key] for key in ("name", "ownerReferences")}
        (await api.create(SPECS, spec | {"metadata": kept})).ok()
        await until_pods(api, are_bound)


def test_the_docs_show_the_controller_as_it_is():
    assert (EXAMPLE / "controller.py").read_text() in (ROOT / "docs" / "queuejob.md").read_text()
