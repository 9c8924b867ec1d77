"""Pods by themselves, and workloads of which each pod may start alone.

A PodGroup of one pod brings nothing but its queue, so that pods which need not be grouped to start (bare pods, pods of
ReplicaSets and DaemonSets) get one only where a queue is named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from koordpy.api.grouping import INFERENCE, TRAIN, Gang, Workload, WorkloadPod

_START_UNGROUPED = ("ReplicaSet", "DaemonSet")  # the scheduler holds no pod of these until it is grouped


def starts_ungrouped(pod: WorkloadPod) -> bool:
    """Whether the scheduler would start the pod without a PodGroup."""
    return all(owner.kind in _START_UNGROUPED for owner in pod.meta.owner_references)


def pod_alone(pod: WorkloadPod, priority: str = TRAIN) -> Gang:
    """A gang of one pod, which owns its PodGroup."""
    return Gang((pod,), alone=True, on_demand=starts_ungrouped(pod), priority=priority)


def each_pod(workload: Workload) -> Sequence[Gang]:
    """A Deployment: its replicas serve, and each of them does so without the others."""
    return [pod_alone(pod, INFERENCE) for pod in workload.pods]


def minimum_of_one(priority: str = TRAIN) -> Callable[[Workload], Sequence[Gang]]:
    """One PodGroup for the workload, of which any pod may start: whatever has no rule of its own."""

    def gangs(workload: Workload) -> Sequence[Gang]:
        on_demand = all(starts_ungrouped(pod) for pod in workload.pods)
        return [Gang(workload.pods, on_demand=on_demand, priority=priority)]

    return gangs
