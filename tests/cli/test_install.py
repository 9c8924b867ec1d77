"""`koordpy install manifests`: what the chart renders, and rights that are enough on a kube-apiserver with RBAC."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from deploy import chart
from koordpy.api.podgroup.coscheduling import SIGS_GROUP, X_GROUP
from koordpy.app import install
from koordpy.app.crds import definitions
from koordpy.sim.embedded.workloads.operators.definitions import definitions as of_operators
from tests.app.scheduler import SchedulerProcess
from tests.builders import Json, node_json, pod_json
from tests.cli.commands import koordpy, started
from tests.controllers.queuejob.world import job, task
from tests.controllers.world import definition as podgroup_definition
from tests.controlplane.client import Client, path
from tests.controlplane.server import ADMIN_TOKEN, NOBODY_TOKEN, ControlPlane

pytestmark = pytest.mark.process

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
PLACES = {  # kind -> where its objects are created
    "ServiceAccount": "/api/v1/namespaces/{namespace}/serviceaccounts",
    "ClusterRole": RBAC + "/clusterroles",
    "ClusterRoleBinding": RBAC + "/clusterrolebindings",
    "Role": RBAC + "/namespaces/{namespace}/roles",
    "RoleBinding": RBAC + "/namespaces/{namespace}/rolebindings",
}
TOPOLOGIES = "apis/scheduling.koordinator.sh/v1alpha1/clusternetworktopologies"
PATIENCE_S = 20


def test_it_prints_the_namespace_the_definitions_and_the_rest():
    printed = koordpy("install", "manifests")
    assert (printed.returncode, printed.stderr) == (0, "")
    documents = list(yaml.safe_load_all(printed.stdout))
    assert documents[0]["kind"] == "Namespace"
    assert documents[1 : 1 + len(definitions())] == definitions()
    assert {"Deployment", "ClusterRole", "PodDisruptionBudget", "Service"} < {each["kind"] for each in documents}
    without = list(yaml.safe_load_all(koordpy("install", "manifests", "--without-crds").stdout))
    assert [each for each in documents if each["kind"] != "CustomResourceDefinition"] == without


@pytest.mark.real  # needs helm
def test_another_namespace_and_image_are_what_helm_would_render():
    printed = install.manifests(namespace="batch", image="registry.example/k:v1", with_definitions=False)
    rendered = chart.for_install("--set=image.repository=registry.example/k,image.tag=v1", namespace="batch")
    assert list(yaml.safe_load_all(printed))[1:] == list(yaml.safe_load_all(rendered))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [(["--namespace", "Batch_1"], "'Batch_1' is no name of a namespace"), (["--image", 'a" b'], "is no image")],
)
def test_what_cannot_be_a_name_is_refused(arguments, complaint):
    answer = koordpy("install", "manifests", *arguments)
    assert answer.returncode == 2
    assert complaint in answer.stderr


@pytest.fixture
def guarded():
    with ControlPlane("RBAC") as control_plane:
        yield control_plane


@pytest.fixture
async def admin(guarded) -> AsyncIterator[Client]:
    async with Client(guarded.url, token=ADMIN_TOKEN, ca_path=guarded.ca_path) as client:
        await client.create(
            "namespaces", {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": install.NAMESPACE}}
        )
        yield client


async def grant(admin: Client) -> None:
    """The accounts and roles as they are installed."""
    for document in yaml.safe_load_all(install.manifests(with_definitions=False)):
        if document["kind"] in PLACES:
            place = PLACES[document["kind"]].format(namespace=document["metadata"].get("namespace"))
            (await admin.request("POST", place + "?fieldValidation=Strict", document)).ok()


async def token_of(admin: Client, component: str, audiences: Sequence[str] = ()) -> str:
    spec = {"audiences": list(audiences)}
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    path = f"/api/v1/namespaces/{install.NAMESPACE}/serviceaccounts/koordpy-{component}/token"
    return (await admin.request("POST", path, request)).ok()["status"]["token"]


class Running:
    """Parts of koordpy as processes, each with its own account; at the end none of them was denied anything."""

    def __init__(self, guarded: ControlPlane, admin: Client, directory: Path) -> None:
        self._guarded, self._admin, self._directory = guarded, admin, directory

    async def kubeconfig(self, component: str) -> Path:
        token = await token_of(self._admin, component)
        return self._guarded.kubeconfig(self._directory / component, token=token)

    @contextmanager
    def part(self, command: str, kubeconfig: Path):
        quiet = ("--bind-address", "127.0.0.1", "--port", "0")
        with started(command, "--kubeconfig", kubeconfig, *quiet) as process:
            yield
            process.terminate()
            _, log = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0
            assert "orbidden" not in log


@pytest.fixture
async def running(guarded, admin, tmp_path) -> Running:
    await grant(admin)
    return Running(guarded, admin, tmp_path)


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await holds():  # noqa: ASYNC110 - another process does it
            await asyncio.sleep(0.1)


async def says(admin: Client, pod: str, word: str) -> bool:
    found = (await admin.get("pods", pod)).ok()
    return word in str([found["spec"].get("nodeName"), found["status"].get("conditions")])


async def has_events(admin: Client, count: int) -> bool:
    return len((await admin.list("events")).ok()["items"]) >= count


async def is_given_back(admin: Client, lease: str) -> bool:
    """With the permission to do so."""
    return not (await admin.get("leases", lease, namespace="kube-system")).ok()["spec"].get("holderIdentity")


@pytest.mark.real
async def test_the_roles_allow_everything_that_scheduling_needs(running, admin):
    (await admin.create("nodes", node_json("n1"))).ok()
    (await admin.create("pods", yaml.safe_load((EXAMPLES / "pod.yaml").read_text()))).ok()
    (await admin.create("pods", pod_json("huge", cpu=64))).ok()
    with running.part("run", await running.kubeconfig("scheduler")):
        await until(lambda: says(admin, "hello", "n1"))
        await until(lambda: says(admin, "huge", "Insufficient cpu"))
        await until(lambda: has_events(admin, 2))
    assert await is_given_back(admin, "koord-scheduler")


def in_gang(name: str, gang: str) -> Json:
    return pod_json(name, cpu=1, labels={"pod-group.scheduling.sigs.k8s.io": gang})


async def has_phase(admin: Client, api_group: str, name: str, phase: str) -> bool:
    found = (await admin.get(f"apis/{api_group}/v1alpha1/podgroups", name)).ok()
    return found.get("status", {}).get("phase") == phase


async def is_served(admin: Client, resource: str) -> bool:
    return (await admin.list(resource, namespace="")).status == 200


@pytest.mark.real
async def test_the_roles_allow_everything_that_gangs_and_their_status_need(running, admin):
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
    schedulers, controllers = await running.kubeconfig("scheduler"), await running.kubeconfig("controllers")
    with running.part("run", schedulers), running.part("controllers", controllers):
        for name, api_group in gangs.items():
            await until(lambda name=name, api_group=api_group: has_phase(admin, api_group, name, "Scheduled"))
    assert await is_given_back(admin, "koord-scheduler")
    assert await is_given_back(admin, "koordpy-controllers")


async def condition_of_the_topology(admin: Client) -> str:
    found = (await admin.get(TOPOLOGIES, "default", namespace="")).ok()
    return next((c["status"] for c in found.get("status", {}).get("conditions", []) if c["type"] == "Ready"), "")


async def has_warnings(admin: Client) -> bool:
    events = (await admin.list("events")).ok()["items"]
    return any(e["reason"] == "InvalidSpec" and e["regarding"]["kind"] == "ClusterNetworkTopology" for e in events)


async def holds(found: Awaitable[object], wanted: object) -> bool:
    return await found == wanted


@pytest.mark.real
async def test_the_roles_allow_everything_that_the_topology_and_its_status_need(running, admin):
    (definition,) = [each for each in definitions() if each["metadata"]["name"].startswith("clusternetwork")]
    (await admin.create("customresourcedefinitions", definition)).ok()
    await until(lambda: is_served(admin, TOPOLOGIES))
    topology = yaml.safe_load((EXAMPLES / "topology.yaml").read_text())
    (await admin.request("POST", f"/{TOPOLOGIES}?fieldValidation=Strict", topology)).ok()
    schedulers, controllers = await running.kubeconfig("scheduler"), await running.kubeconfig("controllers")
    with running.part("run", schedulers), running.part("controllers", controllers):
        await until(lambda: holds(condition_of_the_topology(admin), "True"))
        broken = {"spec": {"networkTopologySpec": []}}
        (await admin.patch(TOPOLOGIES, "default", broken, namespace="")).ok()
        await until(lambda: holds(condition_of_the_topology(admin), "False"))
        await until(lambda: has_warnings(admin))


QUEUE_JOBS = "apis/arbitrator.incubator.k8s.io/v1alpha1/queuejobs"


async def is_pending(admin: Client, restarts: int) -> bool:
    found = (await admin.get(QUEUE_JOBS, "j")).ok().get("status", {})
    return (found.get("pending"), found.get("restarts")) == (2, restarts)


async def is_gone(admin: Client) -> bool:
    return (await admin.get(QUEUE_JOBS, "j")).status == 404


@pytest.mark.real
async def test_the_roles_allow_everything_that_queuejobs_need(running, admin):
    for each in definitions():
        if each["spec"]["group"] == "arbitrator.incubator.k8s.io":
            (await admin.create("customresourcedefinitions", each)).ok()
    await until(lambda: is_served(admin, QUEUE_JOBS))
    with running.part("controllers", await running.kubeconfig("controllers")):
        body = job("j", task("w", 2), network="Hostnames", ttlSecondsAfterFinished=0)
        (await admin.request("POST", path(QUEUE_JOBS, namespace="default") + "?fieldValidation=Strict", body)).ok()
        await until(lambda: is_pending(admin, restarts=0))
        (await admin.patch("pods", "j-w-0-0", {"status": {"phase": "Failed"}}, subresource="status")).ok()
        await until(lambda: is_pending(admin, restarts=1))
        (await admin.patch(QUEUE_JOBS, "j", {"spec": {"schedSpec": {"minAvailable": 1}}})).ok()
        for name in ("j-w-0-1", "j-w-1-1"):
            (await admin.patch("pods", name, {"status": {"phase": "Succeeded"}}, subresource="status")).ok()
        await until(lambda: is_gone(admin))


async def group_of(admin: Client, pod: str) -> str:
    return (await admin.get("pods", pod)).ok()["metadata"].get("annotations", {}).get("pod-group-name", "")


@pytest.mark.real
async def test_the_roles_allow_everything_that_grouping_of_workloads_needs(running, admin):
    names = ("podgroups.scheduling.run.ai", "pytorchjobs.kubeflow.org")
    made = [each for each in (*definitions(), *of_operators()) if each["metadata"]["name"] in names]
    for definition in made:
        (await admin.create("customresourcedefinitions", definition)).ok()
    await until(lambda: is_served(admin, "apis/scheduling.run.ai/v2alpha2/podgroups"))
    await until(lambda: is_served(admin, "apis/kubeflow.org/v1/pytorchjobs"))
    job = yaml.safe_load((EXAMPLES / "workload-pytorchjob.yaml").read_text())
    owner = (await admin.create("apis/kubeflow.org/v1/pytorchjobs", job)).ok()
    reference = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "controller": True}
    reference |= {key: owner["metadata"][key] for key in ("name", "uid")}
    for name, labels in (("m", {"training.kubeflow.org/replica-type": "master"}), ("x", {})):
        pod = pod_json(name, labels=labels)
        pod["metadata"]["ownerReferences"] = [reference]
        (await admin.create("pods", pod)).ok()
    with running.part("controllers", await running.kubeconfig("controllers")):
        await until(lambda: holds(group_of(admin, "x"), f"pg-finetune-{owner['metadata']['uid']}"))
        await until(lambda: holds(group_of(admin, "m"), f"pg-finetune-{owner['metadata']['uid']}"))
        broken = {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 0}}}}
        (await admin.patch("apis/kubeflow.org/v1/pytorchjobs", "finetune", broken)).ok()
        await until(lambda: has_events(admin, 1))
    assert await is_given_back(admin, "koordpy-podgrouper")


async def answer_to(scheduler: SchedulerProcess, token: str, header: str = "X-Koordpy-Authorization") -> int:
    return (await scheduler.get("/apis/koordpy.io/v1alpha1/jobs", {header: f"Bearer {token}"}))[0]


@pytest.mark.real
async def test_the_roles_allow_everything_that_authorization_needs(running, admin, tmp_path):
    """Tokens that are made for koordpy open its answers, and no others do."""
    kubeconfig = await running.kubeconfig("scheduler")
    made_for_it = await token_of(admin, "answers", audiences=["koordpy"])
    for_the_api_server = await token_of(admin, "answers")
    async with SchedulerProcess(tmp_path, "--kubeconfig", kubeconfig, "--authorization=delegated") as scheduler:
        await scheduler.ready()
        await until(lambda: holds(answer_to(scheduler, made_for_it), 200))
        assert await answer_to(scheduler, for_the_api_server) == 401
        assert await answer_to(scheduler, for_the_api_server, "Authorization") == 200
        assert await answer_to(scheduler, await token_of(admin, "controllers", audiences=["koordpy"])) == 403
        assert (await scheduler.get("/metrics"))[0] == 401
        assert "orbidden" not in scheduler.text()


async def may(client: Client, verb: str, resource: str, *, group: str = SIGS_GROUP, sub: str = "") -> bool:
    """Whether whoever asks may do this in namespace default."""
    asked = {"namespace": "default", "verb": verb, "group": group, "resource": resource, "subresource": sub}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    answer = await client.request("POST", path, review | {"spec": {"resourceAttributes": asked}})
    return bool(answer.ok()["status"]["allowed"])


async def bind(admin: Client, role: str) -> None:
    """Give a role to nobody, in namespace default."""
    group = "rbac.authorization.k8s.io"
    binding = {
        "metadata": {"name": role},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "nobody"}],
    }
    (await admin.request("POST", f"{RBAC}/namespaces/default/rolebindings", binding)).ok()


@pytest.mark.real
async def test_users_with_kubernetes_own_roles_get_the_rights_on_pod_groups(guarded, admin):
    """What adds the rules to those roles is a controller that does not run here: its part is done by hand."""
    await grant(admin)
    for role in ("edit", "view"):
        query = f"?labelSelector=rbac.authorization.k8s.io/aggregate-to-{role}=true"
        found = (await admin.request("GET", PLACES["ClusterRole"] + query)).ok()["items"]
        names = {each["metadata"]["name"] for each in found}
        assert {f"system:aggregate-to-{role}", f"koordpy-{role}"} <= names
    async with Client(guarded.url, token=NOBODY_TOKEN, ca_path=guarded.ca_path) as user:
        assert not await may(user, "list", "podgroups")
        await bind(admin, "koordpy-view")
        await until(lambda: may(user, "list", "podgroups"))
        assert not await may(user, "create", "podgroups")
        await bind(admin, "koordpy-edit")
        await until(lambda: may(user, "create", "podgroups"))
        assert await may(user, "create", "podgroups", group=X_GROUP)
        assert not await may(user, "patch", "podgroups", sub="status")
        assert await may(user, "list", "clusternetworktopologies", group="scheduling.koordinator.sh")
