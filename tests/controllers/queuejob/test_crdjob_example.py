"""The controller of somebody else's that the docs show: `kopf run` as a process of its own, on the embedded API."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import aiohttp
import pytest
import yaml

from koordpy.app.crds import definitions
from koordpy.sim.embedded.server import EmbeddedServer

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "crdjob"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PATIENCE_S = 30
NAMESPACED = "namespaces/default"

pytestmark = pytest.mark.process


async def test_a_controller_in_forty_lines_of_kopf_gets_a_gang_by_one_scheduling_spec(tmp_path: Path):
    async with EmbeddedServer(kubelets=False) as server:
        for definition in (*definitions(), yaml.safe_load((EXAMPLE / "definition.yaml").read_text())):
            await server.create(DEFINITIONS, definition)
        (tmp_path / "kubeconfig").write_text(server.kubeconfig())
        environment = os.environ | {"KUBECONFIG": str(tmp_path / "kubeconfig")}
        arguments = ["-m", "kopf", "run", "--all-namespaces", "--standalone", str(EXAMPLE / "controller.py")]
        with (tmp_path / "log").open("wb") as output:
            controller = await asyncio.create_subprocess_exec(
                sys.executable, *arguments, env=environment, stdout=output, stderr=output
            )
        try:
            crdjob = yaml.safe_load((EXAMPLE / "crdjob.yaml").read_text())
            made = await server.create(f"/apis/batch.example.com/v1/{NAMESPACED}/crdjobs", crdjob)
            async with asyncio.timeout(PATIENCE_S):
                pods, spec = await _until_complete(server)
        finally:
            controller.send_signal(signal.SIGTERM)
            await controller.wait()
    assert sorted(pod["metadata"]["name"] for pod in pods) == ["three-0", "three-1", "three-2"]
    assert spec["spec"] == {"minAvailable": 3}
    owners = [each["metadata"]["ownerReferences"] for each in (spec, *pods)]
    assert all(
        [(owner["uid"], owner["controller"]) for owner in each] == [(made["metadata"]["uid"], True)] for each in owners
    )


def test_the_docs_show_the_controller_as_it_is():
    assert (EXAMPLE / "controller.py").read_text() in (ROOT / "docs" / "queuejob.md").read_text()


async def _until_complete(server: EmbeddedServer) -> tuple[list[dict], dict]:
    specs = f"/apis/arbitrator.incubator.k8s.io/v1alpha1/{NAMESPACED}/schedulingspecs"
    async with aiohttp.ClientSession(server.url) as session:
        while True:
            pods = (await (await session.get(f"/api/v1/{NAMESPACED}/pods")).json())["items"]
            found = (await (await session.get(specs)).json())["items"]
            if len(pods) == 3:
                return pods, found[0]
            await asyncio.sleep(0.1)
