"""What counts of a pod in its queue."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from koordpy.api import keys
from koordpy.api.errors import MalformedValue
from koordpy.api.gangs import membership_of
from koordpy.api.pod import Pod
from koordpy.quota.amounts import kind_of
from koordpy.state.requests import requests_of


class Standing(Enum):
    """Where a pod is, as far as its queue is concerned."""

    RUNNING = "running"  # it has a node, and has not ended; terminating too
    WAITING = "waiting"  # it could be given a node
    ABSENT = "absent"  # ended, gated, or deleted before it had a node


class JobKey(NamedTuple):
    """What pods are counted together: a gang, by what names it, or a pod alone."""

    by: str  # GANG, RUN_AI or POD
    name: str  # namespace/name


GANG, RUN_AI, POD = "gang", "run.ai", "pod"


class Member(NamedTuple):
    """One pod."""

    job: JobKey
    born: tuple[str, str]  # creation and name: the oldest pod of a job speaks for it
    queue: str  # that its label names; empty: none
    standing: Standing
    amounts: tuple[tuple[str, int], ...]  # what it requests of the resources that queues count
    priority: int
    labels: tuple[tuple[str, str], ...]  # those that protect it
    needs_object: bool  # it says that its gang has a PodGroup
    is_ours: bool
    started_in: str | None = None  # the queue that it was started in, if we saw it start


def member_of(pod: Pod, *, is_ours: bool) -> Member:
    meta = pod.metadata
    job, needs_object = _job_of(pod)
    return Member(
        job=job,
        born=(meta.creation_timestamp or "", meta.name),
        queue=meta.labels.get(keys.QUEUE, ""),
        standing=_standing(pod),
        amounts=_amounts(pod),
        priority=pod.spec.priority,
        labels=tuple((key, meta.labels[key]) for key in _PROTECTING if key in meta.labels),
        needs_object=needs_object,
        is_ours=is_ours,
    )


_PROTECTING = (keys.DISABLE_PREEMPTIBLE, keys.QUOTA_PREEMPTIBLE)


def _job_of(pod: Pod) -> tuple[JobKey, bool]:
    """The job of a pod, and whether that has to have a PodGroup."""
    meta = pod.metadata
    membership = membership_of(meta)
    if membership is not None:
        return JobKey(GANG, membership.gang), membership.needs_object
    name = meta.annotations.get(keys.RUNAI_POD_GROUP_NAME)
    return (JobKey(RUN_AI, f"{meta.namespace}/{name}"), True) if name else (JobKey(POD, meta.key), False)


def _standing(pod: Pod) -> Standing:
    if pod.is_finished:
        return Standing.ABSENT
    if pod.spec.node_name:
        return Standing.RUNNING
    is_held = pod.metadata.deletion_timestamp is not None or bool(pod.spec.scheduling_gates)
    return Standing.ABSENT if is_held else Standing.WAITING


def _amounts(pod: Pod) -> tuple[tuple[str, int], ...]:
    try:
        needed = requests_of(pod).needed
    except MalformedValue:  # such a pod is never given a node by us
        return ()
    return tuple((name, amount) for name, amount in needed.items() if kind_of(name) is not None)
