"""kubectl on workloads of the embedded cluster: create, scale, roll out, wait. Somebody binds every pod."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.sim.embedded.inprocess import call
from tests.sim.embedded.kubectl import Kubectl

pytestmark = [pytest.mark.process, pytest.mark.real]


@pytest.fixture(autouse=True)
async def _binder(kubectl: Kubectl) -> AsyncIterator[None]:
    cluster = kubectl.server

    async def bind() -> None:
        while True:
            await asyncio.sleep(0.02)
            for stored in tuple(cluster.store.items("pods")):
                if not stored.obj["spec"].get("nodeName"):
                    path = f"/api/v1/namespaces/{stored.key[0]}/pods/{stored.key[1]}/binding"
                    await call(cluster, "POST", path, {"target": {"name": "n"}})

    task = asyncio.create_task(bind())
    yield
    task.cancel()


CREATED = {
    "deployment x --image=none --replicas=2 --port=80": "deployment.apps/x created",
    "job x --image=none -- sleep 1": "job.batch/x created",
    "cronjob x --image=none --schedule=@daily": "cronjob.batch/x created",
    "priorityclass x --value=7 --description=d": "priorityclass.scheduling.k8s.io/x created",
    "namespace x": "namespace/x created",
    "configmap x --from-literal=a=b": "configmap/x created",
    "secret generic x --from-literal=a=b": "secret/x created",
    "serviceaccount x": "serviceaccount/x created",
    "quota x --hard=pods=3,cpu=2": "resourcequota/x created",
    "pdb x --selector=a=b --min-available=50%": "poddisruptionbudget.policy/x created",
    "service clusterip x --tcp=80:8080": "service/x created",
    "ingress x --rule=a.test/=x:80": "ingress.networking.k8s.io/x created",
    "role x --verb=get --resource=pods": "role.rbac.authorization.k8s.io/x created",
    "rolebinding x --role=x --user=u": "rolebinding.rbac.authorization.k8s.io/x created",
    "clusterrole x --verb=get --resource=pods": "clusterrole.rbac.authorization.k8s.io/x created",
    "clusterrolebinding x --clusterrole=x --user=u": "clusterrolebinding.rbac.authorization.k8s.io/x created",
}


@pytest.mark.parametrize("what", CREATED)
async def test_create_makes_what_it_names(kubectl: Kubectl, what: str):
    assert CREATED[what] in await kubectl("create", *what.split())


async def test_create_sends_what_was_asked_for(kubectl: Kubectl):
    await kubectl("create", "deployment", "x", "--image=none:7", "--replicas=2", "--port=80")
    spec = (await kubectl.json("get", "deployment", "x"))["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    assert (spec["replicas"], container["image"], container["ports"][0]["containerPort"]) == (2, "none:7", 80)
    await kubectl("create", "priorityclass", "p", "--value=-5", "--preemption-policy=Never")
    made = await kubectl.json("get", "priorityclass", "p")
    assert (made["value"], made["preemptionPolicy"]) == (-5, "Never")
    await kubectl("create", "secret", "generic", "s", "--from-literal=a=b")
    assert (await kubectl.json("get", "secret", "s"))["data"] == {"a": "Yg=="}


async def test_what_nobody_acts_on_is_created_with_a_warning(kubectl: Kubectl):
    _, _, told = await kubectl.run("create", "quota", "x", "--hard=pods=3")
    assert told == "Warning: the embedded cluster enforces a ResourceQuota for pods alone, and none with scopes\n"


async def test_autoscale_says_that_nothing_is_scaled(kubectl: Kubectl):
    await kubectl("create", "deployment", "x", "--image=none")
    code, out, told = await kubectl.run("autoscale", "deployment", "x", "--max=3")
    assert (code, out) == (0, "horizontalpodautoscaler.autoscaling/x autoscaled\n")
    expected = (
        "the embedded cluster has no HorizontalPodAutoscaler controller: it is stored, and nothing follows from it"
    )
    assert told == f"Warning: {expected}\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("create", "token", "x"), "the embedded API serves no serviceaccounts/token"),
        (("exec", "deployment/x", "--", "ls"), "pods/exec is not served: the embedded API simulates pods"),
    ],
)
async def test_what_is_not_served_is_refused_in_one_line(kubectl: Kubectl, arguments: tuple[str, ...], told: str):
    await kubectl("create", "deployment", "x", "--image=none")
    await kubectl("rollout", "status", "deployment", "x", "--timeout=20s")
    said = await kubectl.refused(*arguments)
    assert told in said
    assert len(said.splitlines()) == 1


async def test_rollout_status_waits_until_all_pods_are_available(kubectl: Kubectl):
    await kubectl("create", "deployment", "x", "--image=none", "--replicas=3")
    assert "successfully rolled out" in await kubectl("rollout", "status", "deployment", "x", "--timeout=20s")
    header, row = (await kubectl("get", "deployment", "x")).splitlines()
    assert (header.split(), row.split()[:4]) == (
        ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"],
        ["x", "3/3", "3", "3"],
    )


async def test_scale_changes_the_number_of_pods(kubectl: Kubectl):
    await kubectl("create", "deployment", "x", "--image=none", "--replicas=3")
    await kubectl("scale", "deployment", "x", "--replicas=1")
    await kubectl("wait", "--for=jsonpath={.status.replicas}=1", "deployment/x", "--timeout=20s")
    await kubectl("scale", "deployment", "x", "--current-replicas=1", "--replicas=2")
    await kubectl("rollout", "status", "deployment", "x", "--timeout=20s")
    assert (await kubectl.json("get", "deployment", "x"))["status"]["readyReplicas"] == 2


async def test_undo_goes_back_to_the_image_before(kubectl: Kubectl):
    await kubectl("create", "deployment", "x", "--image=none:1")
    await kubectl("set", "image", "deployment/x", "none=none:2")
    await kubectl("rollout", "status", "deployment", "x", "--timeout=20s")
    await kubectl("rollout", "undo", "deployment", "x")
    await kubectl("rollout", "status", "deployment", "x", "--timeout=20s")
    spec = (await kubectl.json("get", "deployment", "x"))["spec"]
    assert spec["template"]["spec"]["containers"][0]["image"] == "none:1"
    history = (await kubectl("rollout", "history", "deployment", "x")).split()
    assert ("2" in history, "3" in history) == (True, True)


async def test_restart_replaces_the_pods(kubectl: Kubectl):
    await kubectl("create", "deployment", "x", "--image=none")
    await kubectl("rollout", "status", "deployment", "x", "--timeout=20s")
    before = kubectl.server.store.items("pods")[0].obj["metadata"]["uid"]
    await kubectl("rollout", "restart", "deployment", "x")
    await kubectl("rollout", "status", "deployment", "x", "--timeout=20s")
    metadata = [stored.obj["metadata"] for stored in kubectl.server.store.items("pods")]
    assert before not in {pod["uid"] for pod in metadata if "deletionTimestamp" not in pod}


async def test_a_job_that_ends_is_waited_for(kubectl: Kubectl):
    metadata = {"annotations": {"embedded.koordpy.io/run-seconds": "0.1"}}
    pods = {"metadata": metadata, "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "none"}]}}
    spec = {"completions": 3, "parallelism": 3, "completionMode": "Indexed", "template": pods}
    manifest = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": spec}
    await kubectl("apply", "-f", kubectl.file(manifest))
    await kubectl("wait", "--for=condition=complete", "job/x", "--timeout=20s")
    header, row = (await kubectl("get", "job", "x")).splitlines()
    assert (header.split()[:3], row.split()[:3]) == (["NAME", "STATUS", "COMPLETIONS"], ["x", "Complete", "3/3"])
    assert "unchanged" in await kubectl("apply", "-f", kubectl.file(manifest))
    await kubectl("delete", "job", "x", "--timeout=20s")
    await kubectl("wait", "--for=delete", "pod", "--all", "--timeout=20s")


async def test_a_stateful_set_rolls_out_in_order(kubectl: Kubectl):
    pods = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "none"}]}}
    spec = {"replicas": 2, "serviceName": "s", "selector": {"matchLabels": {"a": "b"}}, "template": pods}
    manifest = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "x"}, "spec": spec}
    await kubectl("apply", "-f", kubectl.file(manifest))
    await kubectl("rollout", "status", "statefulset", "x", "--timeout=20s")
    assert (await kubectl("get", "pods", "-o", "name")).split() == ["pod/x-0", "pod/x-1"]


@pytest.mark.parametrize("what", ["deployment", "replicaset", "job", "pod", "node"])
async def test_describe_says_no_error(kubectl: Kubectl, what: str):
    await kubectl("create", "deployment", "x", "--image=none")
    await kubectl("create", "job", "y", "--image=none")
    await kubectl("rollout", "status", "deployment", "x", "--timeout=20s")
    told = await kubectl("describe", what)
    assert told.startswith("Name:")
    assert "Failed to" not in told
    assert "<invalid>" not in told
    assert "0001" not in told


async def test_events_are_sorted_by_their_time(kubectl: Kubectl):
    await kubectl("create", "deployment", "x", "--image=none")
    await kubectl("rollout", "status", "deployment", "x", "--timeout=20s")
    header, *rows = (await kubectl("get", "events", "--sort-by=.lastTimestamp")).splitlines()
    assert header.split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert any("ScalingReplicaSet" in row for row in rows)


async def test_nodes_are_shown_wide(kubectl: Kubectl):
    header, row = (await kubectl("get", "nodes", "-o", "wide")).splitlines()
    assert header.split()[-4:] == ["EXTERNAL-IP", "OS-IMAGE", "KERNEL-VERSION", "CONTAINER-RUNTIME"]
    assert row.split()[:2] == ["n", "Ready"]


async def test_everybody_may_do_everything_and_is_told_who_they_are(kubectl: Kubectl):
    assert await kubectl("auth", "can-i", "create", "pods") == "yes\n"
    assert "*.*" in await kubectl("auth", "can-i", "--list")
    assert "embedded-admin" in await kubectl("auth", "whoami")


async def test_a_list_is_applied_item_by_item(kubectl: Kubectl):
    items = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}} for name in ("a", "b")]
    told = await kubectl("apply", "-f", kubectl.file({"apiVersion": "v1", "kind": "List", "items": items}))
    assert told == "configmap/a created\nconfigmap/b created\n"


async def test_an_unknown_kind_is_refused_as_by_a_real_server(kubectl: Kubectl):
    unknown = {"apiVersion": "x.test/v1", "kind": "Gadget", "metadata": {"name": "g"}}
    told = await kubectl.refused("apply", "-f", kubectl.file(unknown))
    assert 'no matches for kind "Gadget" in version "x.test/v1"' in told
    assert "ensure CRDs are installed first" in told
