"""The harness itself: what tests on the real control plane rely on without looking."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import kubernetes_asyncio.client
import kubernetes_asyncio.config
import pytest

from tests.controlplane.client import Client
from tests.controlplane.fixtures import Real
from tests.controlplane.process import Process, StartError
from tests.controlplane.server import ADMIN_TOKEN, NOBODY_TOKEN, ControlPlane

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "harness-node"}}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "pod"},
    "spec": {"containers": [{"name": "main", "image": "none"}]},
}
A_RUN_THAT_HANGS = """
import time
from tests.controlplane.server import ControlPlane
control_plane = ControlPlane()
control_plane.start()
print(*control_plane.pids, flush=True)
time.sleep(600)
"""


def test_a_program_that_does_not_come_up_is_reported_with_the_end_of_its_log(tmp_path: Path):
    command = ["sh", "-c", "echo the port is cursed; exit 3"]
    process = Process("demo", command, tmp_path / "demo.log")
    with pytest.raises(StartError, match=r"demo ended with code 3 (.|\n)*the port is cursed"):
        process.wait_until(lambda: False, timeout=5)


def test_a_program_that_ignores_the_request_to_end_is_killed(tmp_path: Path):
    process = Process("demo", ["sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 0.1; done"], tmp_path / "log")
    process.wait_until(lambda: "deaf" in process.tail(), timeout=5)
    process.signal(signal.SIGTERM)
    process.wait_stopped(0.3)
    assert not process.running


@pytest.mark.real
async def test_the_server_says_which_version_it_is_so_that_clients_can_judge_it(real: Real):
    version = (await real.client.request("GET", "/version")).ok()
    assert version["gitVersion"].startswith(f"v{version['major']}.{version['minor']}.")
    assert version["major"] == "1"


@pytest.mark.real
async def test_the_api_server_comes_back_on_its_port_with_its_data(real: Real):
    (await real.client.create("pods", POD)).ok()
    url = real.control_plane.url
    await real.control_plane.stop_apiserver(signal.SIGKILL)
    assert not real.control_plane.running
    await real.control_plane.start_apiserver()
    assert real.control_plane.url == url
    assert (await real.client.get("pods", "pod")).ok()


@pytest.mark.real
async def test_a_bound_pod_runs_and_a_deleted_one_goes_where_there_are_kubelets(real: Real, kubelets):
    (await real.client.create("pods", POD)).ok()
    async with real.client.watch("pods") as watch:
        (await real.client.bind("pod", "harness-node")).ok()
        while (event := await watch.next())["object"]["status"]["phase"] != "Running":
            assert event["type"] in {"ADDED", "MODIFIED"}
        (await real.client.delete("pods", "pod")).ok()
        while (event := await watch.next())["type"] != "DELETED":
            assert event["type"] == "MODIFIED"


@pytest.mark.real
@pytest.mark.parametrize("token", [None, ADMIN_TOKEN], ids=["certificate", "token"])
async def test_a_kubeconfig_lets_an_ordinary_client_in(real: Real, tmp_path: Path, token: str | None):
    configuration = kubernetes_asyncio.client.Configuration()
    configuration.disable_strict_ssl_verification = True  # see `trusting`
    await kubernetes_asyncio.config.load_kube_config(
        str(real.kubeconfig(tmp_path, token)), client_configuration=configuration
    )
    async with kubernetes_asyncio.client.ApiClient(configuration) as client:
        listed = await kubernetes_asyncio.client.CoreV1Api(client).list_namespaced_pod(real.namespace)
    assert listed.items == []


@pytest.mark.real
@pytest.mark.parametrize("attempt", ["a first test", "a second one"])
async def test_each_test_finds_the_cluster_without_the_nodes_of_others(real: Real, attempt: str):
    assert (await real.client.create("nodes", NODE)).status == 201


@pytest.mark.real
async def test_with_rbac_the_nobody_token_is_forbidden_and_the_admin_is_not():
    with ControlPlane("RBAC") as control_plane:
        for token, status in ((ADMIN_TOKEN, 200), (NOBODY_TOKEN, 403)):
            async with Client(control_plane.url, token=token, ca_path=control_plane.ca_path) as client:
                assert (await client.list("pods")).status == status


@pytest.mark.real
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills the children of a killed process")
def test_nothing_survives_a_test_run_that_is_killed(tmp_path: Path):
    command = [sys.executable, "-c", A_RUN_THAT_HANGS]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}  # what it cannot clean up is pytest's to clean
    run = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    pids = [int(pid) for pid in run.stdout.readline().split()]
    run.kill()
    run.communicate()
    deadline = time.monotonic() + 5
    while any(_alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(pids) == 2
    assert not any(_alive(pid) for pid in pids)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # An orphan that nobody has waited for is dead all the same.
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.real
async def test_a_control_plane_refuses_to_be_started_from_another_thread(real: Real):
    await real.control_plane.stop_apiserver()
    with pytest.raises(RuntimeError, match="kube-apiserver must be started from the main thread"):
        await asyncio.to_thread(real.control_plane.start)
