"""pods/status: how a scheduler reports, and the wall between spec and status."""

from tests.api_behaviour.objects import pod
from tests.controlplane.client import Client, Json

UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
READY = {"type": "Ready", "status": "False", "reason": "Waiting"}


async def _patched(api: Client, status: Json, how: str) -> Json:
    return (await api.patch("pods", "a", {"status": status}, subresource="status", how=how)).ok()["status"]


def _types(status: Json) -> list[str]:
    return [condition["type"] for condition in status["conditions"]]


async def test_a_strategic_patch_merges_conditions_by_their_type(api: Client):
    (await api.create("pods", pod("a"))).ok()
    await _patched(api, {"conditions": [READY]}, "strategic")
    status = await _patched(api, {"conditions": [UNSCHEDULABLE]}, "strategic")
    assert sorted(_types(status)) == ["PodScheduled", "Ready"]
    status = await _patched(api, {"conditions": [{"type": "Ready", "status": "True"}]}, "strategic")
    (ready,) = [condition for condition in status["conditions"] if condition["type"] == "Ready"]
    assert (ready["status"], ready["reason"]) == ("True", "Waiting")


async def test_a_strategic_patch_can_delete_one_condition(api: Client):
    (await api.create("pods", pod("a"))).ok()
    await _patched(api, {"conditions": [READY, UNSCHEDULABLE]}, "strategic")
    status = await _patched(api, {"conditions": [{"$patch": "delete", "type": "Ready"}]}, "strategic")
    assert _types(status) == ["PodScheduled"]


async def test_a_merge_patch_replaces_the_whole_list_of_conditions(api: Client):
    (await api.create("pods", pod("a"))).ok()
    await _patched(api, {"conditions": [READY]}, "merge")
    assert _types(await _patched(api, {"conditions": [UNSCHEDULABLE]}, "merge")) == ["PodScheduled"]


async def test_a_null_in_a_merge_patch_removes_the_nomination(api: Client):
    (await api.create("pods", pod("a"))).ok()
    assert (await _patched(api, {"nominatedNodeName": "n"}, "merge"))["nominatedNodeName"] == "n"
    assert "nominatedNodeName" not in await _patched(api, {"nominatedNodeName": None}, "merge")


async def test_a_status_patch_does_not_change_the_spec_or_labels(api: Client):
    before = (await api.create("pods", pod("a"))).ok()
    patch = {"spec": {"priority": 7}, "metadata": {"labels": {"x": "y"}}, "status": {"message": "told"}}
    after = (await api.patch("pods", "a", patch, subresource="status")).ok()
    assert after["status"]["message"] == "told"
    assert after["spec"] == before["spec"]


async def test_status_is_ignored_when_a_pod_is_created(api: Client):
    created = (await api.create("pods", {**pod("a"), "status": {"phase": "Running", "message": "x"}})).ok()
    assert created["status"]["phase"] == "Pending"
    assert "message" not in created["status"]


async def test_status_is_ignored_when_a_pod_is_patched_or_put(api: Client):
    created = (await api.create("pods", pod("a"))).ok()
    patched = (await api.patch("pods", "a", {"status": {"phase": "Running"}})).ok()
    assert patched["status"]["phase"] == "Pending"
    put = (await api.replace("pods", {**created, "status": {"phase": "Running"}})).ok()
    assert put["status"]["phase"] == "Pending"


async def test_a_put_of_status_changes_only_the_status(api: Client):
    created = (await api.create("pods", pod("a"))).ok()
    changed = {**created, "spec": {**created["spec"], "priority": 7}, "status": {"phase": "Running"}}
    put = (await api.replace("pods", changed, subresource="status")).ok()
    assert put["status"]["phase"] == "Running"
    assert put["spec"] == created["spec"]


async def test_a_status_patch_with_a_stale_version_is_refused_with_409(api: Client):
    created = (await api.create("pods", pod("a"))).ok()
    await _patched(api, {"message": "one"}, "merge")
    stale = {"metadata": {"resourceVersion": created["metadata"]["resourceVersion"]}, "status": {"message": "two"}}
    (await api.patch("pods", "a", stale, subresource="status")).refused(409, "Conflict")


async def test_a_status_patch_for_another_uid_is_refused_as_the_uid_cannot_change(api: Client):
    (await api.create("pods", pod("a"))).ok()
    patch = {"metadata": {"uid": "00000000-0000-0000-0000-000000000000"}, "status": {"message": "x"}}
    message = (await api.patch("pods", "a", patch, subresource="status", how="strategic")).refused(422, "Invalid")
    assert "metadata.uid" in message


async def test_a_pod_has_the_quality_of_service_of_its_requests(api: Client):
    full = {"limits": {"cpu": "1", "memory": "1Gi"}}
    expected = {
        "best": ({}, "BestEffort"),
        "burst": ({"requests": {"cpu": "1"}}, "Burstable"),
        "guaranteed": (full, "Guaranteed"),
    }
    for name, (resources, quality) in expected.items():
        containers = [{"name": "main", "image": "none", "resources": resources}]
        created = (await api.create("pods", pod(name, containers=containers))).ok()
        assert created["status"]["qosClass"] == quality
