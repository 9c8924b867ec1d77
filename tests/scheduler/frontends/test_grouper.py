"""Where a grouper is installed, pods whose owner could be a gang wait until they are grouped."""

from __future__ import annotations

import pytest

from tests.scheduler.frontends.rig import FrontEndRig, of_kai


@pytest.fixture
def rig() -> FrontEndRig:
    rig = FrontEndRig()
    rig.node("n", cpu=8)
    return rig


def test_a_pod_of_an_owner_waits_to_be_grouped(rig: FrontEndRig):
    rig.grouper()
    rig.owned("j-1", "job", kind="PyTorchJob")
    rig.settle()
    assert rig.placed() == []
    assert rig.message("j-1") == "waiting to be grouped"


def test_a_pod_that_is_grouped_starts(rig: FrontEndRig):
    rig.grouper()
    rig.owned("j-1", "job", kind="PyTorchJob")
    rig.settle()
    rig.kai("pg", minMember=1)
    rig.owned("j-1", "job", kind="PyTorchJob", says=of_kai("pg"))
    rig.settle()
    assert rig.placed() == ["j-1"]


@pytest.mark.parametrize("kind", ["ReplicaSet", "DaemonSet"])
def test_pods_of_kinds_that_are_never_gangs_do_not_wait(rig: FrontEndRig, kind: str):
    rig.grouper()
    rig.owned("p", "owner", kind=kind)
    rig.member("bare")
    rig.settle()
    assert rig.placed() == ["bare", "p"]


def test_a_pod_that_opts_out_does_not_wait(rig: FrontEndRig):
    rig.grouper()
    rig.owned("p", "job", says={"kai.scheduler/skip-podgrouper": "true"})
    rig.settle()
    assert rig.placed() == ["p"]


def test_without_a_grouper_nobody_waits(rig: FrontEndRig):
    rig.owned("p", "job", kind="PyTorchJob")
    rig.settle()
    assert rig.placed() == ["p"]


def test_a_grouper_that_is_removed_releases_those_that_wait(rig: FrontEndRig):
    rig.grouper()
    rig.owned("p", "job")
    rig.settle()
    rig.no_grouper()
    rig.settle()
    assert rig.placed() == ["p"]


def test_a_grouper_that_comes_holds_back_those_that_are_pending(rig: FrontEndRig):
    rig.owned("p", "job", cpu=16)
    rig.settle()
    rig.grouper()
    rig.node("big", cpu=16)
    rig.settle()
    assert rig.placed() == []
    assert rig.message("p") == "waiting to be grouped"


def test_a_grouper_that_renews_no_more_is_said_to_be_down_since_then(rig: FrontEndRig):
    rig.grouper()
    rig.owned("p", "job")
    rig.settle()
    rig.hand_clock.now += 30
    rig.scheduler.time_out()
    rig.settle()
    assert rig.message("p") == (
        "waiting to be grouped; the grouper is down since 1970-01-01T00:16:40Z (koordpy controllers)"
    )
    assert rig.placed() == []


def test_a_grouper_that_gave_its_lease_up_is_down(rig: FrontEndRig):
    rig.grouper(holder="")
    rig.owned("p", "job")
    rig.settle()
    assert "the grouper is down since" in rig.message("p")


def test_one_held_pod_does_not_speak_for_others_of_its_shape(rig: FrontEndRig):
    rig.grouper()
    rig.owned("a-held", "job")
    rig.member("bare")
    rig.settle()
    assert rig.placed() == ["bare"]
