"""Gangs by PodGroups of Kubernetes itself."""

from __future__ import annotations

import pytest

from tests.scheduler.frontends.rig import FrontEndRig, of_kai


def rig_with(cpu: int) -> FrontEndRig:
    rig = FrontEndRig()
    rig.node("n", cpu=cpu)
    return rig


@pytest.mark.parametrize("version", ["v1alpha2", "v1beta1"])
def test_as_many_as_min_count_start_together(version: str):
    rig = rig_with(cpu=1)
    rig.native("a", 2, version=version)
    rig.native_member("a-1", "a")
    rig.native_member("a-2", "a")
    rig.settle()
    assert rig.placed() == []
    rig.node("more", cpu=1)
    rig.settle()
    assert rig.placed() == ["a-1", "a-2"]


def test_the_basic_policy_starts_what_fits():
    rig = rig_with(cpu=1)
    rig.native("a")
    rig.native_member("a-1", "a")
    rig.native_member("a-2", "a")
    rig.settle()
    assert len(rig.placed()) == 1


def test_pods_of_other_priorities_than_their_group_are_refused_as_a_whole():
    rig = rig_with(cpu=8)
    rig.native("a", 2, priority=5)
    rig.native_member("a-1", "a", priority=5)
    rig.native_member("a-2", "a", priority=6)
    rig.settle()
    assert rig.placed() == []
    assert rig.message("a-1") == (
        "all pods in a single pod group should have the same priority as the pod group's priority, got 6 and 5"
    )


def test_pods_of_a_group_whose_api_server_knows_no_priorities_may_have_one():
    rig = rig_with(cpu=8)
    rig.native("a", 2)
    rig.native_member("a-1", "a", priority=5)
    rig.native_member("a-2", "a", priority=5)
    rig.settle()
    assert rig.placed() == ["a-1", "a-2"]


def test_pods_of_different_schedulers_are_refused_as_a_whole():
    rig = rig_with(cpu=8)
    rig.native("a", 1)
    rig.native_member("a-1", "a")
    rig.native_member("a-2", "a", scheduler="other")
    rig.settle()
    assert rig.placed() == []
    assert rig.message("a-1") == (
        "all pods in a single pod group should have the same .spec.schedulerName set, "
        'got: "koord-scheduler" and "other"'
    )


@pytest.mark.parametrize(
    ("said", "mode"), [("Pod", "Single"), ("PodGroup", "All"), ({"single": {}}, "Single"), ({"all": {}}, "All")]
)
def test_the_disruption_mode_of_both_versions_is_read(said: object, mode: str):
    rig = rig_with(cpu=1)
    rig.native("a", 1, disruptionMode=said)
    assert rig.cluster.gangs.get("default/a@native").spec.disruption == mode


def test_a_group_of_kubernetes_comes_before_one_of_kai():
    rig = rig_with(cpu=8)
    rig.native("a", 1)
    rig.kai("b", minMember=2)
    rig.native_member("p", "a", says=of_kai("b"))
    rig.settle()
    assert rig.placed() == ["p"]
