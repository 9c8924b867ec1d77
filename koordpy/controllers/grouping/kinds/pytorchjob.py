"""PyTorchJob: the master and its workers, all of them or as many as the job can begin with.

The operator labels each pod with its role and index (training-operator, `pkg/controller.v1/common/pod.go`). An elastic
job begins with `elasticPolicy.minReplicas`; what the user asks for as `minAvailable` counts more.
"""

from __future__ import annotations

from collections.abc import Sequence

from koordpy.api.errors import MalformedValue
from koordpy.api.grouping import Gang, Owner, SubGroup, Workload, WorkloadPod
from koordpy.api.paths import count_in, value_at
from koordpy.controllers.grouping.kinds import segments
from koordpy.controllers.grouping.kinds.replicaspecs import MIN_AVAILABLE, asked_minimum, replicas_of

REPLICA_TYPE = "training.kubeflow.org/replica-type"
REPLICA_INDEX = "training.kubeflow.org/replica-index"
_FIELD = "pytorchReplicaSpecs"
_MASTER, _WORKER = "master", "worker"


def pytorchjob(workload: Workload) -> Sequence[Gang]:
    owner = workload.owner
    replicas = {role.lower(): count for role, count in replicas_of(owner, _FIELD).items()}
    minimum = _minimum(owner, sum(replicas.values()))
    subgroups: list[SubGroup] = []
    if _MASTER in replicas:
        subgroups.append(SubGroup(_MASTER, min(replicas[_MASTER], minimum)))
    size = None
    if _WORKER in replicas:
        needed = max(0, minimum - replicas.get(_MASTER, 0))
        size = _segment_size(owner, replicas[_WORKER])
        subgroups += _workers(owner, replicas[_WORKER], needed, size)
    subgroup_of = {pod.uid: _subgroup(pod, size) for pod in workload.pods}
    return [Gang(workload.pods, minimum=minimum, subgroups=tuple(subgroups), subgroup_of=subgroup_of)]


def _minimum(owner: Owner, replicas: int) -> int:
    asked = asked_minimum(owner, MIN_AVAILABLE, replicas)
    if asked is None:
        asked = asked_minimum(owner, "spec.elasticPolicy.minReplicas", replicas)
    return replicas if asked is None else asked


def _workers(owner: Owner, workers: int, needed: int, size: int | None) -> list[SubGroup]:
    if size is None:
        return [SubGroup(_WORKER, needed)]
    annotations = owner.metadata.annotations | _template(owner)
    parts = segments.segments(_WORKER, segments.cut(workers, size), needed, segments.segment_topology(annotations))
    return [SubGroup(_WORKER, min_subgroup=sum(1 for part in parts if part.minimum)), *parts]


def _segment_size(owner: Owner, workers: int) -> int | None:
    return segments.segment_size(_template(owner), workers)


def _template(owner: Owner) -> dict[str, str]:
    return segments.template_annotations(value_at(owner.body, f"spec.{_FIELD}.Worker.template"))


def _subgroup(pod: WorkloadPod, size: int | None) -> str:
    role = pod.labels.get(REPLICA_TYPE, "")
    if role != _WORKER or size is None:
        return role
    index = count_in(pod.labels, REPLICA_INDEX)
    if index is None:
        raise MalformedValue(REPLICA_INDEX, None, f"is missing on pod {pod.meta.name}: its segment is not known")
    return f"{_WORKER}-{index // size}"
