"""RayCluster, RayJob, RayService: the head, and of each worker group what it begins with.

KubeRay labels each pod with its group, and a pod of the head with `headgroup` (kuberay,
`ray-operator/controllers/ray/common/pod.go`, labelPod). A group that is suspended has no pods; one with `minReplicas`
grows beyond them by the autoscaler, so that only those are awaited. The pod that submits a RayJob comes when the
cluster is up, from a Job of the RayJob's: it is awaited by nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from koordpy.api.errors import MalformedValue
from koordpy.api.grouping import Gang, Owner, SubGroup, Workload
from koordpy.api.paths import count_at, list_at, text_at, value_at
from koordpy.controllers.grouping.kinds.minimum import check_minimum
from koordpy.controllers.grouping.kinds.segments import own_topology, template_annotations

GROUP_LABEL = "ray.io/group"
PRIORITY_LABEL = "ray.io/priority-class-name"
HEAD = "headgroup"


def raycluster(workload: Workload) -> Sequence[Gang]:
    return [_gang(workload, workload.owner)]


def rayjob(workload: Workload) -> Sequence[Gang]:
    """Of a job on a cluster that was there before, there is nothing to start but the pod that submits it."""
    if value_at(workload.owner.body, "spec.clusterSelector"):
        return [Gang(workload.pods, priority_label=PRIORITY_LABEL)]
    return [_gang(workload, _cluster_of(workload, text_at(workload.owner.body, "status.rayClusterName")))]


def rayservice(workload: Workload) -> Sequence[Gang]:
    """While a service is upgraded it has two clusters: the one that serves decides."""
    body = workload.owner.body
    serving = text_at(body, "status.activeServiceStatus.rayClusterName")
    coming = text_at(body, "status.pendingServiceStatus.rayClusterName")
    return [_gang(workload, _cluster_of(workload, serving or coming))]


def _cluster_of(workload: Workload, name: str) -> Owner:
    """The RayCluster of that name, else the oldest; its pods lead to it."""
    clusters = sorted(
        (owner for owner in workload.below if owner.kind == "RayCluster"),
        key=lambda owner: (owner.metadata.name != name, owner.metadata.creation_timestamp or "", owner.metadata.name),
    )
    if not clusters:
        raise MalformedValue("status.rayClusterName", name, "is not a RayCluster that owns one of its pods")
    return clusters[0]


def _gang(workload: Workload, cluster: Owner) -> Gang:
    subgroups = [SubGroup(HEAD, 1, topology=_placed(value_at(cluster.body, "spec.headGroupSpec")))]
    for number, spec in enumerate(list_at(cluster.body, "spec.workerGroupSpecs")):
        minimum = _minimum(spec, f"spec.workerGroupSpecs[{number}]")
        if minimum is not None:
            name = text_at(spec, "groupName") or f"worker-group-{number}"
            subgroups.append(SubGroup(name, minimum, topology=_placed(spec)))
    return Gang(
        workload.pods,
        minimum=sum(subgroup.minimum or 0 for subgroup in subgroups),
        subgroups=tuple(subgroups),
        subgroup_of={pod.uid: pod.labels.get(GROUP_LABEL, "") for pod in workload.pods},
        priority_label=PRIORITY_LABEL,
    )


def _minimum(spec: Mapping[str, Any], place: str) -> int | None:
    """Pods of a worker group that have to be there; None: the group has no pods."""
    if value_at(spec, "suspend") is True:
        return None
    least, replicas = count_at(spec, "minReplicas") or 0, count_at(spec, "replicas")
    hosts = count_at(spec, "numOfHosts")
    if replicas is not None:
        check_minimum(f"{place}.minReplicas", least, replicas)
    return (least or replicas or 0) * (1 if hosts is None else hosts)


def _placed(spec: Any) -> Any:
    return own_topology(template_annotations(value_at(spec, "template")))
