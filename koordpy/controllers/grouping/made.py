"""What the controllers of each kind make of a workload: its pods, template by template, and the owners in between.

Kinds whose pods cannot be known from the object alone are refused, with the reason. Pods are named
`<name>-<task>-<index>`; they have the labels that the rules of the grouper read, and no others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from koordpy.api.errors import MalformedValue
from koordpy.api.grouping import Owner, group_of
from koordpy.api.meta import ObjectMeta
from koordpy.api.paths import count_at, count_in, list_at, object_at, objects_at, text_at
from koordpy.controllers.grouping.kinds.jobset import JOB_INDEX, REPLICATED_JOB, awaited_jobs
from koordpy.controllers.grouping.kinds.knative import MIN_SCALE
from koordpy.controllers.grouping.kinds.leaderworkerset import GROUP_INDEX, WORKER_INDEX
from koordpy.controllers.grouping.kinds.mpijob import JOB_ROLE
from koordpy.controllers.grouping.kinds.pytorchjob import REPLICA_TYPE
from koordpy.controllers.grouping.kinds.ray import GROUP_LABEL

Json = dict[str, Any]

ARBITRATOR = "arbitrator.incubator.k8s.io"
_KNATIVE = "serving.knative.dev"
_NONE: Mapping[str, Any] = {}
_INITIAL_SCALE = "autoscaling.knative.dev/initial-scale"


class Task(NamedTuple):
    """Pods of one template."""

    name: str  # "": the workload has but one
    replicas: int
    template: Mapping[str, Any]
    labels: Mapping[str, str] = {}
    place: str = "spec.replicas"  # where their number stands


class Made(NamedTuple):
    """The owners of the pods, nearest first, the workload itself among them; and the pods."""

    owners: tuple[Owner, ...]
    tasks: Iterator[Task]


def made_of(obj: Json) -> Made | None:
    """None for a kind that is not known; raises MalformedValue for what says too little about its pods."""
    api_version, kind = str(obj.get("apiVersion", "")), str(obj.get("kind", ""))
    made = _KINDS.get((group_of(api_version), kind))
    if made is None:
        return None
    if isinstance(made, str):
        raise MalformedValue("kind", kind, made)
    meta = msgspec.convert(obj.get("metadata", {}), ObjectMeta)
    meta = msgspec.structs.replace(meta, namespace=meta.namespace or "default", uid=meta.uid or f"whatif-{meta.name}")
    body: Json = {key: obj[key] for key in ("spec", "status") if key in obj}
    return made(Owner(api_version, kind, meta, body))


def _below(
    owner: Owner, api_version: str, kind: str, name: str, *, given: Mapping[str, Any] = _NONE, body: Any = None
) -> Owner:
    """An object that the controller of `owner` makes, with the labels and annotations of a template."""
    uid = f"whatif-{kind.lower()}-{name}"
    meta = msgspec.convert({**given, "name": name, "namespace": owner.metadata.namespace, "uid": uid}, ObjectMeta)
    return Owner(api_version, kind, meta, body or {})


# --- one task, or one for each role ---


def _count(obj: Mapping[str, Any], path: str, default: int) -> int:
    found = count_at(obj, path)
    return default if found is None else found


def _parallel(spec: Mapping[str, Any]) -> int:
    parallelism, completions = _count(spec, "parallelism", 1), count_at(spec, "completions")
    return parallelism if completions is None else min(parallelism, completions)


def _alone(tasks: Callable[[Owner], Iterator[Task]]) -> Callable[[Owner], Made]:
    """The workload owns its pods itself, or nothing depends on what is between."""
    return lambda owner: Made((owner,), tasks(owner))


def _job(owner: Owner) -> Iterator[Task]:
    spec = object_at(owner.body, "spec")
    yield Task("", _parallel(spec), object_at(spec, "template"), place="spec.parallelism")


def _replicas(owner: Owner) -> Iterator[Task]:
    yield Task("", _count(owner.body, "spec.replicas", 1), object_at(owner.body, "spec.template"))


def _one(owner: Owner) -> Iterator[Task]:
    yield Task("", 1, object_at(owner.body, "spec.template"))


def _jobset(owner: Owner) -> Iterator[Task]:
    """Of replicated jobs that wait for others there is nothing to start yet."""
    first = awaited_jobs(owner.body, ())
    for number, replicated in enumerate(list_at(owner.body, "spec.replicatedJobs")):
        name = text_at(replicated, "name") or ""
        for index in range(_count(replicated, "replicas", 1) if name in first else 0):
            labels = {REPLICATED_JOB: name, JOB_INDEX: str(index)}
            count = _parallel(object_at(replicated, "template.spec"))
            template = object_at(replicated, "template.spec.template")
            yield Task(f"{name}-{index}", count, template, labels, f"spec.replicatedJobs[{number}]")


def _roles(field: str) -> Callable[[Owner], Iterator[Task]]:
    def tasks(owner: Owner) -> Iterator[Task]:
        for role, spec in sorted(objects_at(owner.body, f"spec.{field}").items()):
            labels = {REPLICA_TYPE: role.lower(), JOB_ROLE: role.lower()}
            place = f"spec.{field}.{role}.replicas"
            yield Task(role.lower(), _count(spec, "replicas", 1), object_at(spec, "template"), labels, place)

    return tasks


def _leader_worker_set(owner: Owner) -> Iterator[Task]:
    size = _count(owner.body, "spec.leaderWorkerTemplate.size", 1)
    worker = object_at(owner.body, "spec.leaderWorkerTemplate.workerTemplate")
    leader = object_at(owner.body, "spec.leaderWorkerTemplate.leaderTemplate") or worker
    for group in range(_count(owner.body, "spec.replicas", 1)):
        for index in range(size):
            labels = {GROUP_INDEX: str(group), WORKER_INDEX: str(index)}
            yield Task(f"{group}-{index}", 1, worker if index else leader, labels)


def _queue_job(owner: Owner) -> Iterator[Task]:
    scheduler = text_at(owner.body, "spec.schedulerName")
    for number, task in enumerate(list_at(owner.body, "spec.taskSpecs")):
        template = object_at(task, "template")
        if scheduler and "spec" in template:
            template = {**template, "spec": {"schedulerName": scheduler, **object_at(template, "spec")}}
        place = f"spec.taskSpecs[{number}].replicas"
        yield Task(text_at(task, "name") or f"task{number}", _count(task, "replicas", 1), template, place=place)


# --- with owners between the workload and its pods ---


def _deployment(owner: Owner) -> Made:
    name = owner.metadata.name
    return Made((_below(owner, owner.api_version, "ReplicaSet", f"{name}-whatif"), owner), _replicas(owner))


def _cron_job(owner: Owner) -> Made:
    """Its next run; those that there are go on as they began."""
    template = object_at(owner.body, "spec.jobTemplate")
    given, name = object_at(template, "metadata"), owner.metadata.name
    job = _below(owner, owner.api_version, "Job", name, given=given, body={"spec": object_at(template, "spec")})
    return Made((job, owner), _job(job))


def _ray_cluster(owner: Owner) -> Iterator[Task]:
    yield Task("head", 1, object_at(owner.body, "spec.headGroupSpec.template"), {GROUP_LABEL: "headgroup"})
    for number, worker in enumerate(list_at(owner.body, "spec.workerGroupSpecs")):
        name = text_at(worker, "groupName") or "worker"
        hosts = _count(worker, "numOfHosts", 1)
        replicas = _count(worker, "replicas", _count(worker, "minReplicas", 1))
        place = f"spec.workerGroupSpecs[{number}].replicas"
        yield Task(name, replicas * hosts, object_at(worker, "template"), {GROUP_LABEL: name}, place)


def _ray(place: str) -> Callable[[Owner], Made]:
    """By the RayCluster that is made first, which has the labels of its maker."""

    def made(owner: Owner) -> Made:
        meta, body = owner.metadata, {"spec": object_at(owner.body, place)}
        given = {"labels": meta.labels, "annotations": meta.annotations}
        cluster = _below(owner, owner.api_version, "RayCluster", meta.name, given=given, body=body)
        return Made((cluster, owner), _ray_cluster(cluster))

    return made


def _knative(*above: str) -> Callable[[Owner], Made]:
    """By a Revision; the proxy beside each pod is left out: its size is a setting of the installation."""

    def made(owner: Owner) -> Made:
        name, version, template = owner.metadata.name, owner.api_version, object_at(owner.body, "spec.template")
        between = [_below(owner, version, kind, name) for kind in above]
        revision = _below(owner, version, "Revision", f"{name}-whatif", given=object_at(template, "metadata"))
        return _of_revision(revision, (*between, owner), template)

    return made


def _revision(owner: Owner) -> Made:
    meta = owner.metadata
    given = {"labels": meta.labels, "annotations": meta.annotations}
    return _of_revision(owner, (), {"metadata": given, "spec": object_at(owner.body, "spec")})


def _of_revision(revision: Owner, above: tuple[Owner, ...], template: Mapping[str, Any]) -> Made:
    name, annotations = f"{revision.metadata.name}-deployment", revision.metadata.annotations
    below = [_below(revision, "apps/v1", kind, name) for kind in ("ReplicaSet", "Deployment")]
    scale = max(_scale(annotations, key) for key in (MIN_SCALE, _INITIAL_SCALE))
    return Made((*below, revision, *above), iter([Task("", scale, template, place=f"annotation {MIN_SCALE}")]))


def _scale(annotations: Mapping[str, str], key: str) -> int:
    try:
        return count_in(annotations, key) or 1
    except MalformedValue:  # Knative's own webhook refuses it; the grouper takes it for 1
        return 1


_KINDS: dict[tuple[str, str], Callable[[Owner], Made] | str] = {
    ("batch", "Job"): _alone(_job),
    ("batch", "CronJob"): _cron_job,
    ("apps", "Deployment"): _deployment,
    ("apps", "ReplicaSet"): _alone(_replicas),
    ("apps", "StatefulSet"): _alone(_replicas),
    ("apps", "DaemonSet"): "has a pod for each node that fits it, now and later: send one pod of its template",
    ("jobset.x-k8s.io", "JobSet"): _alone(_jobset),
    ("trainer.kubeflow.org", "TrainJob"): (
        "becomes a JobSet by the TrainingRuntime that it names, which koordpy does not read: send the JobSet"
    ),
    ("kubeflow.org", "PyTorchJob"): _alone(_roles("pytorchReplicaSpecs")),
    ("kubeflow.org", "TFJob"): _alone(_roles("tfReplicaSpecs")),
    ("kubeflow.org", "XGBoostJob"): _alone(_roles("xgbReplicaSpecs")),
    ("kubeflow.org", "JAXJob"): _alone(_roles("jaxReplicaSpecs")),
    ("kubeflow.org", "MPIJob"): _alone(_roles("mpiReplicaSpecs")),
    ("kubeflow.org", "Notebook"): _alone(_one),
    ("ray.io", "RayCluster"): _alone(_ray_cluster),
    ("ray.io", "RayJob"): _ray("spec.rayClusterSpec"),
    ("ray.io", "RayService"): _ray("spec.rayClusterConfig"),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _alone(_leader_worker_set),
    (
        "argoproj.io",
        "Workflow",
    ): "makes its pods step by step, depending on the steps before: send the pods of one step",
    (_KNATIVE, "Service"): _knative("Configuration"),
    (_KNATIVE, "Configuration"): _knative(),
    (_KNATIVE, "Revision"): _revision,
    (ARBITRATOR, "QueueJob"): _alone(_queue_job),
}
