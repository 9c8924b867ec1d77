"""The kinds of PodGroups whose status is kept, one for each API version, and how their statuses differ.

The status is computed once, in the form of the coscheduling PodGroup (`status.py`). A kind says how its own status is
read into that form, and how it is written from it. Nothing is computed here that depends on pods.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from koordpy.api.decode import Decoder
from koordpy.api.keys import SCHEDULER_ERROR, UNSCHEDULABLE
from koordpy.api.meta import StatusCondition, Struct
from koordpy.api.podgroup import coscheduling, kai, native
from koordpy.api.podgroup.coscheduling import PodGroup, PodGroupStatus
from koordpy.api.podgroup.frontends import FRONT_END_OF_API, gang_id
from koordpy.api.podgroup.gangobject import GangObject
from koordpy.api.podgroup.kai import KaiPodGroup, KaiPodGroupStatus, SchedulingCondition
from koordpy.api.podgroup.native import CONDITION, NativePodGroup, NativePodGroupStatus
from koordpy.controllers.podgroup.condition import NO_PODS, SCHEDULED, TERMINATING

# KAI's name for "nowhere", and for the nodes of a cluster that is not divided.
_UNSCHEDULABLE_ON_NODE_POOL = "UnschedulableOnNodePool"
_NODE_POOL = "default"


class PodGroupKind(NamedTuple):
    """One kind. `Any` is its own struct, or the status of that."""

    api_version: str
    decode: Decoder[Any]
    gang_object: Callable[[Any], GangObject]
    common_form: Callable[[Any], PodGroupStatus]  # of its status
    own_form: Callable[[PodGroupStatus, int, Any], Struct]  # of the common form, with pending members, and before
    probe: str  # a field of the status that every definition of the kind keeps

    def gang_of(self, key: str) -> str:
        """The id of the gang that a PodGroup of this kind defines, by its `namespace/name`."""
        return gang_id(FRONT_END_OF_API[self.api_version], key)


def _as_it_is(status: PodGroupStatus) -> PodGroupStatus:
    return status


def _keep(status: PodGroupStatus, pending: int, before: PodGroup) -> PodGroupStatus:  # noqa: ARG001
    return status


# --- KAI ---


def _from_kai(status: KaiPodGroupStatus) -> PodGroupStatus:
    return PodGroupStatus(
        phase=status.phase,
        running=status.running,
        succeeded=status.succeeded,
        failed=status.failed,
        conditions=status.conditions,
    )


def _to_kai(status: PodGroupStatus, pending: int, before: KaiPodGroup) -> KaiPodGroupStatus:
    return KaiPodGroupStatus(
        phase=status.phase,
        running=status.running,
        succeeded=status.succeeded,
        failed=status.failed,
        pending=pending,
        conditions=status.conditions,
        scheduling_conditions=_scheduling_conditions(_scheduled(status), before.status.scheduling_conditions),
    )


def _scheduling_conditions(
    scheduled: StatusCondition | None, before: tuple[SchedulingCondition, ...]
) -> tuple[SchedulingCondition, ...]:
    """KAI's own, which says why a gang has no nodes; gone once it has some."""
    others = tuple(each for each in before if each.type != _UNSCHEDULABLE_ON_NODE_POOL)
    own = next((each for each in before if each.type == _UNSCHEDULABLE_ON_NODE_POOL), None)
    if scheduled is None or scheduled.status == "True" or not scheduled.message:
        return others
    same = own is not None and (own.reason, own.message) == (scheduled.reason, scheduled.message)
    number = int(own.transition_id) if own is not None and own.transition_id.isdigit() else 0
    condition = SchedulingCondition(
        type=_UNSCHEDULABLE_ON_NODE_POOL,
        node_pool=_NODE_POOL,
        reason=scheduled.reason,
        message=scheduled.message,
        transition_id=str(number if same else number + 1),
        last_transition_time=own.last_transition_time if own is not None else scheduled.last_transition_time,
        status="True",
    )
    return (*others, condition)


# --- Kubernetes itself ---


def _from_native(status: NativePodGroupStatus) -> PodGroupStatus:
    return PodGroupStatus(conditions=status.conditions)


def _to_native(
    version: str,
    status: PodGroupStatus,
    pending: int,  # noqa: ARG001 - no field says it
    before: NativePodGroup,
) -> NativePodGroupStatus:
    """kube-scheduler's condition: written once there are pods to schedule, and True for good once it is."""
    scheduled = _scheduled(status)
    own = next((each for each in before.status.conditions if each.type == CONDITION[version]), None)
    if scheduled is None or (own is not None and own.status == "True"):
        return before.status
    if scheduled.status != "True" and (not scheduled.message or scheduled.reason in (NO_PODS, TERMINATING)):
        return before.status
    is_same = own is not None and own.status == scheduled.status
    condition = StatusCondition(
        type=CONDITION[version],
        status=scheduled.status,
        reason=_native_reason(scheduled),
        message=scheduled.message,
        last_transition_time=own.last_transition_time if is_same and own else scheduled.last_transition_time,
        observed_generation=before.metadata.generation,
    )
    others = tuple(each for each in before.status.conditions if each.type != CONDITION[version])
    return NativePodGroupStatus(conditions=(*others, condition))


def _native_reason(scheduled: StatusCondition) -> str:
    if scheduled.status == "True":
        return "Scheduled"
    return SCHEDULER_ERROR if scheduled.reason == SCHEDULER_ERROR else UNSCHEDULABLE


def _scheduled(status: PodGroupStatus) -> StatusCondition | None:
    return next((each for each in status.conditions if each.type == SCHEDULED), None)


# --- all of them ---


def _kinds() -> list[PodGroupKind]:
    found = [
        PodGroupKind(
            f"{group}/{coscheduling.VERSION}",
            Decoder("PodGroup", PodGroup),
            partial(coscheduling.gang_object_of, group),
            _as_it_is,
            _keep,
            probe="phase",
        )
        for group in coscheduling.GROUPS
    ]
    kai_decoder = Decoder("PodGroup", KaiPodGroup)
    found.append(PodGroupKind(kai.API_VERSION, kai_decoder, kai.gang_object_of, _from_kai, _to_kai, probe="conditions"))
    for version in native.VERSIONS:
        read, write = partial(native.gang_object_of, version), partial(_to_native, version)
        decoder = Decoder("PodGroup", NativePodGroup)
        found.append(PodGroupKind(f"{native.GROUP}/{version}", decoder, read, _from_native, write, probe="conditions"))
    return found


KINDS = {kind.api_version: kind for kind in _kinds()}
