"""How the status of a gang is written into the PodGroups of KAI and of Kubernetes itself."""

from __future__ import annotations

from typing import Any

import pytest

from koordpy.api.meta import ObjectMeta, StatusCondition
from koordpy.api.podgroup.coscheduling import PodGroupStatus
from koordpy.api.podgroup.kai import KaiPodGroup, KaiPodGroupStatus
from koordpy.api.podgroup.native import NativePodGroup, NativePodGroupStatus
from koordpy.controllers.podgroup.kinds import KINDS

META = ObjectMeta("a", namespace="team", uid="u", generation=1)
V1ALPHA2, V1BETA1 = KINDS["scheduling.k8s.io/v1alpha2"], KINDS["scheduling.k8s.io/v1beta1"]
KAI = KINDS["scheduling.run.ai/v2alpha2"]


def status(value: str, reason: str, message: str, **counts: Any) -> PodGroupStatus:
    condition = StatusCondition(type="Scheduled", status=value, reason=reason, message=message)
    return PodGroupStatus(conditions=(condition,), **counts)


WAITING = status("False", "Unschedulable", "0/1 nodes are available: 1 Insufficient cpu.")
STARTED = status("True", "Scheduled", "as many members as it needs have a node")


def native(derived: PodGroupStatus, *before: StatusCondition, kind: Any = V1ALPHA2) -> tuple[StatusCondition, ...]:
    pod_group = NativePodGroup(META, status=NativePodGroupStatus(before))
    return kind.own_form(derived, 0, pod_group).conditions


@pytest.mark.parametrize(("kind", "name"), [(V1ALPHA2, "PodGroupScheduled"), (V1BETA1, "PodGroupInitiallyScheduled")])
def test_each_version_of_kubernetes_has_its_own_name_for_the_condition(kind, name):
    (condition,) = native(WAITING, kind=kind)
    assert (condition.type, condition.status, condition.reason) == (name, "False", "Unschedulable")


def test_a_gang_that_has_started_says_so():
    (condition,) = native(STARTED, *native(WAITING))
    assert (condition.status, condition.reason) == ("True", "Scheduled")


def test_a_gang_of_kubernetes_that_was_scheduled_stays_so():
    assert native(WAITING, *native(STARTED)) == native(STARTED)


@pytest.mark.parametrize("reason", ["NoPods", "Terminating"])
def test_nothing_is_said_of_a_gang_of_kubernetes_that_has_no_pods_to_schedule(reason):
    assert native(status("False", reason, "nobody is there")) == ()


def test_pods_that_disagree_are_an_error_of_the_scheduler():
    (condition,) = native(status("False", "SchedulerError", "all pods should have the same priority"))
    assert condition.reason == "SchedulerError"


def kai(derived: PodGroupStatus, before: KaiPodGroupStatus | None = None, pending: int = 0) -> Any:
    return KAI.own_form(derived, pending, KaiPodGroup(META, status=before or KaiPodGroupStatus()))


def test_a_gang_of_kai_has_counts_and_a_phase():
    found = kai(status("True", "Scheduled", "", phase="Running", running=2, succeeded=1, failed=3), pending=4)
    assert (found.phase, found.running, found.succeeded, found.failed, found.pending) == ("Running", 2, 1, 3, 4)


def test_a_gang_of_kai_without_nodes_says_why_in_kais_form_and_counts_what_it_says():
    first = kai(WAITING)
    (condition,) = first.scheduling_conditions
    assert (condition.type, condition.reason, condition.transition_id) == (
        "UnschedulableOnNodePool",
        "Unschedulable",
        "1",
    )
    assert kai(WAITING, first).scheduling_conditions == (condition,)
    (other,) = kai(status("False", "Unschedulable", "another reason"), first).scheduling_conditions
    assert other.transition_id == "2"


def test_kais_form_of_the_reason_goes_when_the_gang_has_nodes():
    assert kai(STARTED, kai(WAITING)).scheduling_conditions == ()
