"""Claims for which a volume is made where the pod goes."""

import pytest

from koordpy.api.storage import CSIStorageCapacity, StorageClass
from koordpy.plan.filters.volume_binding import VolumeBinding
from tests.builders import node, typed
from tests.plan.asking import reasons
from tests.scheduler.volumes.asking import chosen, cluster_of, placed, refusal
from tests.scheduler.volumes.objects import (
    DRIVER,
    capacity,
    capacity_json,
    claim,
    csi_driver,
    pod_with,
    storage_class,
    storage_class_json,
    volume,
)

NO_EVENT = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
ZONE = "topology.kubernetes.io/zone"


def fast(**arguments):
    """A class that makes volumes."""
    return storage_class("fast", provisioner=DRIVER, **arguments)


def wanted(name: str = "data", **arguments):
    return claim(name, storage_class="fast", **arguments)


def test_a_claim_without_a_volume_is_provisioned():
    cluster = cluster_of(node(), wanted(), fast())
    assert chosen(cluster, pod_with("data")) == {"data": ""}


def test_a_volume_that_exists_is_preferred_to_a_new_one():
    cluster = cluster_of(node(), wanted(), fast(), volume(storage_class="fast"))
    assert chosen(cluster, pod_with("data")) == {"data": "pv1"}


def test_one_claim_may_be_provisioned_and_another_find_a_volume():
    cluster = cluster_of(node(), wanted("a", size="1Gi"), wanted("b", size="2Gi"), fast(), volume(storage_class="fast"))
    assert chosen(cluster, pod_with("a", "b")) == {"a": "pv1", "b": ""}


@pytest.mark.parametrize("provisioner", ["kubernetes.io/no-provisioner", ""])
def test_a_class_without_provisioner_makes_nothing(provisioner):
    cluster = cluster_of(node(), wanted(), storage_class("fast", provisioner=provisioner))
    assert refusal(cluster, pod_with("data")) == f"1 {NO_EVENT}"


def test_volumes_are_made_only_in_the_topologies_that_the_class_allows():
    nodes = [node(f"in-{zone}", labels={ZONE: zone}) for zone in "abc"] + [node("nowhere")]
    cluster = cluster_of(*nodes, wanted(), fast(zones=["a", "c"]))
    assert set(reasons(VolumeBinding(), pod_with("data"), cluster)) == {"in-b", "nowhere"}


def test_any_of_the_allowed_topologies_is_enough_and_each_holds_as_a_whole():
    both = {"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}, {"key": "disk", "values": ["ssd"]}]}
    one = {"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}
    limited = _with_topologies(both, one, {})
    labels = {"both": {ZONE: "a", "disk": "ssd"}, "half": {ZONE: "a"}, "other": {ZONE: "b"}}
    cluster = cluster_of(*(node(name, labels=of) for name, of in labels.items()), wanted(), limited)
    assert reasons(VolumeBinding(), pod_with("data"), cluster) == {"half": [NO_EVENT]}


def _with_topologies(*terms):
    return typed(storage_class_json("fast", provisioner=DRIVER) | {"allowedTopologies": list(terms)}, StorageClass)


# --- room that the driver reports ---


def test_a_driver_that_reports_its_room_must_have_enough():
    reports = capacity("much", capacity="9Gi", nodes=["a"]), capacity("little", capacity="1Gi", nodes=["b"])
    cluster = cluster_of(node("a"), node("b"), node("c"), wanted(size="2Gi"), fast(), csi_driver(), *reports)
    assert reasons(VolumeBinding(), pod_with("data"), cluster) == {"b": [NO_SPACE], "c": [NO_SPACE]}


def test_exactly_enough_room_is_enough():
    cluster = cluster_of(node(), wanted(size="2Gi"), fast(), csi_driver(), capacity(capacity="2Gi"))
    assert placed(cluster, pod_with("data")).node == "n1"


def test_the_largest_single_volume_counts_before_all_that_is_left():
    small = capacity(capacity="100Gi", largest="1Gi")
    cluster = cluster_of(node(), wanted(size="2Gi"), fast(), csi_driver(), small)
    assert refusal(cluster, pod_with("data")) == f"1 {NO_SPACE}"


@pytest.mark.parametrize(
    "report",
    [capacity(), capacity(capacity="9Gi", storage_class="slow")],
    ids=["that says nothing", "of another class"],
)
def test_a_report_does_not_count(report):
    cluster = cluster_of(node(), wanted(), fast(), csi_driver(), report)
    assert refusal(cluster, pod_with("data")) == f"1 {NO_SPACE}"


def test_a_report_without_topology_is_for_no_node():
    nowhere = capacity_json(capacity="9Gi")
    del nowhere["nodeTopology"]
    cluster = cluster_of(node(), wanted(), fast(), csi_driver(), typed(nowhere, CSIStorageCapacity))
    assert refusal(cluster, pod_with("data")) == f"1 {NO_SPACE}"


@pytest.mark.parametrize(
    "driver",
    [csi_driver(tracks_capacity=False), csi_driver("another.example.com")],
    ids=["that does not report", "that is unknown"],
)
def test_room_is_not_asked_of_a_driver(driver):
    cluster = cluster_of(node(), wanted(), fast(), driver)
    assert chosen(cluster, pod_with("data")) == {"data": ""}


def test_room_is_not_asked_for_a_volume_that_exists():
    cluster = cluster_of(node(), wanted(), fast(), csi_driver(), volume(storage_class="fast"))
    assert chosen(cluster, pod_with("data")) == {"data": "pv1"}


def test_a_node_is_refused_for_the_first_claim_that_cannot_be_provisioned():
    small, large = wanted("small", size="1Gi"), claim("large", size="2Gi", storage_class="none")
    classes = fast(), storage_class("none")
    cluster = cluster_of(node(), small, large, *classes, csi_driver())
    assert reasons(VolumeBinding(), pod_with("large", "small"), cluster) == {"n1": [NO_SPACE]}


# --- a node that was selected ---


def test_a_claim_that_is_being_provisioned_keeps_the_pod_to_the_selected_node():
    cluster = cluster_of(node("a"), node("b"), wanted(selected_node="b"), fast())
    assert placed(cluster, pod_with("data")).node == "b"
    assert reasons(VolumeBinding(), pod_with("data"), cluster) == {"a": [NO_EVENT]}


def test_a_claim_that_is_being_provisioned_is_given_no_other_volume():
    cluster = cluster_of(node(), wanted(selected_node="n1"), fast(), volume(storage_class="fast"))
    assert chosen(cluster, pod_with("data")) == {"data": ""}


def test_a_selected_node_that_has_left_refuses_all_others():
    cluster = cluster_of(node("a"), wanted(selected_node="gone"), fast())
    assert refusal(cluster, pod_with("data")) == f"1 {NO_EVENT}"


def test_a_node_that_was_not_selected_is_refused_for_nothing_else():
    cluster = cluster_of(node(), wanted("a", selected_node="other", size="9Gi"), wanted("b"), fast(), csi_driver())
    assert reasons(VolumeBinding(), pod_with("b", "a"), cluster) == {"n1": [NO_EVENT]}
