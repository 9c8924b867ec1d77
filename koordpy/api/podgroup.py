"""PodGroup, of both API groups that define one with the same fields."""

from __future__ import annotations

from koordpy.api.meta import ObjectMeta, StatusCondition, Struct
from koordpy.api.pod import Quantities

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
