"""The manifests in `examples/`: what they promise holds on a real kube-apiserver, with RBAC switched on."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import yaml

from koordpy.configfile import read_settings
from tests.builders import node_json, pod_json
from tests.cli.commands import started
from tests.controlplane.client import Client
from tests.controlplane.server import ADMIN_TOKEN, ControlPlane

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
PLACES = {  # kind -> where its objects are created
    "ServiceAccount": "/api/v1/namespaces/kube-system/serviceaccounts",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings",
    "Deployment": "/apis/apps/v1/namespaces/kube-system/deployments",
    "Pod": "/api/v1/namespaces/default/pods",
}
PATIENCE_S = 20


@pytest.fixture
def guarded():
    with ControlPlane("RBAC") as control_plane:
        yield control_plane


@pytest.fixture
async def admin(guarded) -> AsyncIterator[Client]:
    async with Client(guarded.url, token=ADMIN_TOKEN, ca_path=guarded.ca_path) as client:
        yield client


async def apply(admin: Client, file: str) -> None:
    for document in yaml.safe_load_all((EXAMPLES / file).read_text()):
        (await admin.request("POST", PLACES[document["kind"]] + "?fieldValidation=Strict", document)).ok()


async def token_of_koordpy(admin: Client) -> str:
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = "/api/v1/namespaces/kube-system/serviceaccounts/koordpy/token"
    return (await admin.request("POST", path, request)).ok()["status"]["token"]


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await holds():  # noqa: ASYNC110 - another process does it
            await asyncio.sleep(0.1)


async def says(admin: Client, pod: str, word: str) -> bool:
    found = (await admin.get("pods", pod)).ok()
    return word in str([found["spec"].get("nodeName"), found["status"].get("conditions")])


async def has_events(admin: Client, count: int) -> bool:
    return len((await admin.list("events")).ok()["items"]) >= count


@pytest.mark.real
async def test_the_roles_allow_everything_that_scheduling_needs(guarded, admin, tmp_path):
    await apply(admin, "rbac.yaml")
    (await admin.create("nodes", node_json("n1"))).ok()
    await apply(admin, "pod.yaml")
    (await admin.create("pods", pod_json("huge", cpu=64))).ok()
    kubeconfig = guarded.kubeconfig(tmp_path / "kubeconfig", token=await token_of_koordpy(admin))
    with started("run", "--kubeconfig", kubeconfig, "--bind-address", "127.0.0.1", "--port", "0") as scheduler:
        await until(lambda: says(admin, "hello", "n1"))
        await until(lambda: says(admin, "huge", "Insufficient cpu"))
        await until(lambda: has_events(admin, 2))
        scheduler.terminate()
        _, log = scheduler.communicate(timeout=PATIENCE_S)
    assert scheduler.returncode == 0
    assert "orbidden" not in log
    lease = (await admin.get("leases", "koord-scheduler", namespace="kube-system")).ok()
    assert not lease["spec"].get("holderIdentity")  # given back, with the permission to do so


@pytest.mark.real
async def test_the_deployment_is_accepted_with_every_field_known(admin):
    await apply(admin, "deployment.yaml")


def test_the_example_configuration_can_be_read():
    settings, without_meaning = read_settings(str(EXAMPLES / "config.yaml"))
    assert [profile.scheduler_name for profile in settings.profiles] == ["koord-scheduler", "batch-scheduler"]
    assert without_meaning == []
