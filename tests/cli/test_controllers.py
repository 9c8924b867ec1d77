"""`koordpy controllers` and `koordpy run --with-controllers`, as processes."""

import asyncio
import json
import signal
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from koordpy.app.crds import definitions
from koordpy.sim.embedded.server import EmbeddedServer
from tests.builders import node_json, pod_json
from tests.cli.commands import ended_by, koordpy, started
from tests.controlplane.process import free_ports

pytestmark = pytest.mark.process

GROUP = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/default/podgroups"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
MEMBER = {"pod-group.scheduling.sigs.k8s.io": "g"}
QUIET = ("--bind-address", "127.0.0.1", "--log-format", "json")


@asynccontextmanager
async def cluster(directory: Path) -> AsyncIterator[tuple[EmbeddedServer, Path]]:
    """An API with one node, our definitions, and a gang of two."""
    async with EmbeddedServer([node_json("n")]) as server:
        for definition in definitions():
            await server.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        body = {"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "PodGroup", "metadata": {"name": "g"}}
        await server.create(GROUP, body | {"spec": {"minMember": 2}})
        for name in ("a", "b"):
            await server.create("/api/v1/namespaces/default/pods", pod_json(name, labels=MEMBER))
        kubeconfig = directory / "kubeconfig"
        kubeconfig.write_text(server.kubeconfig())
        yield server, kubeconfig


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


async def until_phase(server: EmbeddedServer, phase: str) -> None:
    async with asyncio.timeout(30):
        while True:
            _, text = await asyncio.to_thread(get, f"{server.url}{GROUP}/g")
            if json.loads(text).get("status", {}).get("phase") == phase:
                return
            await asyncio.sleep(0.1)


async def test_the_controllers_keep_the_status_and_give_their_lease_back(tmp_path):
    (port,) = free_ports(1)
    async with cluster(tmp_path) as (server, kubeconfig):
        with started("controllers", "--kubeconfig", kubeconfig, "--port", str(port), *QUIET) as process:
            await until_phase(server, "PreScheduling")
            assert await asyncio.to_thread(get, f"http://127.0.0.1:{port}/readyz") == (200, "ok")
            _, metrics = await asyncio.to_thread(get, f"http://127.0.0.1:{port}/metrics")
            assert "koordpy_controllers_leader 1.0" in metrics
            assert 'koordpy_api_writes_total{kind="podgroup-status",result="ok"}' in metrics
            code, log = await asyncio.to_thread(ended_by, process, signal.SIGTERM)
        _, lease = await asyncio.to_thread(get, f"{server.url}{LEASES}/koordpy-controllers")
    assert code == 0
    assert "Traceback" not in log
    assert not json.loads(lease)["spec"].get("holderIdentity")


async def test_the_scheduler_runs_with_the_controllers_beside_it(tmp_path):
    async with cluster(tmp_path) as (server, kubeconfig):
        arguments = ("--with-controllers", "--kubeconfig", kubeconfig, "--port", "0", *QUIET)
        with started("run", *arguments) as process:
            await until_phase(server, "Running")
            code, log = await asyncio.to_thread(ended_by, process, signal.SIGTERM)
        _, leases = await asyncio.to_thread(get, f"{server.url}{LEASES}")
    assert code == 0
    assert "Traceback" not in log
    holders = {lease["metadata"]["name"]: lease["spec"].get("holderIdentity") for lease in json.loads(leases)["items"]}
    assert holders == {"koord-scheduler": "", "koordpy-controllers": "", "koordpy-podgrouper": ""}


@pytest.mark.parametrize("arguments", [["controllers"], ["run", "--with-controllers"]])
def test_a_start_that_cannot_succeed_is_one_line(arguments, tmp_path):
    missing = tmp_path / "nowhere"
    answer = koordpy(*arguments, "--kubeconfig", missing)
    assert (answer.returncode, answer.stderr) == (1, f"koordpy: kubeconfig {missing}: no such file\n")


def test_a_bad_configuration_is_named(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("kind: Other\n")
    answer = koordpy("controllers", "--config", path)
    assert answer.returncode == 1
    assert answer.stderr.startswith(f"koordpy: {path}: ")
