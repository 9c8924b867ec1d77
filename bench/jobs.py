"""Job controllers side by side: QueueJobs under `koordpy controllers`, and Jobs under kube-controller-manager.

Each makes the same pods on a control plane of its own, without a scheduler: a stand-in for kubelets lets every pod run
and succeed as soon as it is there. Measured are the time from the first creation to the last completion, the writes of
the controller per pod, and what its process used. What the bench writes itself is taken off.

Each is at its best: the client of kube-controller-manager sends 20 requests a second unless it is told otherwise, and
five of its workers sync Jobs. koordpy has no flags that would make it faster.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.figures import Figure
from bench.live.usage import all_writes, cpu_seconds, peak_mb
from koordpy.app.crds import definitions
from tests.controlplane.build import build
from tests.controlplane.client import Client
from tests.controlplane.process import Process
from tests.controlplane.server import ADMIN_TOKEN, ControlPlane

Json = dict[str, Any]

_AT_ONCE = 16
_PATIENCE_S = 3600.0
_AT_ITS_BEST = ("--kube-api-qps=5000", "--kube-api-burst=5000", "--concurrent-job-syncs=32")
_TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "work"}]}}


@dataclass(frozen=True)
class Contender:
    name: str
    resource: str  # where its jobs are
    command: tuple[str, ...]  # its controller; the kubeconfig is added
    settings: tuple[str, ...] = ()  # flags that make it fast

    def job(self, name: str, pods: int) -> Json:
        body: Json = {"metadata": {"name": name}}
        if self.resource.endswith("queuejobs"):
            tasks = [{"name": "w", "replicas": pods, "template": _TEMPLATE}]
            body |= {"apiVersion": "arbitrator.incubator.k8s.io/v1alpha1", "kind": "QueueJob"}
            return body | {"spec": {"taskSpecs": tasks}}
        spec = {"completions": pods, "parallelism": pods, "completionMode": "Indexed", "template": _TEMPLATE}
        return body | {"apiVersion": "batch/v1", "kind": "Job", "spec": spec}

    @staticmethod
    def is_completed(job: Json) -> bool:
        status = job.get("status") or {}
        conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
        return conditions.get("Complete") == "True"


def contenders() -> list[Contender]:
    manager = str(build(("kube-controller-manager",))["kube-controller-manager"])
    theirs = (manager, "--leader-elect=false", "--secure-port=0", "--controllers=job-controller")
    ours = (sys.executable, "-m", "koordpy", "controllers", "--port=0", "--bind-address=127.0.0.1")
    return [
        Contender("koordpy-queuejob", "apis/arbitrator.incubator.k8s.io/v1alpha1/queuejobs", ours),
        Contender("kubernetes-job", "apis/batch/v1/jobs", theirs, _AT_ITS_BEST),
    ]


def measure(contender: Contender, jobs: int, pods: int) -> list[Figure]:
    """On a control plane of its own, which is gone afterwards."""
    with ControlPlane() as control_plane, _controller(contender, control_plane) as process:
        found = asyncio.run(_measure(contender, control_plane, process, jobs, pods))
    about = f"{contender.name}, {jobs} jobs of {pods} pods"
    units = {"time to the last completion": "s", "writes per pod": "", "CPU": "s", "peak memory": "MB"}
    return [Figure(f"{what}, {about}", unit, (found[what],)) for what, unit in units.items()]


@contextlib.contextmanager
def _controller(contender: Contender, control_plane: ControlPlane) -> Iterator[Process]:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_install(control_plane))
        kubeconfig = control_plane.kubeconfig(Path(folder) / "kubeconfig")
        command = [*contender.command, *contender.settings, f"--kubeconfig={kubeconfig}"]
        process = Process(contender.name, command, Path(folder) / "log")
        try:
            yield process
        finally:
            process.signal(signal.SIGTERM)
            process.wait_stopped(10)


async def _install(control_plane: ControlPlane) -> None:
    async with _client(control_plane) as client:
        for each in definitions():
            (await client.create("customresourcedefinitions", each)).ok()
        while (await client.list("apis/arbitrator.incubator.k8s.io/v1alpha1/queuejobs")).status != 200:  # noqa: ASYNC110
            await asyncio.sleep(0.1)


async def _measure(
    contender: Contender, control_plane: ControlPlane, process: Process, jobs: int, pods: int
) -> dict[str, float]:
    async with _client(control_plane) as client, asyncio.timeout(_PATIENCE_S):
        before, started, own = await all_writes(client), time.monotonic(), Counter[str]()
        kubelets = asyncio.create_task(_run_pods(client, own))
        limit = asyncio.Semaphore(_AT_ONCE)

        async def create(number: int) -> None:
            async with limit:
                (await client.create(contender.resource, contender.job(f"job-{number}", pods))).ok()
                own["jobs"] += 1

        await asyncio.gather(*map(create, range(jobs)))
        while sum(map(contender.is_completed, (await client.list(contender.resource)).ok()["items"])) < jobs:
            if kubelets.done():
                kubelets.result()  # raises: nothing would run any more
            await asyncio.sleep(0.5)
        took = time.monotonic() - started
        kubelets.cancel()
        writes = (await all_writes(client) - before).total() - own.total()
        return {
            "time to the last completion": took,
            "writes per pod": writes / (jobs * pods),
            "CPU": cpu_seconds([process.pid]),
            "peak memory": peak_mb(process.pid),
        }


async def _run_pods(client: Client, own: Counter[str]) -> None:
    """Every pod runs and succeeds at once. A watch that the API server ends, as of a slow client, begins anew."""
    limit, begun = asyncio.Semaphore(_AT_ONCE), set[str]()

    async def run(name: str) -> None:
        async with limit:
            for phase in ("Running", "Succeeded"):
                own["pods"] += 1
                status = {"status": {"phase": phase}}
                while (reply := await client.patch("pods", name, status, subresource="status")).status == 409:
                    own["pods"] += 1  # its controller writes it at the same time
                reply.ok()

    async with asyncio.TaskGroup() as tasks:
        while True:
            async with client.watch("pods", resourceVersion="0", timeoutSeconds=str(int(_PATIENCE_S))) as watch:
                while event := await watch.next(timeout=_PATIENCE_S):
                    name = event["object"]["metadata"].get("name", "")
                    if event["type"] == "ADDED" and name not in begun:
                        begun.add(name)
                        tasks.create_task(run(name))


def _client(control_plane: ControlPlane) -> Client:
    return Client(control_plane.url, token=ADMIN_TOKEN, ca_path=control_plane.ca_path)
