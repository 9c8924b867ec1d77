"""Grouper and scheduler together: a workload is submitted, its operator makes pods, and they start as a gang.

The operators are played by the stories: they make pods with the labels and owners that the real ones set.
"""

from __future__ import annotations

import pytest

from koordpy.sim.embedded.faults import Fault, Rule
from tests.scenarios.api import MERGE
from tests.scenarios.ground import Json
from tests.scenarios.mirror import KAI_GROUPS
from tests.scenarios.world import World

ROLE = "training.kubeflow.org/replica-type"
SKIP = {"kai.scheduler/skip-podgrouper": "true"}
HELD = "waiting to be grouped"
ALL = ("m", "w-1", "w-2")
WRITES = r"/apis/scheduling.run.ai/v2alpha2/namespaces/[^/]+/podgroups.*"


def pytorch(workers: int = 2) -> Json:
    return {"pytorchReplicaSpecs": {"Master": {"replicas": 1}, "Worker": {"replicas": workers}}}


async def submit(world: World, name: str = "train", workers: int = 2, **meta: object) -> Json:
    return await world.workload("PyTorchJob", name, pytorch(workers), **meta)


async def master(world: World, job: Json, name: str = "m", **given: object) -> None:
    await world.workload_pods(name, of=job, labels={ROLE: "master"}, **given)


async def workers(world: World, job: Json, *names: str, **given: object) -> None:
    await world.workload_pods(*names, of=job, labels={ROLE: "worker"}, **given)


def jobset_labels(job: str, index: int) -> dict[str, str]:
    prefix = "jobset.sigs.k8s.io"
    return {f"{prefix}/jobset-name": "set", f"{prefix}/replicatedjob-name": job, f"{prefix}/job-index": str(index)}


async def delete_lease(world: World) -> None:
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{world.namespace}/leases"
    await world.api.ask("DELETE", f"{leases}/koordpy-podgrouper")


# --- a gang without a word about gangs ---


async def test_a_pytorchjob_starts_whole_though_its_pods_come_one_by_one(world: World) -> None:
    await world.nodes(1, cpu=8)
    async with world.controllers():
        job = await submit(world)
        await master(world, job)
        await world.says("m", "is incomplete: 1 of 3 members")
        await workers(world, job, "w-1")
        await world.pending("m", "w-1")
        await workers(world, job, "w-2")
        await world.bound(*ALL)
        group = await world.grouped(*ALL)
        assert group["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
        assert group["spec"]["minMember"] == 3


async def test_a_pytorchjob_that_does_not_fit_holds_nothing(world: World) -> None:
    await world.nodes(1, cpu=2)
    async with world.controllers():
        job = await submit(world)
        await master(world, job)
        await workers(world, job, "w-1", "w-2")
        await world.says("m", "Insufficient cpu")
        await world.pending(*ALL)
        await world.pods("small", cpu=2)
        await world.bound("small")
        await world.node("more", cpu=3)
        await world.bound(*ALL)


async def test_the_status_of_its_pod_group_says_why_it_waits_and_that_it_runs(world: World) -> None:
    await world.nodes(1, cpu=2)
    async with world.controllers():
        job = await submit(world)
        await master(world, job)
        await workers(world, job, "w-1", "w-2")
        name = (await world.grouped(*ALL))["metadata"]["name"]

        def told() -> Json:
            status = world.status_of(KAI_GROUPS, name)
            return next((each for each in status.get("conditions") or () if each["type"] == "Scheduled"), {})

        await world.until(lambda: "Insufficient cpu" in told().get("message", ""), "the reason in the status")
        await world.until(lambda: world.status_of(KAI_GROUPS, name).get("pending") == 3, "three are pending")
        await world.node("more", cpu=3)
        await world.bound(*ALL)
        await world.until(lambda: told()["status"] == "True", "it is scheduled")
        await world.until(lambda: world.status_of(KAI_GROUPS, name)["phase"] == "Scheduled", "its phase")
        assert not world.status_of(KAI_GROUPS, name).get("schedulingConditions")


async def test_two_jobs_of_one_template_are_two_gangs(world: World) -> None:
    await world.nodes(1, cpu=3)
    async with world.controllers():
        first, second = await submit(world, "first"), await submit(world, "second")
        await master(world, first, "f-m")
        await workers(world, second, "s-1", "s-2")
        await world.pending("f-m", "s-1", "s-2")
        await workers(world, first, "f-1", "f-2")
        await world.bound("f-m", "f-1", "f-2")
        await world.pending("s-1", "s-2")


async def test_a_workload_that_is_scaled_starts_what_it_lacks_together(world: World) -> None:
    await world.nodes(1, cpu=4)
    async with world.controllers():
        job = await submit(world)
        await master(world, job)
        await workers(world, job, "w-1", "w-2")
        await world.bound(*ALL)
        await world.change_workload("PyTorchJob", "train", {"spec": pytorch(workers=4)})
        await world.group_becomes("m", minMember=5)
        await workers(world, job, "w-3", "w-4")
        await world.says("w-3", "Insufficient cpu")
        await world.pending("w-3", "w-4")
        await world.change_workload("PyTorchJob", "train", {"spec": pytorch(workers=3)})
        await world.group_becomes("m", minMember=4)
        await world.some_bound(1, "w-3", "w-4")


async def test_a_job_that_is_made_again_under_its_name_is_another_gang(world: World) -> None:
    await world.nodes(1, cpu=8)
    async with world.controllers():
        job = await submit(world)
        await master(world, job)
        await workers(world, job, "w-1", "w-2")
        await world.bound(*ALL)
        first = (await world.grouped(*ALL))["metadata"]["name"]
        await world.delete(*ALL)
        await world.api.ask("DELETE", f"/apis/kubeflow.org/v1/namespaces/{world.namespace}/pytorchjobs/train")
        job = await submit(world)
        await workers(world, job, "w-1", "w-2")
        await world.says("w-1", "is incomplete: 2 of 3 members")
        await world.pending("w-1", "w-2")
        await master(world, job)
        await world.bound(*ALL)
        assert (await world.grouped(*ALL))["metadata"]["name"] != first


async def test_the_parts_of_a_jobset_that_depend_on_each_other_start_one_after_another_each_whole(world: World) -> None:
    """As a TrainJob with an initializer has it; the JobSet controller makes the nodes when it has completed."""
    await world.nodes(1, cpu=1)
    nodes = {"name": "node", "replicas": 1, "template": {"spec": {"parallelism": 2, "completions": 2}}}
    after = {"dependsOn": [{"name": "init", "status": "Complete"}]}
    async with world.controllers():
        jobs = [{"name": "init", "replicas": 1, "template": {}}, nodes | after]
        owner = await world.workload("JobSet", "set", {"replicatedJobs": jobs})
        first = await world.workload("Job", "set-init-0", owner=owner)
        await world.workload_pods("i", of=first, labels=jobset_labels("init", 0))
        await world.bound("i")
        await world.finish("i")
        second = await world.workload("Job", "set-node-0", owner=owner)
        await world.workload_pods("n-0", of=second, labels=jobset_labels("node", 0))
        await world.says("n-0", "subgroup node-replica-0 has 1 of 2 members")
        await world.workload_pods("n-1", of=second, labels=jobset_labels("node", 0))
        await world.says("n-0", "Insufficient cpu")
        await world.pending("n-0", "n-1")
        await world.node("more", cpu=1)
        await world.bound("n-0", "n-1")
        assert (await world.grouped("i", "n-0", "n-1"))["spec"]["minSubGroup"] == 2


# --- who does not wait ---


async def test_a_pod_that_opts_out_starts_alone(world: World) -> None:
    await world.nodes(1, cpu=8)
    async with world.controllers():
        job = await submit(world)
        await master(world, job, annotations=SKIP)
        await world.bound("m")
        assert "pod-group-name" not in world.pod("m")["metadata"]["annotations"]


async def test_pods_of_an_owner_that_opts_out_start_alone(world: World) -> None:
    await world.nodes(1, cpu=8)
    async with world.controllers():
        job = await submit(world, annotations=SKIP)
        await master(world, job)
        await world.bound("m")
        assert "pod-group-name" not in world.pod("m")["metadata"]["annotations"]


async def test_an_owner_that_opts_out_later_releases_its_pods(world: World) -> None:
    await world.nodes(1, cpu=8)
    async with world.controllers():
        job = await submit(world, "broken", workers=0)
        await world.change_workload("PyTorchJob", "broken", {"spec": {"pytorchReplicaSpecs": {"Master": None}}})
        await world.change_workload("PyTorchJob", "broken", {"spec": {"pytorchReplicaSpecs": None}})
        await master(world, job)
        await world.says("m", HELD)
        await world.pending("m")
        await world.change_workload("PyTorchJob", "broken", {"metadata": {"annotations": SKIP}})
        await world.bound("m")


async def test_pods_of_a_replicaset_and_pods_without_owner_do_not_wait(world: World) -> None:
    await world.nodes(1, cpu=8)
    async with world.controllers() as running:
        await running.kill()
        owner = await world.workload("ReplicaSet", "web")
        await world.workload_pods("web-1", of=owner)
        await world.pods("bare", cpu=1)
        await world.bound("web-1", "bare")


async def test_a_pod_group_that_a_user_named_is_left_as_it_is(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.kai("mine", 1)
    async with world.controllers():
        job = await submit(world)
        await master(world, job, annotations={"pod-group-name": "mine"})
        await world.bound("m")
        await world.stays(
            lambda: world.pod("m")["metadata"]["annotations"]["pod-group-name"] == "mine", "the user's own PodGroup"
        )


async def test_pods_of_an_owner_with_a_spec_are_left_to_it_and_grouped_when_it_goes(world: World) -> None:
    await world.nodes(1, cpu=8)
    async with world.controllers():
        job = await submit(world)
        reference = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "train", "controller": True}
        path = f"/apis/arbitrator.incubator.k8s.io/v1alpha1/namespaces/{world.namespace}/schedulingspecs"
        meta = {"name": "train", "ownerReferences": [reference | {"uid": job["metadata"]["uid"]}]}
        spec = {"apiVersion": "arbitrator.incubator.k8s.io/v1alpha1", "kind": "SchedulingSpec", "metadata": meta}
        await world.api.ask("POST", path, spec | {"spec": {"minAvailable": 4}})
        await master(world, job)
        await workers(world, job, "w-1", "w-2")
        await world.says("m", "gang {ns}/train is incomplete: 3 of 4 members")
        await world.pending(*ALL)
        await world.delete_spec("train")
        await world.bound(*ALL)
        await world.grouped(*ALL)


# --- a grouper that is not there ---


async def test_while_the_grouper_is_down_nothing_starts_in_pieces(world: World) -> None:
    await world.nodes(1, cpu=8)
    async with world.controllers() as running:
        await running.kill()
    job = await submit(world)
    await master(world, job)
    await workers(world, job, "w-1", "w-2")
    await world.says("m", HELD)
    await world.says("m", f"{HELD}; the grouper is down since ")
    await world.pending(*ALL)
    async with world.controllers():
        await world.bound(*ALL)


async def test_a_grouper_that_is_stopped_is_said_to_be_down_at_once(world: World) -> None:
    await world.nodes(1, cpu=8)
    async with world.controllers() as running:
        await running.stop()
    job = await submit(world)
    await master(world, job)
    await world.says("m", f"{HELD}; the grouper is down since ")
    await world.restart()
    await world.pending("m")


async def test_another_replica_takes_over_in_the_middle_of_a_workload(world: World) -> None:
    await world.nodes(1, cpu=8)
    async with world.controllers() as first, world.controllers():
        job = await submit(world)
        await master(world, job)
        await world.grouped("m")
        await first.kill()
        await workers(world, job, "w-1", "w-2")
        await world.bound(*ALL)
        await world.grouped(*ALL)


async def test_without_a_grouper_pods_start_one_by_one_and_their_workload_is_told(world: World) -> None:
    await world.nodes(1, cpu=8)
    job = await submit(world)
    await master(world, job)
    await world.bound("m")
    told = await world.event("NotGrouped", about=("PyTorchJob", "train"), text="scheduled one by one")
    assert told["type"] == "Warning"
    await workers(world, job, "w-1", "w-2")
    await world.bound("w-1", "w-2")
    await world.stays(lambda: len(world.events("NotGrouped", about=("PyTorchJob", "train"))) == 1, "said once")


@pytest.mark.parametrize(
    ("kind", "label", "between"),
    [
        ("JobSet", "jobset.sigs.k8s.io/jobset-name", "Job"),
        ("LeaderWorkerSet", "leaderworkerset.sigs.k8s.io/name", "StatefulSet"),
    ],
)
async def test_without_a_grouper_a_workload_is_told_whose_pods_belong_to_an_owner_between(
    world: World, kind: str, label: str, between: str
) -> None:
    await world.nodes(1, cpu=8)
    for name in ("one", "two"):
        owner = await world.workload(between, name)
        await world.workload_pods(f"{name}-0", of=owner, labels={label: "train"})
    await world.bound("one-0", "two-0")
    told = await world.event("NotGrouped", about=(kind, "train"), text=f"the pods of this {kind} are scheduled one by")
    assert told["type"] == "Warning"
    await world.stays(lambda: len(world.events("NotGrouped", about=(kind, "train"))) == 1, "said once")


async def test_a_grouper_that_is_removed_releases_those_that_wait(world: World) -> None:
    await world.nodes(1, cpu=8)
    async with world.controllers() as running:
        await running.stop()
    job = await submit(world)
    await master(world, job)
    await world.says("m", HELD)
    await delete_lease(world)
    await world.bound("m")


async def test_a_scheduler_that_restarts_goes_on_waiting_for_the_grouper(world: World) -> None:
    await world.nodes(1, cpu=8)
    async with world.controllers() as running:
        await running.kill()
    await world.stop()
    job = await submit(world)
    await master(world, job)
    await world.start()
    await world.says("m", HELD)
    await world.pending("m")


# --- a grouper in trouble ---


async def test_a_workload_that_cannot_be_understood_waits_and_disturbs_nobody(world: World) -> None:
    await world.nodes(1, cpu=8)
    async with world.controllers():
        odd = await world.workload("PyTorchJob", "odd", {"pytorchReplicaSpecs": {"Worker": {"replicas": "many"}}})
        await workers(world, odd, "o-1")
        await world.event("PodGrouperWarning", about=("PyTorchJob", "odd"), text="many")
        await world.event("PodGrouperWarning", pod="o-1", text="many")
        await world.says("o-1", HELD)
        job = await submit(world)
        await master(world, job)
        await workers(world, job, "w-1", "w-2")
        await world.bound(*ALL)
        await world.pending("o-1")
        await world.change_workload("PyTorchJob", "odd", {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 1}}}})
        await world.bound("o-1")


async def test_pod_groups_that_cannot_be_written_keep_their_pods_waiting_until_they_can(world: World) -> None:
    await world.nodes(1, cpu=8)
    async with world.controllers() as running:
        running.transport.rules = [Rule(Fault.STATUS, "POST", WRITES, count=None, status=403)]
        job = await submit(world)
        await master(world, job)
        await workers(world, job, "w-1", "w-2")
        await world.says("m", HELD)
        await world.event("PodGrouperWarning", pod="m", text="its PodGroup cannot be written")
        await world.pending(*ALL)
        running.transport.rules = []
        await world.bound(*ALL)


async def test_an_answer_that_is_lost_makes_no_second_pod_group(world: World) -> None:
    await world.nodes(1, cpu=8)
    async with world.controllers() as running:
        running.transport.rules = [Rule(Fault.ANSWER_LOST, "POST", WRITES, count=1, status=0)]
        job = await submit(world)
        await master(world, job)
        await workers(world, job, "w-1", "w-2")
        await world.bound(*ALL)
        assert len(world.mirror.all(KAI_GROUPS)) == 1


async def test_a_pod_whose_group_could_not_be_told_is_told_later_and_starts_with_the_others(world: World) -> None:
    await world.nodes(1, cpu=8)
    async with world.controllers() as running:
        path = r"/api/v1/namespaces/[^/]+/pods/w-2"
        running.transport.rules = [Rule(Fault.STATUS, "PATCH", path, count=3, status=500)]
        job = await submit(world)
        await master(world, job)
        await workers(world, job, "w-1", "w-2")
        await world.bound(*ALL)


async def test_a_minimum_that_somebody_else_changed_is_set_right(world: World) -> None:
    await world.nodes(1, cpu=8)
    async with world.controllers():
        job = await submit(world)
        await master(world, job)
        name = (await world.grouped("m"))["metadata"]["name"]
        await world.api.ask("PATCH", world._path(KAI_GROUPS, name), {"spec": {"queue": "theirs"}}, MERGE)
        await workers(world, job, "w-1", "w-2")
        await world.bound(*ALL)
        await world.group_becomes("m", minMember=3, queue="theirs")
