"""PodGroup of KAI (`scheduling.run.ai`), as users and as the grouper make it.

KAI's definition allows `minMember` or `minSubGroup`, of the PodGroup and of each subgroup. A subgroup that others name
as their parent counts its children; one that nobody names counts its members.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from koordpy.api.gangs import Complaint, GangDeclaration, declaration_of
from koordpy.api.keys import MANAGED_BY, PODGROUPER
from koordpy.api.meta import ObjectMeta, StatusCondition, Struct
from koordpy.api.podgroup.gangobject import GangObject, SubGroup, head_of
from koordpy.api.topology import gather_text

GROUP, VERSION = "scheduling.run.ai", "v2alpha2"
API_VERSION = f"{GROUP}/{VERSION}"


class TopologyConstraint(Struct, frozen=True):
    required_topology_level: str = ""
    preferred_topology_level: str = ""


class KaiSubGroup(Struct, frozen=True):
    name: str = ""
    min_member: int | None = None
    min_sub_group: int | None = None
    parent: str | None = None
    topology_constraint: TopologyConstraint | None = None


class KaiPodGroupSpec(Struct, frozen=True):
    min_member: int | None = None
    min_sub_group: int | None = None
    queue: str = ""
    priority_class_name: str = ""
    preemptibility: str = ""
    topology_constraint: TopologyConstraint = TopologyConstraint()
    sub_groups: tuple[KaiSubGroup, ...] = ()


class SchedulingCondition(Struct, frozen=True, omit_defaults=True):
    """KAI's own form of saying that a gang has no nodes."""

    type: str = ""
    node_pool: str = ""
    reason: str = ""
    message: str = ""
    transition_id: str = msgspec.field(name="transitionID", default="")
    last_transition_time: str | None = None
    status: str = ""


class KaiPodGroupStatus(Struct, frozen=True):
    phase: str = ""
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    pending: int = 0
    conditions: tuple[StatusCondition, ...] = ()
    scheduling_conditions: tuple[SchedulingCondition, ...] = ()


class KaiPodGroup(Struct, frozen=True):
    metadata: ObjectMeta
    spec: KaiPodGroupSpec = KaiPodGroupSpec()
    status: KaiPodGroupStatus = KaiPodGroupStatus()


def gang_object_of(pod_group: KaiPodGroup) -> GangObject:
    """What a PodGroup says about its gang."""
    spec, status, meta = pod_group.spec, pod_group.status, pod_group.metadata
    return head_of(API_VERSION, "PodGroup", meta, declaration_of(meta))._replace(
        by_spec=GangDeclaration(minimum=_minimum(spec), topology=_gather(spec.topology_constraint)),
        subgroups=tuple(_subgroups(spec)),
        min_children=spec.min_sub_group,
        queue=spec.queue,
        preemptibility=spec.preemptibility,
        priority_class=spec.priority_class_name,
        complaints=tuple(_complaints(spec)),
        was_started=status.phase not in ("", "Pending"),
        has_succeeded=status.succeeded > 0,
        grouped=(grouped := meta.labels.get(MANAGED_BY) == PODGROUPER),
        workload=meta.owner_references[0].name if grouped and meta.owner_references else "",
        workload_kind=meta.owner_references[0].kind if grouped and meta.owner_references else "",
    )


def _minimum(spec: KaiPodGroupSpec) -> int:
    """Of all together. Without one, what the subgroups ask for is enough; without those, one member is."""
    if spec.min_member is not None and spec.min_member >= 0:
        return spec.min_member
    return 0 if spec.sub_groups or spec.min_sub_group is not None else 1


def _subgroups(spec: KaiPodGroupSpec) -> Iterator[SubGroup]:
    seen: set[str] = set()
    parents = {each.parent for each in spec.sub_groups if each.parent}
    for each in spec.sub_groups:
        if each.name in seen or not each.name:
            continue
        seen.add(each.name)
        is_leaf = each.name not in parents
        least = max(each.min_member if each.min_member is not None else 1, 0) if is_leaf else 0
        yield SubGroup(each.name, least, each.parent or "", None if is_leaf else each.min_sub_group)


def _complaints(spec: KaiPodGroupSpec) -> Iterator[Complaint]:
    if spec.min_member is not None and spec.min_member < 0:
        yield Complaint("spec.minMember", str(spec.min_member), "is below 0")
    names = [each.name for each in spec.sub_groups]
    for i, each in enumerate(spec.sub_groups):
        where = f"spec.subGroups[{i}]"
        if each.name in names[:i]:
            yield Complaint(f"{where}.name", each.name, "stands there twice")
        if each.min_member is not None and each.min_member < 0:
            yield Complaint(f"{where}.minMember", str(each.min_member), "is below 0")
        if each.parent and each.parent not in names:
            yield Complaint(f"{where}.parent", each.parent, "is no subgroup of this PodGroup")


def _gather(constraint: TopologyConstraint) -> str | None:
    required, preferred = constraint.required_topology_level, constraint.preferred_topology_level
    return gather_text(required, preferred) if required or preferred else None
