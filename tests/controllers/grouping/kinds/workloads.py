"""Workloads in shorthand."""

from __future__ import annotations

from typing import Any

from koordpy.api.grouping import Gang, Owner, Workload, WorkloadPod
from koordpy.api.meta import ObjectMeta, OwnerReference
from koordpy.controllers.grouping.kinds.table import Kinds

VERSIONS = {
    "Job": "batch/v1",
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1",
    "RayCluster": "ray.io/v1",
    "RayJob": "ray.io/v1",
    "RayService": "ray.io/v1",
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "Revision": "serving.knative.dev/v1",
    "Frobnicator": "example.com/v1",
}


def owner(kind: str, spec: Any = None, status: Any = None, name: str = "w", **meta: Any) -> Owner:
    body = {} if spec is None else {"spec": spec}
    body |= {} if status is None else {"status": status}
    api_version = VERSIONS.get(kind, "kubeflow.org/v1")
    meta = {"uid": f"uid-{name}"} | meta
    return Owner(api_version, kind, ObjectMeta(name, namespace="default", **meta), body)


def pod(name: str, *, bound: bool = False, terminating: bool = False, under: str = "Job", **meta: Any) -> WorkloadPod:
    """`under` is the kind of its nearest owner; empty for none."""
    references = (OwnerReference(under, "x", "u", controller=True),) if under else ()
    gone = "2026-01-01T00:00:00Z" if terminating else None
    meta = {"uid": f"uid-{name}", "owner_references": references, "deletion_timestamp": gone} | meta
    return WorkloadPod(ObjectMeta(name, namespace="default", **meta), bound=bound)


def gangs_of(top: Owner, *pods: WorkloadPod, below: tuple[Owner, ...] = ()) -> list[Gang]:
    return list(Kinds().of(top.group, top.kind).gangs(Workload(top, pods, below)))


def gang_of(top: Owner, *pods: WorkloadPod, below: tuple[Owner, ...] = ()) -> Gang:
    (found,) = gangs_of(top, *pods, below=below)
    return found


def minima(gang: Gang) -> dict[str, int | None]:
    """The minimum of each leaf."""
    parents = {each.parent for each in gang.subgroups}
    return {each.name: each.minimum for each in gang.subgroups if each.name not in parents}


def parents(gang: Gang) -> dict[str, int | None]:
    """How many of its children each parent needs."""
    return {each.name: each.min_subgroup for each in gang.subgroups if each.min_subgroup is not None}
