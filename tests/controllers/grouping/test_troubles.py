"""Workloads that cannot be understood, owners that cannot be read, writes that fail: told, and tried again."""

from __future__ import annotations

import pytest

from tests.controllers.grouping.world import World, embedded_world, reference_to, run_ai_definition

MINIMUM = "kai.scheduler/batch-min-member"


async def job_of(world: World, name: str = "batch", **given: object) -> dict[str, object]:
    owner = await world.owner("Job", name, **given)
    await world.pod(f"{name}-0", owner)
    return owner


async def test_a_workload_that_cannot_be_understood_waits_and_its_people_are_told(world):
    async with world.grouper():
        await job_of(world, annotations={MINIMUM: "many"})
        notes = await world.warnings("batch-0")
        assert notes == await world.warnings("batch")
        assert all(part in notes[0] for part in (MINIMUM, "many", "Job"))
        await world.stays_ungrouped("batch-0")
        await job_of(world, "fine")
        await world.group_of("fine-0")  # nobody else is disturbed
        await world.change("Job", "batch", {"metadata": {"annotations": {MINIMUM: "2"}}})
        await world.spec_becomes("batch-0", minMember=2)


async def test_an_owner_of_the_same_name_is_another_one(world):
    async with world.grouper():
        gone = await world.owner("Job", "batch")
        await world.delete("Job", "batch")
        now = await world.owner("Job", "batch")
        await world.pod("stray", gone)
        await world.pod("batch-0", now)
        group = await world.group_of("batch-0")
        assert group["metadata"]["name"].endswith(now["metadata"]["uid"])
        await world.stays_ungrouped("stray")
        assert "gone" in (await world.warnings("stray"))[0]


async def test_several_owners_without_a_controller_are_not_followed(world):
    async with world.grouper():
        owners = [await world.owner("Job", name) for name in ("one", "two")]
        references = [reference_to(owner, controller=False) for owner in owners]
        pod = await world.pod("both", references=references)
        group = await world.group_of("both")
        assert group["metadata"]["name"] == f"pg-both-{pod['metadata']['uid']}"
        assert "several owners" in (await world.warnings("both"))[0]


async def test_one_owner_that_does_not_control_is_followed(world):
    async with world.grouper():
        owner = await world.owner("Job", "one")
        await world.pod("member", references=[reference_to(owner, controller=False)])
        assert (await world.group_of("member"))["metadata"]["name"] == f"pg-one-{owner['metadata']['uid']}"


@pytest.mark.parametrize("where", ["pod", "owner", "above"])
async def test_who_opts_out_is_left_alone(world, where):
    skip = {"annotations": {"kai.scheduler/skip-podgrouper": "true"}}
    async with world.grouper():
        top = await world.owner("Simulation", "sim", {}, **(skip if where == "above" else {}))
        job = await world.owner("Job", "batch", owner=top, **(skip if where == "owner" else {}))
        await world.pod("batch-0", job, **(skip if where == "pod" else {}))
        await world.stays_ungrouped("batch-0")

        async def told() -> bool:
            found = await world.api.ask("GET", world.path("Pod", "batch-0"))
            return found["metadata"].get("annotations", {}).get("kai.scheduler/skip-podgrouper") == "true"

        await world.until(told, "the pod says so itself: the scheduler sees no owners")


@pytest.mark.parametrize(
    "claim",
    [
        {"labels": {"pod-group.scheduling.sigs.k8s.io": "g"}},
        {"annotations": {"gang.scheduling.koordinator.sh/name": "g"}},
        {"scheduler": "default-scheduler"},
    ],
)
async def test_pods_of_other_front_ends_and_schedulers_are_left_alone(embedded, claim):
    async with embedded.grouper():
        owner = await embedded.owner("Job", "batch")
        await embedded.pod("batch-0", owner, **claim)
        await embedded.stays_ungrouped("batch-0")
        assert embedded.recording.count("GET", "/jobs/") == 0


async def test_pods_of_an_owner_with_a_scheduling_spec_are_left_to_it(world):
    await world.define("SchedulingSpec")
    async with world.grouper():
        owner = await world.owner("Job", "batch")
        await world.owner("SchedulingSpec", "batch", {"minAvailable": 2}, owner=owner)
        await world.quiet()
        await world.pod("batch-0", owner)
        queue_job = await world.owner("QueueJob", "queued", {"taskSpecs": [{"replicas": 1, "template": {"spec": {}}}]})
        below = await world.owner("Job", "below", owner=queue_job)
        await world.pod("below-0", below)
        await world.pod("queued-0", queue_job)
        await world.stays_ungrouped("batch-0", "below-0", "queued-0")


async def test_kinds_of_which_there_is_nothing_hold_nobody_up(world):
    """A real API server says `items: null` for an empty list of metadata."""
    await world.define("SchedulingSpec")
    async with world.grouper():
        await job_of(world)
        await world.group_of("batch-0")


async def test_an_owner_that_may_not_be_read_ends_the_chain(embedded):
    embedded.recording.refuse("GET", "simulations/", 403)
    async with embedded.grouper():
        top = await embedded.owner("Simulation", "sim", {})
        job = await embedded.owner("Job", "batch", owner=top)
        await embedded.pod("batch-0", job)
        await embedded.pod("direct", top)
        by_job, alone = await embedded.group_of("batch-0"), await embedded.group_of("direct")
    assert by_job["metadata"]["name"] == f"pg-batch-{job['metadata']['uid']}"
    assert alone["metadata"]["name"].startswith("pg-direct-")


async def test_a_gang_kind_that_may_not_be_read_does_not_start_in_pieces(embedded, monkeypatch):
    monkeypatch.setattr("koordpy.controllers.grouping.owners._ASK_AGAIN_S", 0.0)
    embedded.recording.refuse("GET", "pytorchjobs/", 403, "you may not get pytorchjobs")
    async with embedded.grouper():
        spec = {"pytorchReplicaSpecs": {"Worker": {"replicas": 2}}}
        owner = await embedded.owner("PyTorchJob", "train", spec)
        await embedded.pod("train-worker-0", owner, labels={"training.kubeflow.org/replica-type": "worker"})
        assert "you may not get pytorchjobs" in (await embedded.warnings("train-worker-0"))[0]
        await embedded.stays_ungrouped("train-worker-0")
        embedded.recording.heal()
        await embedded.spec_becomes("train-worker-0", minMember=2)


@pytest.mark.parametrize("status", [403, 409, 422, 500])
@pytest.mark.parametrize("call", [("POST", "podgroups"), ("PATCH", "/pods/")])
async def test_a_write_that_fails_is_told_and_tried_again(embedded, status, call, monkeypatch):
    monkeypatch.setattr("koordpy.controllers.grouping.controller._REQUEUE_REFUSED_S", 1.0)
    embedded.recording.refuse(*call, status, "exceeded quota: groups")
    async with embedded.grouper():
        await job_of(embedded)
        assert "exceeded quota" in (await embedded.warnings("batch-0"))[0]
        assert "exceeded quota" in (await embedded.warnings("batch"))[0]
        embedded.recording.heal()
        await embedded.group_of("batch-0")


@pytest.mark.parametrize("call", [("PATCH", "/pods/"), ("GET", "pytorchjobs/")])
async def test_what_is_there_though_an_answer_says_that_it_is_gone_is_asked_for_again(embedded, call, monkeypatch):
    monkeypatch.setattr("koordpy.controllers.grouping.reconciler._GONE_S", 0.2)
    embedded.recording.refuse(*call, 404, "not found", times=1)
    async with embedded.grouper():
        owner = await embedded.owner("PyTorchJob", "train", {"pytorchReplicaSpecs": {"Worker": {"replicas": 1}}})
        await embedded.pod("train-worker-0", owner, labels={"training.kubeflow.org/replica-type": "worker"})
        await embedded.group_of("train-worker-0")


async def test_nobody_waits_for_a_grouper_that_has_no_definition_to_write():
    async with embedded_world() as world, world.grouper():
        owner = await world.owner("Job", "batch")
        await world.pod("batch-0", owner)
        await world.stays_ungrouped("batch-0")
        assert world.recording.count("POST", "leases") == 0
        await world.install(run_ai_definition())
        await world.group_of("batch-0")


async def test_two_drivers_of_spark_with_one_selector_never_share_a_group(world):
    labels = {"spark-app-name": "pi", "spark-app-selector": "spark-same"}
    async with world.grouper():
        await world.pod("first", labels=labels)
        await world.group_of("first")
        await world.pod("second", labels=labels)
        assert "belongs to somebody else" in (await world.warnings("second"))[0]
        await world.stays_ungrouped("second")


async def test_a_group_of_that_name_that_somebody_wrote_is_not_taken_over(world):
    async with world.grouper():
        owner = await world.owner("Job", "batch")
        name = f"pg-batch-{owner['metadata']['uid']}"
        body = {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": {"name": name}}
        await world.api.ask("POST", world.path("PodGroup"), body | {"spec": {"minMember": 5}})
        await world.pod("batch-0", owner)
        assert "belongs to somebody else" in (await world.warnings("batch-0"))[0]
        assert [each["spec"] for each in await world.pod_groups()] == [{"minMember": 5}]
