"""kubectl, as a user would use it, against the embedded API."""

from __future__ import annotations

import asyncio

import pytest

from tests.sim.embedded.inprocess import PODS, pod
from tests.sim.embedded.kubectl import Kubectl

pytestmark = [pytest.mark.process, pytest.mark.real]

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a", "labels": {"app": "web"}},
    "spec": {"nodeName": "n", "containers": [{"name": "main", "image": "none:1"}]},
}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gadgets.x.test"},
    "spec": {
        "group": "x.test",
        "scope": "Namespaced",
        "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "shortNames": ["gd"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"size": {"type": "integer", "minimum": 1, "description": "how big"}},
                            },
                            "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
                        },
                    }
                },
            }
        ],
    },
}
GADGET = {"apiVersion": "x.test/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {"size": 3}}


async def test_get_shows_the_columns_a_user_knows(kubectl: Kubectl):
    await kubectl.server.create(PODS, pod("a", node="n"))
    await kubectl("wait", "--for=condition=Ready", "pod/a", "--timeout=10s")
    header, row = (await kubectl("get", "pods", "-o", "wide")).splitlines()
    assert header.split()[:6] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP"]
    assert "NOMINATED NODE" in header
    assert row.split()[:4] == ["a", "1/1", "Running", "0"]
    assert row.split()[6] == "n"


@pytest.mark.parametrize("what", ["nodes", "ns", "events", "leases", "pc", "pdb", "crd", "pvc", "pv", "deploy", "all"])
async def test_get_knows_the_resource_by_its_short_name(kubectl: Kubectl, what: str):
    await kubectl("get", what)


async def test_apply_creates_then_changes_then_finds_nothing_to_change(kubectl: Kubectl):
    assert "created" in await kubectl("apply", "-f", kubectl.file(POD))
    changed = {**POD, "metadata": {"name": "a", "labels": {"app": "api"}}}
    assert "configured" in await kubectl("apply", "-f", kubectl.file(changed))
    assert "unchanged" in await kubectl("apply", "-f", kubectl.file(changed))
    assert (await kubectl.json("get", "pod", "a"))["metadata"]["labels"] == {"app": "api"}


async def test_server_side_apply_drops_what_is_no_longer_applied(kubectl: Kubectl):
    await kubectl("apply", "--server-side", "-f", kubectl.file(POD))
    bare = {**POD, "metadata": {"name": "a", "labels": {"other": "x"}}}
    await kubectl("apply", "--server-side", "-f", kubectl.file(bare))
    assert (await kubectl.json("get", "pod", "a"))["metadata"]["labels"] == {"other": "x"}


async def test_server_side_apply_of_the_same_again_changes_nothing(kubectl: Kubectl):
    manifest = kubectl.file({**POD, "spec": {**POD["spec"], "nodeName": "absent"}})
    await kubectl("apply", "--server-side", "-f", manifest)
    before = (await kubectl.json("get", "pod", "a"))["metadata"]["resourceVersion"]
    await kubectl("apply", "--server-side", "-f", manifest)
    assert (await kubectl.json("get", "pod", "a"))["metadata"]["resourceVersion"] == before


async def test_create_twice_is_refused_the_second_time(kubectl: Kubectl):
    manifest = kubectl.file(POD)
    await kubectl("create", "-f", manifest)
    assert 'pods "a" already exists' in await kubectl.refused("create", "-f", manifest)


async def test_a_dry_run_stores_nothing(kubectl: Kubectl):
    await kubectl("apply", "--dry-run=server", "-f", kubectl.file(POD))
    assert "NotFound" in await kubectl.refused("get", "pod", "a")


@pytest.mark.parametrize(
    ("how", "patch"),
    [
        ("strategic", '{"metadata":{"labels":{"x":"y"}}}'),
        ("merge", '{"metadata":{"labels":{"x":"y"}}}'),
        ("json", '[{"op":"add","path":"/metadata/labels/x","value":"y"}]'),
    ],
)
async def test_patch_takes_each_kind_of_patch(kubectl: Kubectl, how: str, patch: str):
    await kubectl("create", "-f", kubectl.file(POD))
    await kubectl("patch", "pod", "a", "--type", how, "-p", patch)
    assert (await kubectl.json("get", "pod", "a"))["metadata"]["labels"] == {"app": "web", "x": "y"}


async def test_label_and_annotate_write_metadata(kubectl: Kubectl):
    await kubectl("create", "-f", kubectl.file(POD))
    await kubectl("label", "pod", "a", "x=y", "app-")
    await kubectl("annotate", "pod", "a", "note=hello")
    metadata = (await kubectl.json("get", "pod", "a"))["metadata"]
    assert (metadata["labels"], metadata["annotations"]) == ({"x": "y"}, {"note": "hello"})


async def test_cordon_and_taint_change_the_node(kubectl: Kubectl):
    await kubectl("cordon", "n")
    assert "SchedulingDisabled" in await kubectl("get", "node", "n")
    await kubectl("uncordon", "n")
    await kubectl("taint", "node", "n", "k=v:NoSchedule")
    assert (await kubectl.json("get", "node", "n"))["spec"]["taints"] == [
        {"key": "k", "value": "v", "effect": "NoSchedule"}
    ]


async def test_drain_evicts_what_runs_on_the_node(kubectl: Kubectl):
    await kubectl("create", "-f", kubectl.file(POD))
    assert "evicted" in await kubectl("drain", "n", "--force", "--timeout=10s")
    assert "NotFound" in await kubectl.refused("get", "pod", "a")


async def test_delete_waits_until_the_pod_is_gone(kubectl: Kubectl):
    await kubectl("create", "-f", kubectl.file(POD))
    await kubectl("delete", "pod", "a", "--timeout=10s")
    assert kubectl.server.store.get("pods", "default", "a") is None


@pytest.mark.parametrize("what", ["pod/a", "node/n", "namespace/default"])
async def test_describe_shows_the_object(kubectl: Kubectl, what: str):
    await kubectl("create", "-f", kubectl.file(POD))
    name = what.partition("/")[2]
    assert any(line.split() == ["Name:", name] for line in (await kubectl("describe", what)).splitlines())


async def test_get_watch_prints_changes_as_they_come(kubectl: Kubectl):
    process = await kubectl.start("get", "pods", "--watch")
    try:
        async with asyncio.timeout(30):
            while not kubectl.server.store._listeners["pods"][1:]:  # noqa: ASYNC110 -- kubectl says nothing before
                await asyncio.sleep(0.02)
            await kubectl.server.create(PODS, pod("a", node="n"))
            header, pending, running = [(await process.stdout.readline()).decode().split() for _ in range(3)]
    finally:
        process.kill()
        await process.communicate()
    assert (header[2], pending[2], running[2]) == ("STATUS", "Pending", "Running")


async def test_logs_are_refused_in_words(kubectl: Kubectl):
    await kubectl("create", "-f", kubectl.file(POD))
    assert "runs no containers" in await kubectl.refused("logs", "a")


async def test_a_custom_resource_is_served_as_soon_as_it_is_defined(kubectl: Kubectl):
    await kubectl("apply", "-f", kubectl.file(DEFINITION))
    await kubectl("wait", "--for=condition=Established", "crd/gadgets.x.test", "--timeout=10s")
    await kubectl("apply", "-f", kubectl.file(GADGET))
    header, row = (await kubectl("get", "gd")).splitlines()
    assert (header.split(), row.split()) == (["NAME", "SIZE"], ["g", "3"])


async def test_explain_shows_the_schema_of_a_custom_resource(kubectl: Kubectl):
    await kubectl("apply", "-f", kubectl.file(DEFINITION))
    assert "how big" in await kubectl("explain", "gadget.spec")


async def test_explain_knows_the_fields_of_a_pod(kubectl: Kubectl):
    assert "schedulerName" in await kubectl("explain", "pod.spec")


async def test_apply_of_an_unknown_field_is_refused_and_names_it(kubectl: Kubectl):
    await kubectl("apply", "-f", kubectl.file(DEFINITION))
    wrong = {**GADGET, "spec": {"size": 3, "colour": "red"}}
    assert 'unknown field "spec.colour"' in await kubectl.refused("apply", "-f", kubectl.file(wrong))


async def test_the_status_of_a_custom_resource_is_patched_through_its_subresource(kubectl: Kubectl):
    await kubectl("apply", "-f", kubectl.file(DEFINITION))
    await kubectl("apply", "-f", kubectl.file(GADGET))
    patch = '{"status":{"phase":"Ready"}}'
    await kubectl("patch", "gadget", "g", "--type=merge", "-p", patch)
    assert "status" not in await kubectl.json("get", "gadget", "g")
    await kubectl("patch", "gadget", "g", "--type=merge", "--subresource=status", "-p", patch)
    assert (await kubectl.json("get", "gadget", "g"))["status"] == {"phase": "Ready"}


async def test_a_deleted_definition_takes_its_objects_with_it(kubectl: Kubectl):
    await kubectl("apply", "-f", kubectl.file(DEFINITION))
    await kubectl("apply", "-f", kubectl.file(GADGET))
    await kubectl("delete", "crd", "gadgets.x.test", "--timeout=10s")
    assert not kubectl.server.store.items("gadgets.x.test")


async def test_a_namespace_is_deleted_with_what_is_in_it(kubectl: Kubectl):
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}
    await kubectl("create", "-f", kubectl.file(namespace, {**POD, "metadata": {"name": "a", "namespace": "x"}}))
    await kubectl("delete", "namespace", "x", "--timeout=10s")
    assert kubectl.server.store.get("pods", "x", "a") is None
