"""JobSet: of every replicated job all Jobs, of every Job its parallel pods.

Pods carry the name of their replicated job and the index of their Job as labels (jobset,
`pkg/controllers/jobset_controller.go`, labelAndAnnotateObject). With `startupPolicyOrder: InOrder` a replicated job is
made only when the ones before it are up, so that only those of which there are pods are awaited.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from koordpy.api.errors import MalformedValue
from koordpy.api.grouping import Gang, Owner, SubGroup, Workload, WorkloadPod
from koordpy.api.paths import count_at, list_at, text_at, value_at
from koordpy.controllers.grouping.kinds.job import batch_minimum
from koordpy.controllers.grouping.kinds.segments import MOST_SUBGROUPS, own_topology, template_annotations

REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name"
JOB_INDEX = "jobset.sigs.k8s.io/job-index"


def jobset(workload: Workload) -> Sequence[Gang]:
    owner = workload.owner
    subgroups: list[SubGroup] = []
    for number, spec in enumerate(list_at(owner.body, "spec.replicatedJobs")):
        subgroups += _replicated_job(spec, f"spec.replicatedJobs[{number}]", MOST_SUBGROUPS - len(subgroups))
    names = [subgroup.name for subgroup in subgroups if not subgroup.parent]
    if not names:
        raise MalformedValue("spec.replicatedJobs", None, "is empty: how many pods there will be is not known")
    return [
        Gang(
            workload.pods,
            minimum=None,
            min_subgroup=_minimum(owner, names, workload.pods),
            subgroups=tuple(subgroups),
            subgroup_of={pod.uid: _subgroup(pod) for pod in workload.pods},
        )
    ]


def _minimum(owner: Owner, names: list[str], pods: Sequence[WorkloadPod]) -> int:
    """How many replicated jobs start together."""
    asked = batch_minimum(owner.metadata.annotations)
    if asked is not None:
        return min(asked, len(names))
    if text_at(owner.body, "spec.startupPolicy.startupPolicyOrder") != "InOrder":
        return len(names)
    begun = {pod.labels.get(REPLICATED_JOB) for pod in pods}
    return max(1, sum(name in begun for name in names))


def _replicated_job(spec: Mapping[str, Any], place: str, most: int) -> list[SubGroup]:
    name = text_at(spec, "name")
    if not name:
        raise MalformedValue(f"{place}.name", None, "is missing")
    replicas = count_at(spec, "replicas")
    replicas = 1 if replicas is None else replicas
    if replicas >= most:
        raise MalformedValue(f"{place}.replicas", replicas, f"would make more than {MOST_SUBGROUPS} subgroups")
    annotations = template_annotations(value_at(spec, "template"))
    minimum = batch_minimum(annotations)
    if minimum is None:
        minimum = _parallel_pods(spec)
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
