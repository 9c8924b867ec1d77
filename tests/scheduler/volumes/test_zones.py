"""Bound volumes that are labelled with zones and regions."""

import pytest

from koordpy.plan.filters.volume_zone import VolumeZone
from tests.builders import node
from tests.plan.asking import preemptible, reasons, refused
from tests.scheduler.volumes.asking import cluster_of, refusal
from tests.scheduler.volumes.objects import claim, pod_with, storage_class, volume

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
OLD_ZONE, OLD_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
REASON = "node(s) had no available volume zone"


def zoned(*nodes, **labels):
    """A picture of nodes and of a bound volume with these labels."""
    return cluster_of(*nodes, claim(bound_to="pv1"), volume(claim="data", labels=labels))


def test_a_zoned_volume_is_used_from_its_zone():
    cluster = zoned(node("in-a", labels={ZONE: "a"}), node("in-b", labels={ZONE: "b"}), **{ZONE: "a"})
    assert reasons(VolumeZone(), pod_with("data"), cluster) == {"in-b": [REASON]}


def test_a_volume_may_be_in_several_zones():
    nodes = [node(f"in-{zone}", labels={ZONE: zone}) for zone in "abc"]
    assert refused(VolumeZone(), pod_with("data"), zoned(*nodes, **{ZONE: "a__c"})) == {"in-b"}


def test_region_and_zone_must_both_be_right():
    nodes = [node(f"{region}{zone}", labels={REGION: region, ZONE: zone}) for region, zone in ("ea", "eb", "wa")]
    assert refused(VolumeZone(), pod_with("data"), zoned(*nodes, **{REGION: "e", ZONE: "a"})) == {"eb", "wa"}


@pytest.mark.parametrize(("old", "today"), [(OLD_ZONE, ZONE), (OLD_REGION, REGION)])
def test_an_old_label_on_a_volume_is_met_by_the_label_of_today_on_a_node(old, today):
    nodes = node("right", labels={today: "a"}), node("wrong", labels={today: "b"}), node("old", labels={old: "a"})
    assert refused(VolumeZone(), pod_with("data"), zoned(*nodes, **{old: "a"})) == {"wrong"}


def test_an_old_label_on_a_node_goes_before_the_one_of_today():
    both = node(labels={OLD_ZONE: "b", ZONE: "a"})
    assert refused(VolumeZone(), pod_with("data"), zoned(both, **{OLD_ZONE: "a"})) == {"n1"}


def test_a_label_of_today_on_a_volume_is_not_met_by_an_old_one_on_a_node():
    assert refused(VolumeZone(), pod_with("data"), zoned(node(labels={OLD_ZONE: "a"}), **{ZONE: "a"})) == {"n1"}


def test_a_node_without_any_zone_or_region_is_not_asked():
    assert refused(VolumeZone(), pod_with("data"), zoned(node(), **{ZONE: "a"})) == set()


def test_a_node_with_a_region_only_is_asked_for_its_zone():
    assert refused(VolumeZone(), pod_with("data"), zoned(node(labels={REGION: "e"}), **{ZONE: "a"})) == {"n1"}


@pytest.mark.parametrize("unreadable", ["", "a__", "__"])
def test_a_label_that_lists_no_zone_or_an_empty_one_says_nothing(unreadable):
    cluster = zoned(node(labels={ZONE: "b"}), **{ZONE: unreadable})
    assert refused(VolumeZone(), pod_with("data"), cluster) == set()


def test_a_volume_that_is_not_bound_yet_has_no_zone():
    labelled = volume(labels={ZONE: "a"})
    cluster = cluster_of(node(labels={ZONE: "b"}), claim(), storage_class(), labelled)
    assert refused(VolumeZone(), pod_with("data"), cluster) == set()


def test_the_whole_plan_says_so_too():
    assert refusal(zoned(node(labels={ZONE: "b"}), **{ZONE: "a"}), pod_with("data")) == f"1 {REASON}"


def test_evicting_pods_moves_no_zone():
    cluster = zoned(node(labels={ZONE: "b"}), **{ZONE: "a"})
    assert preemptible(VolumeZone(), pod_with("data"), cluster) == set()
