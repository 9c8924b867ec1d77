"""LeaderWorkerSet: each group, a leader and its workers, is a gang of its own.

The webhook of LWS labels pods with the index of their group and their own in it; the leader is 0 (lws,
`pkg/webhooks/pod_webhook.go`). With `startupPolicy: LeaderReady` workers are made when the leader is ready, so that the
leader starts alone; from then on the whole group is awaited, and the workers start together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from koordpy.api.errors import MalformedValue
from koordpy.api.grouping import Gang, Owner, SubGroup, Workload, WorkloadPod
from koordpy.api.paths import count_at, count_in, text_at, value_at
from koordpy.controllers.grouping.kinds import segments

GROUP_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"
_TEMPLATE = "spec.leaderWorkerTemplate"
_MOST_SUBGROUPS_OF_ALL = 100_000  # all of them are in memory at once
_LEADER, _WORKERS, _FIRST = "leader", "workers", "segment-0"


def leaderworkerset(workload: Workload) -> Sequence[Gang]:
    groups: dict[int, list[WorkloadPod]] = {}
    for pod in workload.pods:
        index = count_in(pod.labels, GROUP_INDEX)
        if index is None:
            raise MalformedValue(GROUP_INDEX, None, f"is missing on pod {pod.meta.name}: its group is not known")
        groups.setdefault(index, []).append(pod)
    gangs: list[Gang] = []
    left = _MOST_SUBGROUPS_OF_ALL
    for index in sorted(groups):
        gangs.append(_gang(workload.owner, index, groups[index]))
        left -= len(gangs[-1].subgroups)
        if left < 0:
            raise MalformedValue(
                _TEMPLATE, None, f"its groups have more than {_MOST_SUBGROUPS_OF_ALL} subgroups together"
            )
    return gangs


def _gang(owner: Owner, index: int, pods: list[WorkloadPod]) -> Gang:
    size = count_at(owner.body, f"{_TEMPLATE}.size")
    if not size:
        raise MalformedValue(f"{_TEMPLATE}.size", size, "must be at least 1")
    awaited = size
    if text_at(owner.body, "spec.startupPolicy") == "LeaderReady" and _leader_is_pending(pods):
        awaited = 1
    segment = _segment_size(owner, size)
    subgroups = _plain(awaited) if segment is None or awaited < size else _segmented(owner, size, segment)
    names = {subgroup.name for subgroup in subgroups}
    return Gang(
        tuple(pods),
        minimum=awaited,
        subgroups=tuple(subgroups),
        subgroup_of={pod.uid: _subgroup(pod, names, size, segment) for pod in pods},
        suffix=f"-group-{index}",
    )


def _leader_is_pending(pods: Iterable[WorkloadPod]) -> bool:
    """Whether no leader has a node and no worker is there."""
    return all(_is_leader(pod) and not pod.bound for pod in pods if not pod.terminating)


def _is_leader(pod: WorkloadPod) -> bool:
    return pod.labels.get(WORKER_INDEX, "0") == "0"


def _plain(size: int) -> list[SubGroup]:
    workers = [SubGroup(_WORKERS, size - 1)] if size > 1 else []
    return [SubGroup(_LEADER, 1), *workers]


def _segment_size(owner: Owner, size: int) -> int | None:
    place = f"{_TEMPLATE}.subGroupPolicy.subGroupSize"
    asked = count_at(owner.body, place)
    if asked is not None:
        segments.check_segment_size(place, asked, size)
        return asked
    return segments.segment_size(_annotations(owner), size)


def _annotations(owner: Owner) -> dict[str, str]:
    template = segments.template_annotations(value_at(owner.body, f"{_TEMPLATE}.workerTemplate"))
    return template | owner.metadata.annotations


def _segmented(owner: Owner, size: int, segment: int) -> list[SubGroup]:
    """The leader is in the first segment, which has its own subgroups for it, or outside of all."""
    topology = segments.segment_topology(_annotations(owner))
    policy = f"{_TEMPLATE}.subGroupPolicy.subGroupPolicyType"
    excluded = text_at(owner.body, policy) == "LeaderExcluded"
    sizes = segments.cut(size - 1, segment) if _leader_is_extra(size, segment) else segments.cut(size, segment)
    if excluded and not _leader_is_extra(size, segment):
        raise MalformedValue(policy, "LeaderExcluded", f"needs segments of {segment} to divide the {size - 1} workers")
    made = [SubGroup(f"segment-{number}", count, topology=topology) for number, count in enumerate(sizes)]
    if excluded:
        return [SubGroup(_LEADER, 1), *made]
    workers = sizes[0] if _leader_is_extra(size, segment) else sizes[0] - 1
    first = [
        SubGroup(_FIRST, min_subgroup=2, topology=topology),
        SubGroup(f"{_FIRST}-{_LEADER}", 1, parent=_FIRST),
        SubGroup(f"{_FIRST}-{_WORKERS}", workers, parent=_FIRST),
    ]
    return [*first, *made[1:]]


def _leader_is_extra(size: int, segment: int) -> bool:
    """Whether segments divide the workers: the leader then comes on top of the first (lws, GetSubGroupIndex)."""
    return (size - 1) % segment == 0


def _subgroup(pod: WorkloadPod, names: set[str], size: int, segment: int | None) -> str:
    if _is_leader(pod):
        return _LEADER if _LEADER in names else f"{_FIRST}-{_LEADER}"
    if segment is None or _WORKERS in names:
        return _WORKERS
    index = count_in(pod.labels, WORKER_INDEX) or 0
    number = (index - 1) // segment if _leader_is_extra(size, segment) else index // segment
    name = f"segment-{number}"
    return f"{_FIRST}-{_WORKERS}" if name == _FIRST and f"{_FIRST}-{_WORKERS}" in names else name
