"""The manifests in `examples/`: what they promise holds on a real kube-apiserver, with RBAC switched on."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import yaml

from koordpy.api.podgroup import SIGS_GROUP, X_GROUP
from koordpy.app.configfile import read_settings
from koordpy.app.crds import definitions
from koordpy.app.settings import Settings
from tests.builders import Json, node_json, pod_json
from tests.cli.commands import started
from tests.controllers.world import definition as podgroup_definition
from tests.controlplane.client import Client
from tests.controlplane.server import ADMIN_TOKEN, NOBODY_TOKEN, ControlPlane

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
PLACES = {  # kind -> where its objects are created
    "ServiceAccount": "/api/v1/namespaces/kube-system/serviceaccounts",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings",
    "Deployment": "/apis/apps/v1/namespaces/kube-system/deployments",
    "Pod": "/api/v1/namespaces/default/pods",
    "ClusterNetworkTopology": "/apis/scheduling.koordinator.sh/v1alpha1/clusternetworktopologies",
}
TOPOLOGIES = PLACES["ClusterNetworkTopology"].removeprefix("/")
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


def in_gang(name: str, gang: str) -> Json:
    return pod_json(name, cpu=1, labels={"pod-group.scheduling.sigs.k8s.io": gang})


async def has_phase(admin: Client, api_group: str, name: str, phase: str) -> bool:
    found = (await admin.get(f"apis/{api_group}/v1alpha1/podgroups", name)).ok()
    return found.get("status", {}).get("phase") == phase


async def is_served(admin: Client, resource: str) -> bool:
    return (await admin.list(resource, namespace="")).status == 200


@pytest.mark.real
async def test_the_roles_allow_everything_that_gangs_and_their_status_need(guarded, admin, tmp_path):
    await apply(admin, "rbac.yaml")
    (await admin.create("nodes", node_json("n1"))).ok()
    gangs = {"koordinators": SIGS_GROUP, "coschedulings": X_GROUP}  # the first without a subresource for its status
    for name, api_group in gangs.items():
        definition = podgroup_definition(api_group, status_subresource=api_group == X_GROUP)
        (await admin.create("customresourcedefinitions", definition)).ok()
        resource = f"apis/{api_group}/v1alpha1/podgroups"
        await until(lambda resource=resource: is_served(admin, resource))
        body = {"apiVersion": f"{api_group}/v1alpha1", "kind": "PodGroup", "metadata": {"name": name}}
        (await admin.create(resource, body | {"spec": {"minMember": 2}})).ok()
        (await admin.create("pods", in_gang(f"{name}-1", name))).ok()
        (await admin.create("pods", in_gang(f"{name}-2", name))).ok()
    kubeconfig = guarded.kubeconfig(tmp_path / "kubeconfig", token=await token_of_koordpy(admin))
    quiet = ("--bind-address", "127.0.0.1", "--port", "0")
    with started("run", "--with-controllers", "--kubeconfig", kubeconfig, *quiet) as scheduler:
        for name, api_group in gangs.items():
            await until(lambda name=name, api_group=api_group: has_phase(admin, api_group, name, "Scheduled"))
        scheduler.terminate()
        _, log = scheduler.communicate(timeout=PATIENCE_S)
    assert scheduler.returncode == 0
    assert "orbidden" not in log
    for lease in ("koord-scheduler", "koordpy-controllers"):
        spec = (await admin.get("leases", lease, namespace="kube-system")).ok()["spec"]
        assert not spec.get("holderIdentity")


async def condition_of_the_topology(admin: Client) -> str:
    found = (await admin.get(TOPOLOGIES, "default", namespace="")).ok()
    return next((c["status"] for c in found.get("status", {}).get("conditions", []) if c["type"] == "Ready"), "")


async def has_warnings(admin: Client) -> bool:
    events = (await admin.list("events")).ok()["items"]
    return any(e["reason"] == "InvalidSpec" and e["regarding"]["kind"] == "ClusterNetworkTopology" for e in events)


@pytest.mark.real
async def test_the_roles_allow_everything_that_the_topology_and_its_status_need(guarded, admin, tmp_path):
    await apply(admin, "rbac.yaml")
    (definition,) = [each for each in definitions() if each["metadata"]["name"].startswith("clusternetwork")]
    (await admin.create("customresourcedefinitions", definition)).ok()
    await until(lambda: is_served(admin, TOPOLOGIES))
    await apply(admin, "topology.yaml")
    kubeconfig = guarded.kubeconfig(tmp_path / "kubeconfig", token=await token_of_koordpy(admin))
    quiet = ("--bind-address", "127.0.0.1", "--port", "0")
    with started("run", "--with-controllers", "--kubeconfig", kubeconfig, *quiet) as scheduler:
        await until(lambda: holds(condition_of_the_topology(admin), "True"))
        broken = {"spec": {"networkTopologySpec": []}}
        (await admin.patch(TOPOLOGIES, "default", broken, namespace="")).ok()
        await until(lambda: holds(condition_of_the_topology(admin), "False"))
        await until(lambda: has_warnings(admin))
        scheduler.terminate()
        _, log = scheduler.communicate(timeout=PATIENCE_S)
    assert scheduler.returncode == 0
    assert "orbidden" not in log


async def may(client: Client, verb: str, resource: str, *, group: str = SIGS_GROUP, sub: str = "") -> bool:
    """Whether whoever asks may do this in namespace default."""
    asked = {"namespace": "default", "verb": verb, "group": group, "resource": resource, "subresource": sub}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    answer = await client.request("POST", path, review | {"spec": {"resourceAttributes": asked}})
    return bool(answer.ok()["status"]["allowed"])


@pytest.mark.real
async def test_users_with_kubernetes_own_roles_get_the_rights_on_pod_groups(guarded, admin):
    """What adds the rules to those roles is a controller that does not run here: its part is done by hand."""
    await apply(admin, "rbac-users.yaml")
    for role in ("edit", "view"):
        own = (await admin.request("GET", f"{PLACES['ClusterRole']}/system:aggregate-to-{role}")).ok()
        labels = {f"rbac.authorization.k8s.io/aggregate-to-{role}": "true"}
        assert own["metadata"]["labels"].items() >= labels.items()
        query = f"?labelSelector=rbac.authorization.k8s.io/aggregate-to-{role}=true"
        found = (await admin.request("GET", PLACES["ClusterRole"] + query)).ok()["items"]
        names = {each["metadata"]["name"] for each in found if each["metadata"]["name"].startswith("koordpy-")}
        assert names == {f"koordpy-podgroups-{role}"}
    async with Client(guarded.url, token=NOBODY_TOKEN, ca_path=guarded.ca_path) as user:
        assert not await may(user, "list", "podgroups")
        await bind(admin, "koordpy-podgroups-view")
        assert await may(user, "list", "podgroups")
        assert not await may(user, "create", "podgroups")
        await bind(admin, "koordpy-podgroups-edit")
        assert await may(user, "create", "podgroups")
        assert await may(user, "create", "podgroups", group=X_GROUP)
        assert not await may(user, "patch", "podgroups", sub="status")
        assert await may(user, "list", "clusternetworktopologies", group="scheduling.koordinator.sh")


async def bind(admin: Client, role: str) -> None:
    """Give a role to nobody, in namespace default."""
    group = "rbac.authorization.k8s.io"
    binding = {
        "metadata": {"name": role},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "nobody"}],
    }
    (await admin.request("POST", f"/apis/{group}/v1/namespaces/default/rolebindings", binding)).ok()
    await until(lambda: has_binding(admin, role))


async def has_binding(admin: Client, role: str) -> bool:
    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings/{role}"
    return (await admin.request("GET", path)).status == 200


async def holds(found: Awaitable[str], wanted: str) -> bool:
    return await found == wanted


@pytest.mark.real
async def test_the_deployment_is_accepted_with_every_field_known(admin):
    await apply(admin, "deployment.yaml")


def test_the_example_configuration_can_be_read():
    settings, without_meaning = read_settings(str(EXAMPLES / "config.yaml"))
    assert [profile.scheduler_name for profile in settings.profiles] == ["koord-scheduler", "batch-scheduler"]
    assert without_meaning == []


def test_the_example_configuration_says_the_defaults():
    settings, _ = read_settings(str(EXAMPLES / "config.yaml"))
    defaults = Settings()
    assert (settings.gang_defaults, settings.gangs) == (defaults.gang_defaults, defaults.gangs)
    assert settings.leader_election == defaults.leader_election
    assert (settings.first_backoff_s, settings.most_backoff_s) == (defaults.first_backoff_s, defaults.most_backoff_s)
