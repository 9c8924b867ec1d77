"""PodGroup of Kubernetes itself (`scheduling.k8s.io`), in the versions that API servers serve behind their gates.

`v1alpha2` (Kubernetes 1.36) says `disruptionMode: Pod | PodGroup`, `v1beta1` (1.37) says it as an object with one key,
`single` or `all`. The `basic` policy has no minimum: its pods start as they fit.
"""

from __future__ import annotations

from koordpy.api.gangs import DisruptionMode, GangDeclaration, declaration_of
from koordpy.api.meta import ObjectMeta, StatusCondition, Struct
from koordpy.api.podgroup.gangobject import GangObject, head_of
from koordpy.api.topology import gather_text

GROUP = "scheduling.k8s.io"
VERSIONS = ("v1beta1", "v1alpha2")  # the newest first
# The condition has another name in each of them.
CONDITION = {"v1beta1": "PodGroupInitiallyScheduled", "v1alpha2": "PodGroupScheduled"}

_MODES: dict[str, DisruptionMode] = {"Pod": "Single", "single": "Single", "PodGroup": "All", "all": "All"}


class Gang(Struct, frozen=True):
    min_count: int = 1


class SchedulingPolicy(Struct, frozen=True):
    gang: Gang | None = None


class TopologyKey(Struct, frozen=True):
    key: str = ""


class SchedulingConstraints(Struct, frozen=True):
    topology: tuple[TopologyKey, ...] = ()


class NativePodGroupSpec(Struct, frozen=True):
    scheduling_policy: SchedulingPolicy = SchedulingPolicy()
    scheduling_constraints: SchedulingConstraints | None = None
    disruption_mode: str | dict[str, object] | None = None
    priority_class_name: str = ""
    priority: int | None = None


class NativePodGroupStatus(Struct, frozen=True):
    conditions: tuple[StatusCondition, ...] = ()


class NativePodGroup(Struct, frozen=True):
    metadata: ObjectMeta
    spec: NativePodGroupSpec = NativePodGroupSpec()
    status: NativePodGroupStatus = NativePodGroupStatus()


def gang_object_of(version: str, pod_group: NativePodGroup) -> GangObject:
    """What a PodGroup of one version says about its gang."""
    spec, meta = pod_group.spec, pod_group.metadata
    scheduled = next((each for each in pod_group.status.conditions if each.type == CONDITION[version]), None)
    return head_of(f"{GROUP}/{version}", "PodGroup", meta, declaration_of(meta))._replace(
        by_spec=GangDeclaration(
            minimum=spec.scheduling_policy.gang.min_count if spec.scheduling_policy.gang is not None else 0,
            topology=_gather(spec),
            disruption=_disruption(spec),
        ),
        priority_class=spec.priority_class_name if spec.priority is None else "",
        priority=spec.priority,
        was_started=scheduled is not None and scheduled.status == "True",
    )


def _disruption(spec: NativePodGroupSpec) -> DisruptionMode | None:
    mode = spec.disruption_mode
    said = next(iter(mode), "") if isinstance(mode, dict) else mode or ""
    return _MODES.get(said)


def _gather(spec: NativePodGroupSpec) -> str | None:
    keys = spec.scheduling_constraints.topology if spec.scheduling_constraints is not None else ()
    return gather_text(keys[0].key, "") if keys and keys[0].key else None
