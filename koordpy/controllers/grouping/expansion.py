"""A workload that does not exist, as the pods and the gang's objects that it would become.

What its controllers would make of its templates, and the grouper of its pods, by the grouper's own rules. Nothing is
read from a cluster. A workload may have very many pods, so that they come a few at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from koordpy.api.errors import MalformedValue
from koordpy.api.grouping import Owner, Workload, WorkloadPod
from koordpy.api.keys import RUNAI_POD_GROUP_NAME, SKIP_PODGROUPER, SUBGROUP_NAME
from koordpy.api.meta import ObjectMeta
from koordpy.api.paths import count_at, list_at, object_at
from koordpy.controllers.grouping.kinds.table import Kinds
from koordpy.controllers.grouping.made import ARBITRATOR, Task, made_of
from koordpy.controllers.grouping.podgroups import Dialect, body_of, wanted_of
from koordpy.controllers.grouping.pods import is_ours, may_be_grouped, opts_out

Json = dict[str, Any]

MOST_PODS = 5_000  # pods of one workload: what a rule says of all of them at once takes a few hundredths of a second
_OWN_KINDS = Kinds()


def expanded(obj: Json, classes: Collection[str] = (), kinds: Kinds = _OWN_KINDS) -> Iterator[Json | None] | None:
    """The gang's objects, then the pods, and None while it works on; None at once for a kind that is not known.

    `classes` are the names of the PriorityClasses that exist. Raises MalformedValue, then and on the way.
    """
    made = made_of(obj)
    return _objects(made.owners, made.tasks, classes, kinds) if made is not None else None


def _objects(
    owners: tuple[Owner, ...], tasks: Iterator[Task], classes: Collection[str], kinds: Kinds
) -> Iterator[Json | None]:
    by, pods = kinds.grouped_by(owners), []
    members: list[WorkloadPod] = []
    for task in _bounded(tasks):
        shared = _shared(owners, task)
        seen = _as_seen(shared, owners[by])
        for index in range(task.replicas):
            pod = _pod(shared, f"{_stem(owners, task)}-{index}")
            pods.append(pod)
            if seen is not None:
                meta = pod["metadata"]
                members.append(seen._replace(meta=replace(seen.meta, name=meta["name"], uid=meta["uid"])))
            yield None
    if owners[0].group == ARBITRATOR:
        yield _scheduling_spec(owners[0])
    elif members:
        workload = Workload(owners[by], tuple(members), owners[:by])
        yield from _pod_groups(workload, owners, pods, classes, kinds)
    yield from pods


def _bounded(tasks: Iterator[Task]) -> Iterator[Task]:
    """Every task counts for a pod at least: there may be very many that have none."""
    pods = 0
    for task in tasks:
        if task.template.get("spec") is None:
            raise MalformedValue("template", None, f"of task {task.name or 'pod'} has no spec")
        pods += max(task.replicas, 1)
        if pods > MOST_PODS:
            raise MalformedValue(task.place, pods, f"are more pods than are planned of one workload: {MOST_PODS}")
        yield task


def _stem(owners: tuple[Owner, ...], task: Task) -> str:
    """Of the names of its pods: after the workload that was sent."""
    return "-".join(filter(None, (owners[-1].metadata.name, task.name)))


def _shared(owners: tuple[Owner, ...], task: Task) -> Json:
    """What all pods of a task have in common. Of an owner that opts out they say so, as the grouper tells them."""
    owner, template = owners[0], task.template
    reference = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.metadata.name, "uid": owner.uid}
    told = {SKIP_PODGROUPER: "true"} if any(opts_out(each.metadata) for each in owners) else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": owner.metadata.name,
            "namespace": owner.metadata.namespace,
            "labels": {**object_at(template, "metadata.labels"), **task.labels},
            "annotations": {**object_at(template, "metadata.annotations"), **told},
            "ownerReferences": [{**reference, "controller": True}],
        },
        "spec": dict(object_at(template, "spec")),
    }


def _as_seen(shared: Json, owner: Owner) -> WorkloadPod | None:
    """A pod as the grouper would see it; None, if it would leave it to others."""
    meta, spec = msgspec.convert(shared["metadata"], ObjectMeta), shared["spec"]
    pod = WorkloadPod(meta, priority_class=str(spec.get("priorityClassName", "")))
    return pod if may_be_grouped(meta, spec.get("schedulingGroup")) and is_ours(pod, owner) else None


def _pod(shared: Json, name: str) -> Json:
    meta = shared["metadata"]
    own = {"name": name, "uid": f"whatif-{meta['namespace']}-{name}"}
    copied = {"labels": dict(meta["labels"]), "annotations": dict(meta["annotations"])}
    return {**shared, "metadata": {**meta, **copied, **own}}


def _pod_groups(
    workload: Workload, owners: tuple[Owner, ...], pods: list[Json], classes: Collection[str], kinds: Kinds
) -> Iterator[Json]:
    """Those that the grouper would make; their pods are told which one they belong to."""
    metas = {pod["metadata"]["uid"]: pod["metadata"] for pod in pods}
    for gang in kinds.of(workload.owner.group, workload.owner.kind).gangs(workload):
        wanted = wanted_of(gang, workload.owner, owners, classes) if gang.pods else None
        if wanted is None:
            continue
        for pod in wanted.gang.pods:
            meta = metas[pod.uid]
            meta["annotations"][RUNAI_POD_GROUP_NAME] = wanted.name
            if subgroup := wanted.gang.subgroup_of.get(pod.uid):
                meta["labels"][SUBGROUP_NAME] = subgroup
        yield body_of(wanted, Dialect())


def _scheduling_spec(owner: Owner) -> Json:
    """What the QueueJob controller makes first."""
    spec = object_at(owner.body, "spec.schedSpec") or object_at(owner.body, "spec.schedulingSpec")
    if spec.get("minAvailable") is None:
        tasks = list_at(owner.body, "spec.taskSpecs")
        counts = (count_at(task, "replicas") for task in tasks)
        spec = {**spec, "minAvailable": sum(1 if count is None else count for count in counts)}
    reference = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.metadata.name, "uid": owner.uid}
    return {
        "apiVersion": f"{ARBITRATOR}/v1alpha1",
        "kind": "SchedulingSpec",
        "metadata": {
            "name": owner.metadata.name,
            "namespace": owner.metadata.namespace,
            "ownerReferences": [{**reference, "controller": True}],
        },
        "spec": spec,
    }
