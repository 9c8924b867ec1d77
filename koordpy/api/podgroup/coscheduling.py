"""PodGroup, of both API groups that define one with the same fields."""

from __future__ import annotations

from koordpy.api.gangs import Complaint, GangDeclaration, declaration_of
from koordpy.api.meta import ObjectMeta, StatusCondition, Struct
from koordpy.api.pod import Quantities
from koordpy.api.podgroup.gangobject import GangObject, amounts_in, head_of

SIGS_GROUP = "scheduling.sigs.k8s.io"  # Koordinator's, and the community's until 2022
X_GROUP = "scheduling.x-k8s.io"  # the coscheduling plugin's today
GROUPS = (SIGS_GROUP, X_GROUP)
VERSION = "v1alpha1"


class PodGroupSpec(Struct, frozen=True):
    min_member: int = 0
    min_resources: Quantities = {}
    schedule_timeout_seconds: int | None = None


class PodGroupStatus(Struct, frozen=True):
    phase: str = ""
    occupied_by: str = ""
    scheduled: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    schedule_start_time: str | None = None
    conditions: tuple[StatusCondition, ...] = ()


class PodGroup(Struct, frozen=True):
    metadata: ObjectMeta
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


def gang_object_of(api_group: str, pod_group: PodGroup) -> GangObject:
    """What a PodGroup says about its gang."""
    spec, status, meta = pod_group.spec, pod_group.status, pod_group.metadata
    wait = spec.schedule_timeout_seconds
    negative = Complaint("spec.minMember", str(spec.min_member), "is below 0")
    return head_of(f"{api_group}/{VERSION}", "PodGroup", meta, declaration_of(meta))._replace(
        by_spec=GangDeclaration(
            minimum=spec.min_member if spec.min_member >= 0 else None,
            wait_s=float(wait) if wait is not None and wait > 0 else None,
        ),
        min_resources=amounts_in(spec.min_resources),
        complaints=(negative,) if spec.min_member < 0 else (),
        was_started=bool(status.schedule_start_time),
        has_succeeded=status.succeeded > 0,
    )
