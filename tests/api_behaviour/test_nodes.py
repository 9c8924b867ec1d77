"""Nodes: registering one, reporting for it, and cordoning it."""

from tests.api_behaviour.objects import node
from tests.controlplane.client import Client

SIZE = {"cpu": "8", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": "4"}


async def test_a_node_is_cluster_scoped_and_keeps_its_labels(api: Client):
    created = (await api.create("nodes", node("n", zone="a"))).ok()
    assert "namespace" not in created["metadata"]
    assert created["metadata"]["labels"] == {"zone": "a"}


async def test_a_status_given_at_creation_is_kept_as_kubelets_register_with_it(api: Client):
    created = (await api.create("nodes", {**node("n"), "status": {"capacity": SIZE, "allocatable": SIZE}})).ok()
    assert created["status"]["allocatable"] == SIZE


async def test_a_status_patch_changes_allocatable_and_conditions(api: Client):
    (await api.create("nodes", node("n"))).ok()
    status = {"allocatable": SIZE, "conditions": [{"type": "Ready", "status": "True"}]}
    (await api.patch("nodes", "n", {"status": status}, subresource="status", how="strategic")).ok()
    found = (await api.get("nodes", "n")).ok()["status"]
    assert found["allocatable"] == SIZE
    assert [(c["type"], c["status"]) for c in found["conditions"]] == [("Ready", "True")]


async def test_status_in_a_patch_of_the_node_itself_is_ignored(api: Client):
    (await api.create("nodes", node("n"))).ok()
    patched = (await api.patch("nodes", "n", {"status": {"allocatable": SIZE}})).ok()
    assert "allocatable" not in patched["status"]


async def test_cordoning_and_uncordoning_is_a_field_of_the_spec(api: Client):
    (await api.create("nodes", node("n"))).ok()
    assert (await api.patch("nodes", "n", {"spec": {"unschedulable": True}})).ok()["spec"]["unschedulable"] is True
    assert "unschedulable" not in (await api.patch("nodes", "n", {"spec": {"unschedulable": None}})).ok()["spec"]


async def test_a_taint_can_be_set_and_told_to_watches(api: Client):
    (await api.create("nodes", node("n"))).ok()
    version = (await api.list("nodes")).ok()["metadata"]["resourceVersion"]
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    async with api.watch("nodes", resourceVersion=version) as watch:
        (await api.patch("nodes", "n", {"spec": {"taints": [taint]}})).ok()
        assert (await watch.next())["object"]["spec"]["taints"] == [taint]


async def test_a_taint_with_an_unknown_effect_is_refused_and_names_the_field(api: Client):
    (await api.create("nodes", node("n"))).ok()
    taint = {"key": "gpu", "effect": "Whatever"}
    message = (await api.patch("nodes", "n", {"spec": {"taints": [taint]}})).refused(422, "Invalid")
    assert "taints[0].effect" in message
