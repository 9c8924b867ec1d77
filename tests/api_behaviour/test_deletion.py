"""Deletion: at once, after a grace period, after finalizers, and of many at a time."""

import pytest

from tests.api_behaviour.objects import node, pod
from tests.controlplane.client import Client

NOBODY = "00000000-0000-0000-0000-000000000000"
HELD = {"finalizers": ["koordpy.test/hold"]}


async def _bound(api: Client, name: str, **spec: object) -> dict:
    (await api.create("pods", pod(name, **spec))).ok()
    (await api.bind(name, "n")).ok()
    return (await api.get("pods", name)).ok()


async def _exists(api: Client, name: str) -> bool:
    return (await api.get("pods", name)).status == 200


async def test_a_pod_that_is_not_bound_is_gone_at_once(api: Client):
    (await api.create("pods", pod("a"))).ok()
    (await api.delete("pods", "a")).ok()
    assert not await _exists(api, "a")


async def test_a_bound_pod_stays_as_terminating_for_its_grace_period(api: Client):
    await _bound(api, "a", terminationGracePeriodSeconds=17)
    (await api.delete("pods", "a")).ok()
    meta = (await api.get("pods", "a")).ok()["metadata"]
    assert "deletionTimestamp" in meta
    assert meta["deletionGracePeriodSeconds"] == 17


async def test_the_grace_period_of_the_request_wins(api: Client):
    await _bound(api, "a")
    (await api.delete("pods", "a", grace=3)).ok()
    assert (await api.get("pods", "a")).ok()["metadata"]["deletionGracePeriodSeconds"] == 3


async def test_grace_period_zero_removes_a_bound_pod_at_once(api: Client):
    await _bound(api, "a")
    (await api.delete("pods", "a", grace=0)).ok()
    assert not await _exists(api, "a")


async def test_a_terminating_pod_goes_when_its_kubelet_deletes_it_with_grace_zero(api: Client):
    bound = await _bound(api, "a")
    (await api.delete("pods", "a")).ok()
    (await api.delete("pods", "a", grace=0, uid=bound["metadata"]["uid"])).ok()
    assert not await _exists(api, "a")


async def test_a_second_delete_does_not_move_the_deadline(api: Client):
    await _bound(api, "a")
    first = (await api.delete("pods", "a")).ok()["metadata"]["deletionTimestamp"]
    (await api.delete("pods", "a")).ok()
    assert (await api.get("pods", "a")).ok()["metadata"]["deletionTimestamp"] == first


async def test_a_finished_pod_goes_without_grace_though_it_is_bound(api: Client):
    await _bound(api, "a")
    (await api.patch("pods", "a", {"status": {"phase": "Succeeded"}}, subresource="status")).ok()
    (await api.delete("pods", "a")).ok()
    assert not await _exists(api, "a")


async def test_deleting_another_uid_is_refused_with_409(api: Client):
    (await api.create("pods", pod("a"))).ok()
    assert "the UID in the precondition" in (await api.delete("pods", "a", uid=NOBODY)).refused(409, "Conflict")
    assert await _exists(api, "a")


async def test_a_finalizer_keeps_an_object_until_it_is_removed(api: Client):
    (await api.create("pods", pod("a", meta=HELD))).ok()
    (await api.delete("pods", "a")).ok()
    assert "deletionTimestamp" in (await api.get("pods", "a")).ok()["metadata"]
    (await api.patch("pods", "a", {"metadata": {"finalizers": None}})).ok()
    assert not await _exists(api, "a")


async def test_a_terminating_object_takes_no_new_finalizer(api: Client):
    (await api.create("pods", pod("a", meta=HELD))).ok()
    (await api.delete("pods", "a")).ok()
    more = {"metadata": {"finalizers": ["koordpy.test/hold", "koordpy.test/late"]}}
    assert "metadata.finalizers" in (await api.patch("pods", "a", more)).refused(422, "Invalid")


async def test_terminating_is_told_to_watches_as_a_modification_and_the_end_as_a_deletion(api: Client):
    await _bound(api, "a")
    version = (await api.list("pods")).ok()["metadata"]["resourceVersion"]
    async with api.watch("pods", resourceVersion=version) as watch:
        (await api.delete("pods", "a")).ok()
        (await api.delete("pods", "a", grace=0)).ok()
        # The last modification but one shortens the grace period, and only then the pod goes.
        events = [await watch.next() for _ in range(3)]
    assert [event["type"] for event in events] == ["MODIFIED", "MODIFIED", "DELETED"]
    assert [event["object"]["metadata"]["deletionGracePeriodSeconds"] for event in events] == [30, 0, 0]


async def test_a_collection_is_deleted_by_its_labels(api: Client):
    for name, gang in (("a", "g"), ("b", "g"), ("c", "other")):
        (await api.create("pods", pod(name, meta={"labels": {"gang": gang}}))).ok()
    (await api.delete_all("pods", labelSelector="gang=g")).ok()
    assert [item["metadata"]["name"] for item in (await api.list("pods")).ok()["items"]] == ["c"]


async def test_deleting_a_node_answers_success_with_its_uid(api: Client):
    created = (await api.create("nodes", node("n"))).ok()
    deleted = (await api.delete("nodes", "n")).ok()
    assert (deleted["kind"], deleted["status"]) == ("Status", "Success")
    assert deleted["details"]["uid"] == created["metadata"]["uid"]


async def test_deleting_a_pod_answers_with_the_pod(api: Client):
    created = (await api.create("pods", pod("a"))).ok()
    deleted = (await api.delete("pods", "a")).ok()
    assert (deleted["kind"], deleted["metadata"]["uid"]) == ("Pod", created["metadata"]["uid"])


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_namespaces_that_everything_relies_on_are_not_deleted(api: Client, name: str):
    told = (await api.delete("namespaces", name)).refused(403, "Forbidden")
    assert told == f'namespaces "{name}" is forbidden: this namespace may not be deleted'
    assert "deletionTimestamp" not in (await api.get("namespaces", name)).ok()["metadata"]
