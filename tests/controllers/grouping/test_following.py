"""A PodGroup is kept true while its workload changes, and what others have set stays."""

from __future__ import annotations

import asyncio

from tests.builders import pod_json
from tests.controllers.grouping.world import World, reference_to

QUEUE = {"kai.scheduler/queue": "team"}


def roles(workers: int) -> dict[str, object]:
    return {"pytorchReplicaSpecs": {"Worker": {"replicas": workers}}}


async def pytorchjob(world: World, workers: int = 2, name: str = "train", **given: object) -> dict[str, object]:
    owner = await world.owner("PyTorchJob", name, roles(workers), **given)
    labels = {"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "0"}
    await world.pod(f"{name}-worker-0", owner, labels=labels)
    return owner


async def test_a_workload_that_is_scaled_is_followed_without_a_pod_having_to_change(world):
    async with world.grouper():
        await pytorchjob(world)
        await world.spec_becomes("train-worker-0", minMember=2)
        await world.change("PyTorchJob", "train", {"spec": roles(5)})
        spec = await world.spec_becomes("train-worker-0", minMember=5)
    assert spec["subGroups"] == [{"name": "worker", "minMember": 5}]


async def test_a_workload_that_is_scaled_while_it_is_read_for_the_first_time_is_followed(embedded):
    async with embedded.grouper():
        await pytorchjob(embedded)
        await embedded.group_of("train-worker-0")  # from here on the kind is watched
        release = embedded.recording.hold("GET", "pytorchjobs/next$")
        await pytorchjob(embedded, name="next")
        await asyncio.sleep(0.2)
        await embedded.change("PyTorchJob", "next", {"spec": roles(5)})
        await asyncio.sleep(0.2)
        release.set()
        await embedded.spec_becomes("next-worker-0", minMember=5)


async def test_a_workload_that_is_deleted_while_it_is_read_for_the_first_time_is_gone(embedded):
    async with embedded.grouper() as running:
        await pytorchjob(embedded)
        await embedded.group_of("train-worker-0")
        release = embedded.recording.hold("GET", "pytorchjobs/next$")
        owner = await pytorchjob(embedded, name="next")
        await asyncio.sleep(0.2)
        await embedded.delete("PyTorchJob", "next")
        await asyncio.sleep(0.2)
        release.set()
        await asyncio.sleep(0.2)
        assert running._podgrouper._owners.known(owner["metadata"]["uid"]) is None


async def test_the_queue_of_the_owner_is_followed_until_somebody_else_sets_it(world):
    async with world.grouper():
        await pytorchjob(world, labels=QUEUE)
        group = await world.group_of("train-worker-0")
        assert group["spec"]["queue"] == "team"
        await world.change("PyTorchJob", "train", {"metadata": {"labels": {"kai.scheduler/queue": "other"}}})
        await world.spec_becomes("train-worker-0", queue="other")
        name = group["metadata"]["name"]
        await world.change("PodGroup", name, {"spec": {"queue": "by-hand"}})
        await world.change("PyTorchJob", "train", {"metadata": {"labels": {"kai.scheduler/queue": "third"}}})
        await world.change("PyTorchJob", "train", {"spec": roles(3)})
        spec = await world.spec_becomes("train-worker-0", minMember=3)
    assert spec["queue"] == "by-hand"


async def test_what_others_set_is_never_overwritten(world):
    theirs = {
        "markUnschedulable": True,
        "schedulingBackoff": -1,
        "queue": "theirs",
        "topologyConstraint": {"requiredTopologyLevel": "rack"},
    }
    async with world.grouper():
        await pytorchjob(world)
        name = (await world.group_of("train-worker-0"))["metadata"]["name"]
        await world.change("PodGroup", name, {"spec": theirs})
        await world.change("PyTorchJob", "train", {"spec": roles(3)})
        spec = await world.spec_becomes("train-worker-0", minMember=3)
    assert theirs.items() <= spec.items()


async def test_a_minimum_that_somebody_changed_is_put_right(world):
    async with world.grouper():
        await pytorchjob(world)
        name = (await world.group_of("train-worker-0"))["metadata"]["name"]
        await world.change("PodGroup", name, {"spec": {"minMember": 7}})
        await world.spec_becomes("train-worker-0", minMember=2)


async def test_a_pod_group_that_was_deleted_is_made_again(world):
    async with world.grouper():
        await pytorchjob(world)
        group = await world.group_of("train-worker-0")
        await world.delete("PodGroup", group["metadata"]["name"])

        async def made_again() -> bool:
            found = await world.pod_groups()
            return bool(found) and found[0]["metadata"]["uid"] != group["metadata"]["uid"]

        await world.until(made_again, "it is there again")


async def test_a_pod_group_name_that_a_user_set_stays(world):
    async with world.grouper():
        owner = await world.owner("Job", "batch")
        await world.pod("mine", owner, annotations={"pod-group-name": "my-own"})
        await world.pod("other", owner)
        await world.group_of("other")
        found = await world.api.ask("GET", world.path("Pod", "mine"))
    assert found["metadata"]["annotations"]["pod-group-name"] == "my-own"


async def test_the_annotations_of_an_owner_about_gangs_and_topology_are_those_of_its_pod_group(world):
    said = {
        "gang.scheduling.koordinator.sh/mode": "NonStrict",
        "kai.scheduler/topology-required-placement": "rack",
        "example.com/note": "not ours",
    }
    async with world.grouper():
        await pytorchjob(world, annotations=said)
        group = await world.group_of("train-worker-0")
    assert group["metadata"]["annotations"] == {"gang.scheduling.koordinator.sh/mode": "NonStrict"}
    assert group["spec"]["topologyConstraint"] == {"requiredTopologyLevel": "rack"}


async def test_only_a_priority_class_that_exists_is_taken(world):
    await world.priority_class("train", 50)
    await world.priority_class("urgent", 90)
    async with world.grouper():
        await pytorchjob(world, labels={"priorityClassName": "imaginary"})
        await world.spec_becomes("train-worker-0", priorityClassName="train")
        await world.change("PyTorchJob", "train", {"metadata": {"labels": {"priorityClassName": "urgent"}}})
        await world.spec_becomes("train-worker-0", priorityClassName="urgent")


async def test_preemptibility_is_taken_from_the_owner_if_it_is_legal(world):
    async with world.grouper():
        await pytorchjob(world, labels={"kai.scheduler/preemptibility": "non-preemptible"})
        await world.spec_becomes("train-worker-0", preemptibility="non-preemptible")


async def test_a_kind_is_watched_while_somebody_uses_it_and_no_longer(embedded, monkeypatch):
    monkeypatch.setattr("koordpy.controllers.grouping.owners._LINGER_S", 0.05)
    async with embedded.grouper():
        assert embedded.recording.count("WATCH", "pytorchjobs") == 0
        await asyncio.sleep(0.1)
        before_anybody = _reflectors()
        await pytorchjob(embedded)
        await embedded.group_of("train-worker-0")
        await asyncio.sleep(0.2)
        assert embedded.recording.count("WATCH", "pytorchjobs") == 1
        await embedded.delete("Pod", "train-worker-0")
        await asyncio.sleep(0.3)
        before = len(embedded.recording.requests)
        await embedded.change("PyTorchJob", "train", {"spec": roles(9)})
        await asyncio.sleep(0.2)
        assert [r for r in embedded.recording.requests[before:] if "pytorchjobs" in r[1]] == []
        assert _reflectors() == before_anybody


def _reflectors() -> int:
    """How many reflectors run."""
    return [task.get_coro().__qualname__ for task in asyncio.all_tasks()].count("Reflector.run")


async def test_a_restarted_grouper_writes_nothing_that_is_true_already(world):
    async with world.grouper():
        await pytorchjob(world)
        await world.group_of("train-worker-0")
        await world.quiet()
    before = len(world.recording.requests)
    async with world.grouper():
        await world.quiet()
    written = [
        path
        for method, path in world.recording.requests[before:]
        if method in ("POST", "PATCH") and "leases" not in path and "/status" not in path
    ]
    assert written == []


async def test_pods_that_came_while_no_grouper_ran_are_grouped_by_the_next(world):
    owner = await world.owner("Job", "batch")
    await world.pod("batch-0", owner)
    async with world.grouper():
        await world.group_of("batch-0")


async def test_the_lease_says_that_there_is_a_grouper(world):
    path = f"/apis/coordination.k8s.io/v1/namespaces/{world.namespace}/leases/koordpy-podgrouper"
    async with world.grouper():
        lease = await world.until(lambda: world.api.ask("GET", path), "the lease")
        assert lease["spec"]["holderIdentity"]
        assert lease["spec"]["renewTime"]
    lease = await world.api.ask("GET", path)
    assert not lease["spec"].get("holderIdentity")  # released, and still there


async def test_pods_that_name_the_owner_of_others_are_neither_grouped_with_them_nor_in_their_way(embedded):
    elsewhere = "/api/v1/namespaces/elsewhere/pods"
    await embedded.api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "elsewhere"}})
    async with embedded.grouper():
        owner = await embedded.owner("PyTorchJob", "train", roles(2))
        stranger = pod_json("a-stranger", namespace="elsewhere")
        stranger["metadata"] = {"name": "a-stranger", "ownerReferences": [reference_to(owner)]}
        await embedded.api.ask("POST", elsewhere, stranger)
        await embedded.quiet()
        labels = {"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "0"}
        await embedded.pod("train-worker-0", owner, labels=labels)
        await embedded.spec_becomes("train-worker-0", minMember=2)
        found = await embedded.api.ask("GET", f"{elsewhere}/a-stranger")
    assert "pod-group-name" not in found["metadata"].get("annotations", {})
