"""The pods that the grouper considers, by their nearest owner, kept up to date by the watch of pods.

Considered are pods of our profiles that no other front-end claims. Everything about a workload is decided from these
records; an event after which the record of a pod equals the one before needs no reconcile. The index never writes.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

import msgspec

from koordpy.api.gangs import membership_of
from koordpy.api.grouping import Owner, WorkloadPod, group_of
from koordpy.api.keys import RUNAI_POD_GROUP_NAME, SKIP_PODGROUPER
from koordpy.api.meta import ObjectMeta, OwnerReference
from koordpy.api.pod import Pod
from koordpy.controllers.grouping.chain import followed
from koordpy.controllers.grouping.kinds.spark import is_spark

_LEFT_TO_OTHERS = {("arbitrator.incubator.k8s.io", "QueueJob"), ("", "Node")}  # front-ends of their own; static pods


class _Changed(Protocol):
    def __call__(self, branch: str, *, left: bool) -> None: ...


class PodIndex:
    """The sink of the watch of pods. `changed` is told the branch of a pod that came, changed or went.

    It is told too whether that was its last one.

    A branch is a namespace and the UID of the nearest owner: all pods of it have the same chain. A pod without one is
    its own branch.
    """

    def __init__(self, schedulers: Collection[str], changed: _Changed) -> None:
        self._schedulers, self._changed = frozenset(schedulers), changed
        self._pods: dict[str, WorkloadPod] = {}  # by UID
        self._branches: dict[str, dict[str, WorkloadPod]] = {}  # by branch, then by UID

    def upsert(self, obj: Pod) -> None:
        """A pod was added or updated."""
        uid = obj.metadata.uid
        if not self._considered(obj):
            self.remove(obj.metadata.key, uid)
            return
        pod, before = _record(obj), self._pods.get(uid)
        if before is not None and _same(pod, before):
            return
        if before is not None and branch_of(before.meta) != branch_of(pod.meta):
            self.remove(obj.metadata.key, uid)
        self._keep(pod)
        self._changed(branch_of(pod.meta), left=False)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - a sink gets both; pods are known by UID
        """A pod was deleted, or is not considered any more."""
        pod = self._pods.pop(uid, None)
        if pod is None:
            return
        branch = branch_of(pod.meta)
        self._branches[branch].pop(uid)
        if not self._branches[branch]:
            del self._branches[branch]
        self._changed(branch, left=branch not in self._branches)

    def record_write(self, uid: str, annotations: dict[str, str], labels: dict[str, str]) -> None:
        """Our own write gave the pod these: the watch event that follows is no news."""
        pod = self._pods.get(uid)
        if pod is not None:
            annotations, labels = pod.annotations | annotations, pod.labels | labels
            meta = msgspec.structs.replace(pod.meta, annotations=annotations, labels=labels)
            self._keep(pod._replace(meta=meta))

    def get(self, uid: str) -> WorkloadPod | None:
        return self._pods.get(uid)

    def branch(self, branch: str) -> list[WorkloadPod]:
        """The pods of a branch."""
        return list(self._branches.get(branch, {}).values())

    def branches(self) -> list[str]:
        return list(self._branches)

    def _keep(self, pod: WorkloadPod) -> None:
        self._pods[pod.uid] = pod
        self._branches.setdefault(branch_of(pod.meta), {})[pod.uid] = pod

    def _considered(self, pod: Pod) -> bool:
        return pod.spec.scheduler_name in self._schedulers and may_be_grouped(pod.metadata, pod.spec.scheduling_group)


def may_be_grouped(meta: ObjectMeta, scheduling_group: object) -> bool:
    """Whether no other front-end claims the pod, and it has not opted out itself."""
    return (
        scheduling_group is None
        and not opts_out(meta)
        and membership_of(meta) is None
        and not any(is_left_to_others(each) for each in meta.owner_references)
    )


def opts_out(meta: ObjectMeta) -> bool:
    """A pod for itself, an owner for all of its pods."""
    return meta.annotations.get(SKIP_PODGROUPER) == "true"


def is_ours(pod: WorkloadPod, owner: Owner) -> bool:
    """Whether the pod names no PodGroup, or the one that we would give it: what a user set is never overwritten."""
    named = pod.annotations.get(RUNAI_POD_GROUP_NAME)
    if not named:
        return True
    if is_spark(owner.metadata.labels) and named in owner.metadata.labels.values():
        return True
    return named.startswith("pg-") and (owner.uid in named or pod.uid in named)


def is_left_to_others(reference: OwnerReference) -> bool:
    return (group_of(reference.api_version), reference.kind) in _LEFT_TO_OTHERS


def branch_of(meta: ObjectMeta) -> str:
    """By UID of the nearest owner, and namespace: whoever names the owner of others' pods is in no branch of theirs.

    A pod by itself is no branch of its name: it may own others.
    """
    reference = followed(meta)
    return f"{meta.namespace}/{reference.uid}" if reference is not None else f"pod {meta.uid}"


def _record(pod: Pod) -> WorkloadPod:
    return WorkloadPod(pod.metadata, bool(pod.spec.node_name), pod.is_finished, pod.spec.priority_class_name)


def _same(one: WorkloadPod, other: WorkloadPod) -> bool:
    """Whether they differ in nothing that grouping depends on: not in the version of the object."""
    return _telling(one) == _telling(other)


def _telling(pod: WorkloadPod) -> tuple[object, ...]:
    meta = pod.meta
    return meta.labels, meta.annotations, meta.owner_references, pod.terminating, pod[1:]
