"""The same workloads beside the real kube-controller-manager: what is made of them, and what they say, is the same.

Each story is told on the embedded cluster and on a real control plane, with the same stand-in for kubelets and for a
scheduler.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from koordpy.sim.embedded.server import EmbeddedServer
from tests.controlplane.build import build
from tests.controlplane.client import Client, Json
from tests.controlplane.fixtures import corner
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.process import Process
from tests.controlplane.server import ControlPlane
from tests.sim.embedded.workloads.world import job, replicated, template

pytestmark = [pytest.mark.real]

CONTROLLERS = (
    "job-controller,replicaset-controller,deployment-controller,statefulset-controller,garbage-collector-controller"
)
DEPLOYMENTS, SETS = "apis/apps/v1/deployments", "apis/apps/v1/replicasets"
STATEFUL, JOBS = "apis/apps/v1/statefulsets", "apis/batch/v1/jobs"
OF_THE_SERVER = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "name", "namespace", "generation")
PATIENCE_S = 30


@pytest.fixture(scope="module")
def controller_manager(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    directory = tmp_path_factory.mktemp("controller-manager")
    control_plane.start()
    kubeconfig = control_plane.kubeconfig(directory / "kubeconfig")
    program = build(("kube-controller-manager",))["kube-controller-manager"]
    flags = ["--leader-elect=false", "--secure-port=0", f"--controllers={CONTROLLERS}"]
    command = [program, f"--kubeconfig={kubeconfig}", *flags]
    process = Process("kube-controller-manager", command, Path(directory / "log"))
    yield
    process.signal(signal.SIGTERM)
    process.wait_stopped(10)


@contextlib.asynccontextmanager
async def embedded() -> AsyncIterator[Client]:
    async with EmbeddedServer(kubelets=False) as server, Client(server.url) as client:
        yield client


@contextlib.asynccontextmanager
async def real(control_plane: ControlPlane) -> AsyncIterator[Client]:
    async with corner(control_plane) as own:
        yield own.client


Story = Callable[[Client], Awaitable[Json]]


async def told(story: Story, server: contextlib.AbstractAsyncContextManager[Client]) -> Json:
    """What a story returns, without what differs from run to run."""
    async with server as api, Kubelets(api, api.namespace):
        binder = asyncio.create_task(_bind_everything(api))
        try:
            return _alike(await story(api))
        finally:
            binder.cancel()


async def _bind_everything(api: Client) -> None:
    while True:
        for pod in (await api.list("pods", fieldSelector="spec.nodeName=")).ok()["items"]:
            await api.bind(pod["metadata"]["name"], "n")
        await asyncio.sleep(0.05)


async def until(api: Client, resource: str, holds: Callable[[Json], bool]) -> Json:
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not holds((found := (await api.get(resource, "x")).ok())["status"]):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"never happened; at last: {json.dumps(found['status'])}") from None
    return found


async def pods(api: Client) -> list[Json]:
    return sorted((await api.list("pods")).ok()["items"], key=lambda pod: pod["metadata"]["name"])


async def end(api: Client, phase: str, *conditions: Json) -> None:
    """Let all pods end, with conditions that say why."""
    for pod in await pods(api):
        status = {"status": {"phase": phase, "conditions": [{"type": "Ready", "status": "False"}, *conditions]}}
        (await api.patch("pods", pod["metadata"]["name"], status, subresource="status", how="strategic")).ok()


def made(obj: Json) -> Json:
    """An object as its controller made it, without what server, scheduler and kubelets have added."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in OF_THE_SERVER}
    spec = {key: value for key, value in obj["spec"].items() if key != "nodeName"}
    return {"metadata": metadata, "spec": spec}


def _alike(value: Json) -> Json:
    """Uids, times and hashes by what they are."""
    text = json.dumps(value, sort_keys=True)
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", text)
    text = re.sub(r'"(pod-template-hash|controller-revision-hash)": "[^"]+"', r'"\1": "HASH"', text)
    text = re.sub(r"x-[0-9a-z]{8,10}(?![0-9a-z])", "x-HASH", text)
    text = re.sub(r"\S+/x-[0-9a-z]{5}(?![0-9a-z])", "POD", text)
    alike = json.loads(text)
    conditions = (alike.get("status") or {}).get("conditions") or []
    conditions.sort(key=lambda condition: condition["type"])
    for condition in conditions:
        condition.pop("lastUpdateTime", None)
    return alike


async def an_indexed_job_that_succeeds(api: Client) -> Json:
    (await api.create(JOBS, job(parallelism=2, completions=2, completionMode="Indexed"))).ok()
    running = await until(api, JOBS, lambda status: status.get("ready") == 2)
    found = [made(pod) for pod in await pods(api)]
    await end(api, "Succeeded")
    ended = await until(api, JOBS, lambda status: "completionTime" in status)
    return {"pods": found, "running": running["status"], "status": ended["status"]}


async def a_job_that_fails(api: Client) -> Json:
    (await api.create(JOBS, job(backoffLimit=0))).ok()
    await until(api, JOBS, lambda status: status.get("ready") == 1)
    await end(api, "Failed")
    ended = await until(api, JOBS, lambda status: any(c["type"] == "Failed" for c in status.get("conditions") or ()))
    return {"status": ended["status"]}


async def a_job_whose_policy_ignores_disruptions(api: Client) -> Json:
    ignore = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    policy = {"rules": [ignore]}
    (await api.create(JOBS, job(backoffLimit=0, podFailurePolicy=policy))).ok()
    await until(api, JOBS, lambda status: status.get("ready") == 1)
    await end(api, "Failed", {"type": "DisruptionTarget", "status": "True"})
    lost = await until(api, JOBS, lambda status: not status.get("active"))
    again = await until(api, JOBS, lambda status: status.get("ready") == 1)
    return {"spec": made(again), "lost": lost["status"], "status": again["status"]}


async def a_job_whose_policy_fails_it(api: Client) -> Json:
    rule = {"action": "FailJob", "onPodConditions": [{"type": "ConfigIssue"}]}
    (await api.create(JOBS, job(podFailurePolicy={"rules": [rule]}))).ok()
    await until(api, JOBS, lambda status: status.get("ready") == 1)
    await end(api, "Failed", {"type": "ConfigIssue", "status": "True"})
    ended = await until(api, JOBS, lambda status: any(c["type"] == "Failed" for c in status.get("conditions") or ()))
    return {"status": ended["status"]}


async def a_job_that_is_suspended(api: Client) -> Json:
    (await api.create(JOBS, job(parallelism=2, completions=2))).ok()
    await until(api, JOBS, lambda status: status.get("ready") == 2)
    (await api.patch(JOBS, "x", {"spec": {"suspend": True}})).ok()
    found = await until(api, JOBS, lambda status: "conditions" in status and not status.get("terminating"))
    return {"status": found["status"], "pods": await pods(api)}


async def a_deployment(api: Client) -> Json:
    (await api.create(DEPLOYMENTS, replicated(replicas=2))).ok()
    found = await until(api, DEPLOYMENTS, lambda status: status.get("availableReplicas") == 2)
    sets = (await api.list(SETS)).ok()["items"]
    statuses = [{key: value for key, value in one["status"].items() if key != "observedGeneration"} for one in sets]
    return {
        "pods": [made(pod) for pod in await pods(api)],
        "sets": [made(one) for one in sets],
        "statuses": statuses,
        "status": found["status"],
        "annotations": found["metadata"]["annotations"],
    }


async def a_deployment_that_is_changed(api: Client) -> Json:
    (await api.create(DEPLOYMENTS, replicated(replicas=2))).ok()
    await until(api, DEPLOYMENTS, lambda status: status.get("availableReplicas") == 2)
    (await api.patch(DEPLOYMENTS, "x", {"spec": {"template": template(image="none:2")}})).ok()

    def is_rolled_out(status: Json) -> bool:
        counts = [status.get(key, 0) for key in ("updatedReplicas", "replicas", "availableReplicas")]
        return status["observedGeneration"] == 2 and counts == [2, 2, 2] and status["terminatingReplicas"] == 0

    found = await until(api, DEPLOYMENTS, is_rolled_out)
    sets = (await api.list(SETS)).ok()["items"]
    by_revision = sorted((made(one) for one in sets), key=lambda one: one["metadata"]["annotations"][REVISION])
    return {"status": found["status"], "sets": by_revision}


REVISION = "deployment.kubernetes.io/revision"


async def a_stateful_set(api: Client) -> Json:
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    (await api.create(STATEFUL, replicated(replicas=2, serviceName="s", volumeClaimTemplates=[claim]))).ok()
    found = await until(api, STATEFUL, lambda status: status.get("availableReplicas") == 2)
    claims = (await api.list("persistentvolumeclaims")).ok()["items"]
    named = {one["metadata"]["name"]: one["metadata"].get("labels") for one in claims}
    return {"pods": [made(pod) for pod in await pods(api)], "status": found["status"], "claims": named}


async def a_replica_set_that_is_scaled_down(api: Client) -> Json:
    (await api.create(SETS, replicated())).ok()
    await until(api, SETS, lambda status: status.get("availableReplicas") == 3)
    (await api.patch(SETS, "x", {"spec": {"replicas": 1}}, subresource="scale")).ok()
    found = await until(api, SETS, lambda status: status["replicas"] == 1 and status.get("terminatingReplicas") == 0)
    return {"status": found["status"]}


STORIES = [
    an_indexed_job_that_succeeds,
    a_job_that_fails,
    a_job_whose_policy_ignores_disruptions,
    a_job_whose_policy_fails_it,
    a_job_that_is_suspended,
    a_deployment,
    a_deployment_that_is_changed,
    a_stateful_set,
    a_replica_set_that_is_scaled_down,
]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
async def test_a_story_ends_as_with_the_real_controllers(story: Story, control_plane, controller_manager):
    found = list(differences(await told(story, embedded()), await told(story, real(control_plane))))
    assert not found, "\n".join(found)


def differences(ours: object, theirs: object, path: str = "") -> Iterator[str]:
    """Where two stories part, a line each."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(ours.keys() | theirs.keys()):
            yield from differences(ours.get(key), theirs.get(key), f"{path}.{key}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(one, other, f"{path}[{index}]")
    elif ours != theirs:
        yield f"{path}: {ours!r} here, {theirs!r} there"
