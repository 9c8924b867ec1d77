"""JobSet: of every replicated job all Jobs, of every Job its parallel pods.

Pods carry the name of their replicated job and the index of their Job as labels (jobset,
`pkg/controllers/jobset_controller.go`, labelAndAnnotateObject). Not all replicated jobs are made at once: with
`startupPolicyOrder: InOrder` one is made when those before it are up, with `dependsOn` when those that it names are
`Ready` or `Complete` (same file, reconcileReplicatedJobs; `depends_on.go`, dependencyReachedStatus). A gang that waits
for one of these would never start, so that it is no part of the gang until it has pods.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from koordpy.api.errors import MalformedValue
from koordpy.api.grouping import Gang, SubGroup, Workload, WorkloadPod
from koordpy.api.keys import BATCH_MIN_MEMBER
from koordpy.api.paths import count_at, list_at, text_at, value_at
from koordpy.controllers.grouping.kinds.job import batch_minimum
from koordpy.controllers.grouping.kinds.minimum import check_minimum
from koordpy.controllers.grouping.kinds.segments import MOST_SUBGROUPS, own_topology, template_annotations

REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"
JOB_INDEX = "jobset.sigs.k8s.io/job-index"


def jobset(workload: Workload) -> Sequence[Gang]:
    owner = workload.owner
    subgroups: list[SubGroup] = []
    for number, spec in enumerate(list_at(owner.body, "spec.replicatedJobs")):
        subgroups += _replicated_job(spec, f"spec.replicatedJobs[{number}]", MOST_SUBGROUPS - len(subgroups))
    if not subgroups:
        raise MalformedValue("spec.replicatedJobs", None, "is empty: how many pods there will be is not known")
    begun = {pod.labels.get(REPLICATED_JOB, "") for pod in workload.pods}
    awaited = awaited_jobs(owner.body, begun)
    asked = batch_minimum(owner.metadata.annotations)
    return [
        Gang(
            workload.pods,
            minimum=None,
            min_subgroup=len(awaited) if asked is None else min(asked, len(awaited)),
            subgroups=tuple(each for each in subgroups if (each.parent or each.name) in awaited),
            subgroup_of={pod.uid: _subgroup(pod) for pod in workload.pods},
        )
    ]


def awaited_jobs(body: Mapping[str, Any], begun: Collection[str]) -> set[str]:
    """The replicated jobs that have pods (`begun`), and those that will have some without waiting for another."""
    specs = [spec for spec in list_at(body, "spec.replicatedJobs") if count_at(spec, "replicas") != 0]
    names = dict.fromkeys(text_at(spec, "name") for spec in specs)
    if text_at(body, "spec.startupPolicy.startupPolicyOrder") == "InOrder":
        free: set[str] = set()
    else:
        free = {text_at(spec, "name") for spec in specs if not _waits(spec, names)} - _completed(specs, begun)
    return {name for name in names if name in begun or name in free} or set(list(names)[:1])


def _waits(spec: Mapping[str, Any], names: Collection[str]) -> bool:
    """Whether it depends on another; one without replicas is complete from the beginning."""
    return any(text_at(each, "name") in names for each in list_at(spec, "dependsOn"))


def _completed(specs: Sequence[Mapping[str, Any]], begun: Collection[str]) -> set[str]:
    """Those that must have completed, for one that waited for it has begun: their pods may be gone and come no more."""
    past, completed = set(begun), set()
    for spec in reversed(specs):  # one depends only on those before it (jobset, `pkg/webhooks/jobset_webhook.go`)
        if text_at(spec, "name") not in past:
            continue
        for each in list_at(spec, "dependsOn"):
            past.add(text_at(each, "name"))
            if text_at(each, "status") == "Complete":
                completed.add(text_at(each, "name"))
    return completed


def _replicated_job(spec: Mapping[str, Any], place: str, most: int) -> list[SubGroup]:
    name = text_at(spec, "name")
    if not name:
        raise MalformedValue(f"{place}.name", None, "is missing")
    replicas = count_at(spec, "replicas")
    replicas = 1 if replicas is None else replicas
    if replicas >= most:
        raise MalformedValue(f"{place}.replicas", replicas, f"would make more than {MOST_SUBGROUPS} subgroups")
    annotations = template_annotations(value_at(spec, "template"))
    minimum, parallel = batch_minimum(annotations), _parallel_pods(spec)
    if minimum is None:
        minimum = parallel
    check_minimum(f"{place}.template: {BATCH_MIN_MEMBER}", minimum, parallel, "pods at a time")
    topology = own_topology(annotations)
    leaves = [SubGroup(_leaf(name, index), minimum, parent=name, topology=topology) for index in range(replicas)]
    return [SubGroup(name, min_subgroup=replicas), *leaves] if leaves else []


def _parallel_pods(spec: Mapping[str, Any]) -> int:
    """Pods of one Job that there are at a time: never more than it needs to complete."""
    parallelism = count_at(spec, "template.spec.parallelism")
    completions = count_at(spec, "template.spec.completions")
    parallelism = 1 if parallelism is None else parallelism
    return parallelism if completions is None else min(parallelism, completions)


def _subgroup(pod: WorkloadPod) -> str:
    name, index = pod.labels.get(REPLICATED_JOB), pod.labels.get(JOB_INDEX)
    return _leaf(name, index) if name and index is not None else ""


def _leaf(name: str, index: object) -> str:
    return f"{name}-replica-{index}"
