"""A workload that does not exist, as the pods and the gang's objects that it would become.

What its controller would make of its templates, and the grouper of its pods. Pods are named `<name>-<task>-<index>`;
they have the labels that the rules of the grouper read, and no others. Nothing is read from a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from koordpy.api.errors import MalformedValue
from koordpy.api.grouping import Owner, Workload, WorkloadPod, group_of
from koordpy.api.keys import RUNAI_POD_GROUP_NAME, SUBGROUP_NAME
from koordpy.api.meta import ObjectMeta
from koordpy.api.paths import count_at, list_at, text_at, value_at
from koordpy.controllers.grouping import inherit
from koordpy.controllers.grouping.kinds.jobset import JOB_INDEX, REPLICATED_JOB, awaited_jobs
from koordpy.controllers.grouping.kinds.leaderworkerset import GROUP_INDEX, WORKER_INDEX
from koordpy.controllers.grouping.kinds.mpijob import JOB_ROLE
from koordpy.controllers.grouping.kinds.pytorchjob import REPLICA_TYPE
from koordpy.controllers.grouping.kinds.ray import GROUP_LABEL
from koordpy.controllers.grouping.kinds.table import Kinds
from koordpy.controllers.grouping.podgroups import Dialect, Wanted, body_of, name_of, with_others

Json = dict[str, Any]

_ARBITRATOR = "arbitrator.incubator.k8s.io"
_MOST = 20_000  # pods of one workload


class Task(NamedTuple):
    """Pods of one template."""

    name: str  # "": the workload has but one
    replicas: int
    template: Mapping[str, Any]
    labels: Mapping[str, str] = {}


def expanded(obj: Json, classes: Collection[str] = ()) -> list[Json] | None:
    """Pods, and the gang's objects before them; None for a kind that is not known. Raises MalformedValue.

    `classes` are the names of the PriorityClasses that exist.
    """
    api_version, kind = str(obj.get("apiVersion", "")), str(obj.get("kind", ""))
    tasks = _TASKS.get((group_of(api_version), kind))
    if tasks is None:
        return None
    meta = msgspec.convert(obj.get("metadata", {}), ObjectMeta)
    meta = msgspec.structs.replace(meta, namespace=meta.namespace or "default", uid=meta.uid or f"whatif-{meta.name}")
    body: Json = {key: obj[key] for key in ("spec", "status") if key in obj}
    owner = Owner(api_version, kind, meta, body)
    pods = list(_pods(owner, tasks(obj)))
    if owner.group == _ARBITRATOR:
        return [_scheduling_spec(owner), *pods]
    return [*_grouped(owner, pods, classes), *pods]


def _pods(owner: Owner, tasks: Iterator[Task]) -> Iterator[Json]:
    made = 0
    for task in tasks:
        stem = "-".join(filter(None, (owner.metadata.name, task.name)))
        if "spec" not in task.template:
            raise MalformedValue("template", None, f"of task {task.name or 'pod'} has no spec")
        made += task.replicas
        if made > _MOST:
            raise MalformedValue("replicas", made, f"are more than {_MOST} pods")
        for index in range(task.replicas):
            yield _pod(owner, f"{stem}-{index}", task)


def _pod(owner: Owner, name: str, task: Task) -> Json:
    given = task.template.get("metadata") or {}
    reference = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.metadata.name, "uid": owner.uid}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": owner.metadata.namespace,
            "uid": f"whatif-{owner.metadata.namespace}-{name}",
            "labels": {**(given.get("labels") or {}), **task.labels},
            "annotations": dict(given.get("annotations") or {}),
            "ownerReferences": [{**reference, "controller": True}],
        },
        "spec": dict(task.template["spec"]),
    }


def _grouped(owner: Owner, pods: list[Json], classes: Collection[str]) -> Iterator[Json]:
    """The PodGroups that the grouper would make; its pods are told which one they belong to."""
    by_uid = {pod["metadata"]["uid"]: pod for pod in pods}
    members = tuple(
        WorkloadPod(
            msgspec.convert(pod["metadata"], ObjectMeta), priority_class=str(pod["spec"].get("priorityClassName", ""))
        )
        for pod in pods
    )
    if not members:
        return
    workload = Workload(owner, members, _below(owner))
    for gang in map(with_others, Kinds().of(owner.group, owner.kind).gangs(workload)):
        queue = inherit.queue_of([owner], gang.pods)
        if not gang.pods or (gang.on_demand and not queue):
            continue
        holder = Owner("v1", "Pod", gang.pods[0].meta) if gang.alone else owner
        wanted = Wanted(
            namespace=owner.metadata.namespace,
            name=gang.name or name_of(holder, gang.suffix),
            owner=holder,
            gang=gang,
            queue=queue,
            priority_class=inherit.priority_class_of(gang, [owner], classes),
            preemptibility=inherit.preemptibility_of([owner], gang.pods[:1]),
            topology=inherit.topology_of([owner]),
            annotations=inherit.declarations_of(owner),
        )
        for pod in gang.pods:
            meta = by_uid[pod.uid]["metadata"]
            meta["annotations"][RUNAI_POD_GROUP_NAME] = wanted.name
            if subgroup := gang.subgroup_of.get(pod.uid):
                meta["labels"][SUBGROUP_NAME] = subgroup
        yield body_of(wanted, Dialect())


def _below(owner: Owner) -> tuple[Owner, ...]:
    """Of a RayJob or a RayService the RayCluster that it makes."""
    place = {"RayJob": "spec.rayClusterSpec", "RayService": "spec.rayClusterConfig"}.get(owner.kind)
    spec = value_at(owner.body, place) if place else None
    return (Owner(owner.api_version, "RayCluster", owner.metadata, {"spec": spec}),) if spec else ()


def _scheduling_spec(owner: Owner) -> Json:
    """What the QueueJob controller makes first."""
    spec = value_at(owner.body, "spec.schedSpec") or value_at(owner.body, "spec.schedulingSpec") or {}
    if spec.get("minAvailable") is None:
        tasks = list_at(owner.body, "spec.taskSpecs")
        spec = {**spec, "minAvailable": sum(_count(task, "replicas", 1) for task in tasks)}
    reference = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.metadata.name, "uid": owner.uid}
    return {
        "apiVersion": owner.api_version,
        "kind": "SchedulingSpec",
        "metadata": {
            "name": owner.metadata.name,
            "namespace": owner.metadata.namespace,
            "ownerReferences": [{**reference, "controller": True}],
        },
        "spec": spec,
    }


# --- the tasks of each kind ---


def _count(obj: Mapping[str, Any], path: str, default: int) -> int:
    found = count_at(obj, path)
    return default if found is None else found


def _template(obj: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    found = value_at(obj, path)
    return found if isinstance(found, Mapping) else {}


def _parallel(spec: Mapping[str, Any]) -> int:
    parallelism, completions = _count(spec, "parallelism", 1), count_at(spec, "completions")
    return parallelism if completions is None else min(parallelism, completions)


def _job(obj: Json) -> Iterator[Task]:
    yield Task("", _parallel(_template(obj, "spec")), _template(obj, "spec.template"))


def _replicas(obj: Json) -> Iterator[Task]:
    yield Task("", _count(obj, "spec.replicas", 1), _template(obj, "spec.template"))


def _one(obj: Json) -> Iterator[Task]:
    yield Task("", 1, _template(obj, "spec.template"))


def _jobset(obj: Json) -> Iterator[Task]:
    """Of replicated jobs that wait for others there is nothing to start yet."""
    first = awaited_jobs(obj, ())
    for replicated in list_at(obj, "spec.replicatedJobs"):
        name = text_at(replicated, "name")
        for index in range(_count(replicated, "replicas", 1) if name in first else 0):
            labels = {REPLICATED_JOB: name, JOB_INDEX: str(index)}
            count = _parallel(_template(replicated, "template.spec"))
            yield Task(f"{name}-{index}", count, _template(replicated, "template.spec.template"), labels)


def _roles(field: str) -> Callable[[Json], Iterator[Task]]:
    def tasks(obj: Json) -> Iterator[Task]:
        for role, spec in sorted(_template(obj, f"spec.{field}").items()):
            labels = {REPLICA_TYPE: role.lower(), JOB_ROLE: role.lower()}
            yield Task(role.lower(), _count(spec, "replicas", 1), _template(spec, "template"), labels)

    return tasks


def _ray(place: str) -> Callable[[Json], Iterator[Task]]:
    def tasks(obj: Json) -> Iterator[Task]:
        spec = _template(obj, place)
        yield Task("head", 1, _template(spec, "headGroupSpec.template"), {GROUP_LABEL: "headgroup"})
        for worker in list_at(spec, "workerGroupSpecs"):
            name = text_at(worker, "groupName") or "worker"
            hosts = _count(worker, "numOfHosts", 1)
            replicas = _count(worker, "replicas", _count(worker, "minReplicas", 1))
            yield Task(name, replicas * hosts, _template(worker, "template"), {GROUP_LABEL: name})

    return tasks


def _leader_worker_set(obj: Json) -> Iterator[Task]:
    size = _count(obj, "spec.leaderWorkerTemplate.size", 1)
    worker = _template(obj, "spec.leaderWorkerTemplate.workerTemplate")
    leader = _template(obj, "spec.leaderWorkerTemplate.leaderTemplate") or worker
    for group in range(_count(obj, "spec.replicas", 1)):
        for index in range(size):
            labels = {GROUP_INDEX: str(group), WORKER_INDEX: str(index)}
            yield Task(f"{group}-{index}", 1, worker if index else leader, labels)


def _queue_job(obj: Json) -> Iterator[Task]:
    scheduler = text_at(obj, "spec.schedulerName")
    for number, task in enumerate(list_at(obj, "spec.taskSpecs")):
        template = _template(task, "template")
        if scheduler and "spec" in template:
            template = {**template, "spec": {"schedulerName": scheduler, **template["spec"]}}
        yield Task(text_at(task, "name") or f"task{number}", _count(task, "replicas", 1), template)


_TASKS: dict[tuple[str, str], Callable[[Json], Iterator[Task]]] = {
    ("batch", "Job"): _job,
    ("apps", "Deployment"): _replicas,
    ("apps", "ReplicaSet"): _replicas,
    ("apps", "StatefulSet"): _replicas,
    ("jobset.x-k8s.io", "JobSet"): _jobset,
    ("kubeflow.org", "PyTorchJob"): _roles("pytorchReplicaSpecs"),
    ("kubeflow.org", "TFJob"): _roles("tfReplicaSpecs"),
    ("kubeflow.org", "XGBoostJob"): _roles("xgbReplicaSpecs"),
    ("kubeflow.org", "JAXJob"): _roles("jaxReplicaSpecs"),
    ("kubeflow.org", "MPIJob"): _roles("mpiReplicaSpecs"),
    ("kubeflow.org", "Notebook"): _one,
    ("ray.io", "RayCluster"): _ray("spec"),
    ("ray.io", "RayJob"): _ray("spec.rayClusterSpec"),
    ("ray.io", "RayService"): _ray("spec.rayClusterConfig"),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _leader_worker_set,
    (_ARBITRATOR, "QueueJob"): _queue_job,
}
