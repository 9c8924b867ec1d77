"""What-if about workloads: what their controllers and the grouper would make of them, and what they have already."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from koordpy.api.answers import CannotAnswer, WhatIf
from koordpy.api.pod import Pod
from koordpy.api.podgroup.kai import KaiPodGroup, gang_object_of
from koordpy.app.build import BuiltScheduler
from koordpy.controllers.grouping.expansion import MOST_PODS, expanded
from koordpy.scheduler.answers.bodies import documents
from tests.builders import pod_json, typed, with_identity
from tests.scheduler.answers.worlds import Description, Json, answering, what_if
from tests.scheduler.test_backfill import TimedRig

EXAMPLES = Path(__file__).parents[3] / "examples"
SKIP = {"kai.scheduler/skip-podgrouper": "true"}


def template(cpu: int = 1, **meta: Any) -> Json:
    return {"metadata": meta, "spec": pod_json("x", cpu=cpu)["spec"]}


def workload(kind: str, version: str, spec: Json, name: str = "work", **meta: Any) -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **meta}, "spec": spec}


def job(count: int = 2, cpu: int = 1, *, pods: Json | None = None, **meta: Any) -> Json:
    return workload("Job", "batch/v1", {"parallelism": count, "template": template(cpu, **pods or {})}, **meta)


def world(*cpu: int) -> Description:
    described = Description()
    for number, each in enumerate(cpu, start=1):
        described.node(f"n{number}", cpu=each)
    return described


def has(built: BuiltScheduler, name: str, owner: tuple[str, str], cpu: int = 1, **given: Any) -> None:
    built.cluster.upsert_pod(typed(with_identity(pod_json(name, owner=owner, cpu=cpu, **given)), Pod))
    built.parts.jobs.refresh_all()


def asked(built: BuiltScheduler, *objects: Json, query: tuple[tuple[str, str], ...] = ()) -> WhatIf:
    return what_if(built, msgspec.json.encode(objects), *query)


def placed(answer: WhatIf) -> list[str]:
    return sorted(each.pod.removeprefix("default/") for job in answer.jobs for each in job.placement)


def gangs(answer: WhatIf) -> list[str]:
    return [gang for job in answer.jobs for gang in job.gangs]


def refused(obj: Json) -> str:
    with pytest.raises(CannotAnswer) as error:
        asked(world(4).build(), obj)
    assert error.value.status.code == 422
    return str(error.value)


# --- grouped as the grouper would ---


@pytest.mark.parametrize("name", ["gang-job.yaml", "queues.yaml"])
def test_pods_that_another_front_end_claims_are_in_no_gang_of_the_groupers(name: str):
    built = world(32, 32, 32).build()
    sent = [each for each in yaml.safe_load_all((EXAMPLES / name).read_text()) if each["kind"] != "Queue"]
    assert not any("pg-" in gang for gang in gangs(asked(built, *sent)))


def test_the_example_of_a_gang_starts():
    built = world(4, 4, 4).build()
    answer = what_if(built, (EXAMPLES / "gang-job.yaml").read_bytes())
    assert (answer.verdict, [each.gangs for each in answer.jobs]) == ("Now", [["default/finetune"]])


@pytest.mark.parametrize("where", ["pods", "annotations"])
def test_a_workload_that_opts_out_gets_no_gang(where: str):
    given: Json = {"pods": {"annotations": SKIP}} if where == "pods" else {"annotations": SKIP}
    answer = asked(world(4).build(), job(2, **given))
    assert (answer.verdict, [each.type for each in answer.jobs], gangs(answer)) == ("Now", ["Pod", "Pod"], [])


def test_pods_of_a_native_pod_group_are_in_no_gang_of_the_groupers():
    sent = job(1)
    sent["spec"]["template"]["spec"]["schedulingGroup"] = {"podGroupName": "g"}
    assert not any("pg-" in gang for gang in gangs(asked(world(4).build(), sent)))


def test_pods_of_a_pod_group_that_a_user_named_stay_in_it():
    sent = job(1, pods={"annotations": {"pod-group-name": "mine"}})
    assert gangs(asked(world(4).build(), sent)) == ["default/mine"]


def test_pods_of_a_deployment_get_a_gang_only_where_a_queue_is_named():
    spec = {"replicas": 1, "template": template()}
    plain, queued = (
        workload("Deployment", "apps/v1", spec, labels=each) for each in ({}, {"kai.scheduler/queue": "q"})
    )
    assert gangs(asked(world(4).build(), plain)) == []
    assert len(gangs(asked(world(4).build(), queued))) == 1


def test_a_workload_without_pods_makes_no_job():
    built = world(1).build()
    has(built, "waits", ("Job", "other"), cpu=4)
    assert asked(built, job(0)).jobs == []


# --- a workload that exists is changed ---


def test_a_job_that_exists_counts_as_changed():
    built = world(4, 4, 4).runs("old", "n3", cpu=4).build()
    for number in range(2):
        has(built, f"work-{number}-x", ("Job", "work"), cpu=4, priority=1)
    answer = asked(built, job(2, cpu=4), query=(("withoutJob", "default/old"),))
    assert (answer.verdict, placed(answer)) == ("Now", ["work-0", "work-1"])


def test_nodes_are_reserved_for_no_job_that_is_taken_away():
    """The gang `big` needs four nodes, of which two are free."""
    rig = TimedRig(nodes=4)
    rig.runs("busy-0", "n0", 10)
    rig.runs("busy-1", "n1", 10)
    rig.gang_of("big", 4)
    rig.settle()
    new = pod_json("new", cpu=1)
    assert asked(rig.built, new).verdict == "Later"
    assert asked(rig.built, new, query=(("withoutJob", "default/big"),)).verdict == "Now"


def test_the_pods_that_run_of_a_job_that_exists_make_room_for_the_changed_ones():
    built = world(4).build()
    has(built, "work-0-x", ("Job", "work"), cpu=4, node="n1")
    assert asked(built, job(1, cpu=4)).verdict == "Now"


def test_a_pod_that_runs_under_the_name_of_a_new_one_is_no_mistake():
    built = world(4).build()
    has(built, "work-0", ("StatefulSet", "work"), cpu=4, node="n1")
    sent = workload("StatefulSet", "apps/v1", {"replicas": 1, "template": template(4)})
    assert asked(built, sent).verdict == "Now"


def test_workloads_of_other_names_and_kinds_keep_their_pods():
    built = world(1, 1, 1).build()
    has(built, "a", ("Job", "other"), node="n1")
    has(built, "b", ("StatefulSet", "work"), node="n2")
    has(built, "c", ("Job", "work"), node="n3", namespace="team")
    assert asked(built, job(1)).verdict == "Never"


def test_the_pods_of_a_deployment_are_found_by_its_replica_set():
    built = world(4).build()
    has(built, "work-5f-x", ("ReplicaSet", "work-5f"), cpu=4, node="n1", labels={"pod-template-hash": "5f"})
    sent = workload("Deployment", "apps/v1", {"replicas": 1, "template": template(4)})
    assert asked(built, sent).verdict == "Now"


def test_the_pods_of_a_jobset_are_found_by_their_label():
    built = world(4).build()
    has(built, "x", ("Job", "work-a-0"), cpu=4, node="n1", labels={"jobset.sigs.k8s.io/jobset-name": "work"})
    jobs = [{"name": "a", "template": {"spec": {"template": template(4)}}}]
    sent = workload("JobSet", "jobset.x-k8s.io/v1alpha2", {"replicatedJobs": jobs})
    assert asked(built, sent).verdict == "Now"


def test_what_the_grouper_has_grouped_is_found_by_its_pod_group():
    built = world(4).build()
    meta = {
        "name": "pg-work-u",
        "namespace": "default",
        "labels": {"app.kubernetes.io/managed-by": "koordpy-podgrouper"},
    }
    owner = {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "name": "work", "uid": "u"}
    group = typed(with_identity({"metadata": {**meta, "ownerReferences": [owner]}, "spec": {}}), KaiPodGroup)
    built.cluster.set_gang_object("scheduling.run.ai/v2alpha2", "default/pg-work-u@kai", gang_object_of(group))
    annotations = {"pod-group-name": "pg-work-u"}
    has(built, "x", ("Job", "work-launcher"), cpu=4, node="n1", annotations=annotations)
    roles = {role: {"replicas": 1, "template": template(2)} for role in ("Launcher", "Worker")}
    sent = workload("MPIJob", "kubeflow.org/v2beta1", {"mpiReplicaSpecs": roles}, uid="u")
    answer = asked(built, sent)
    assert (answer.verdict, placed(answer)) == ("Now", ["work-launcher-0", "work-worker-0"])


def test_the_runs_of_a_cronjob_go_on_as_they_began():
    built = world(1).build()
    has(built, "work-1-x", ("Job", "work-1"), node="n1")
    assert asked(built, cron_job()).verdict == "Never"


# --- kinds ---


def cron_job(**meta: Any) -> Json:
    spec = {"jobTemplate": {"metadata": meta, "spec": {"parallelism": 2, "template": template()}}}
    return workload("CronJob", "batch/v1", spec, labels={"kai.scheduler/queue": "q"})


def test_a_cronjob_is_the_job_of_its_next_run():
    answer = asked(world(1).build(), cron_job(annotations={"kai.scheduler/batch-min-member": "2"}))
    (shown,) = answer.jobs
    assert (shown.name, shown.type, answer.verdict) == ("work", "Gang", "Never")


def test_the_job_of_a_cronjob_has_its_queue():
    (group,) = (each for each in expanded(cron_job()) or () if each is not None and each["kind"] == "PodGroup")
    assert group["spec"]["queue"] == "q"


def test_a_knative_service_keeps_its_least_scale():
    annotations = {"autoscaling.knative.dev/min-scale": "3"}
    for kind in ("Service", "Configuration"):
        sent = workload(kind, "serving.knative.dev/v1", {"template": template(annotations=annotations)})
        assert placed(asked(world(4).build(), sent)) == ["work-0", "work-1", "work-2"]
        assert asked(world(2).build(), sent).verdict == "Never"


def test_a_knative_revision_starts_with_one_pod():
    sent = workload("Revision", "serving.knative.dev/v1", template()["spec"])
    assert placed(asked(world(4).build(), sent)) == ["work-0"]


@pytest.mark.parametrize(
    ("kind", "version", "why"),
    [
        ("TrainJob", "trainer.kubeflow.org/v1alpha1", "send the JobSet"),
        ("Workflow", "argoproj.io/v1alpha1", "send the pods of one step"),
        ("DaemonSet", "apps/v1", "send one pod of its template"),
        ("Secret", "v1", "koordpy does not know Secret of v1"),
    ],
)
def test_a_kind_whose_pods_are_not_known_is_refused_with_the_reason(kind: str, version: str, why: str):
    message = refused(workload(kind, version, {}))
    assert message.startswith(f"{kind} default/work: ")
    assert why in message


@pytest.mark.parametrize("garbage", [1, "x", [1], [{}], True], ids=str)
@pytest.mark.parametrize("place", ["template", "template.metadata", "template.metadata.labels", "template.spec"])
def test_a_template_that_is_none_is_refused_and_no_mistake_of_ours(place: str, garbage: Any):
    sent = job(1, pods={"labels": {}, "annotations": {}})
    *steps, last = place.split(".")
    at = sent["spec"]
    for step in steps:
        at = at[step]
    at[last] = garbage
    assert refused(sent).startswith("Job default/work: ")


def test_a_queue_job_of_any_version_has_its_scheduling_spec():
    sent = workload("QueueJob", "arbitrator.incubator.k8s.io/v9", {"taskSpecs": [{"template": template()}]})
    assert asked(world(4).build(), sent).verdict == "Now"


# --- very many pods ---


@pytest.mark.parametrize(
    "sent",
    [
        job(MOST_PODS + 1),
        workload(
            "JobSet",
            "jobset.x-k8s.io/v1alpha2",
            {
                "replicatedJobs": [
                    {
                        "name": "a",
                        "replicas": 2**31 - 1,
                        "template": {"spec": {"parallelism": 0, "template": template()}},
                    }
                ]
            },
        ),
    ],
    ids=["pods", "tasks"],
)
def test_a_workload_of_too_many_pods_is_refused_with_its_field_and_number(sent: Json):
    message = refused(sent)
    assert f"{sent['kind']} default/work: spec." in message
    assert f"{MOST_PODS + 1} " in message


def test_the_pods_of_a_workload_come_one_by_one():
    steps = expanded(job(100))
    assert steps is not None
    assert [step is None for step in steps] == [True] * 100 + [False] * 101


async def test_others_go_on_while_a_workload_is_read(monkeypatch: pytest.MonkeyPatch):
    """As if each step took a slice of its own."""
    monkeypatch.setattr("koordpy.scheduler.answers.pace._SLICE_S", 0.0)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    built = await asyncio.to_thread(world(4).build)
    going = asyncio.create_task(others())
    await answering(built).what_if(msgspec.json.encode(job(0)), ())
    before, turns = turns, 0
    await answering(built).what_if(msgspec.json.encode(job(200)), ())
    going.cancel()
    assert turns - before > 4 * 200


@pytest.mark.parametrize(("name", "at_once"), [("&name w", False), ("w", True)])
def test_a_body_with_references_is_read_beside_the_loop(name: str, at_once: bool, monkeypatch: pytest.MonkeyPatch):
    """Seven of them make ten million values of some hundred bytes."""
    threads: list[threading.Thread] = []

    def noted(body: bytes) -> list[Json]:
        threads.append(threading.current_thread())
        return documents(body)

    monkeypatch.setattr("koordpy.scheduler.answers.answering.documents", noted)
    what_if(
        world(1).build(),
        f"{{apiVersion: v1, kind: List, items: [], metadata: {{name: {name}}}}}\n---\n".encode()
        + msgspec.json.encode(job(0)),
    )
    assert (threads == [threading.main_thread()]) == at_once
