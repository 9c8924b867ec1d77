"""Disks named as before CSI: they count for the drivers that have taken over, and are reached by those' labels."""

from typing import Any

import pytest

from koordpy.api.storage import PersistentVolume
from koordpy.plan.filters.node_volume_limits import NodeVolumeLimits
from koordpy.plan.filters.volume_binding import VolumeBinding
from koordpy.plan.filters.volume_restrictions import VolumeRestrictions
from tests.builders import node, typed
from tests.plan.asking import reasons, refused
from tests.plan.constraints import requirement
from tests.scheduler.volumes.asking import assumed, chosen, cluster_of, placed, refusal
from tests.scheduler.volumes.objects import claim, csi_node, csi_node_json, pod_with, storage_class, volume, volume_json

FULL = "node(s) exceed max volume count"
UNREACHABLE = "node(s) didn't match PersistentVolume's node affinity"
ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
REGION, BETA_REGION = "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"
EBS_DRIVER, GCE_DRIVER = "ebs.csi.aws.com", "pd.csi.storage.gke.io"
EBS_ZONE = "topology.ebs.csi.aws.com/zone"


def ebs(name: str) -> dict[str, Any]:
    return {"awsElasticBlockStore": {"volumeID": name}}


def gce(name: str) -> dict[str, Any]:
    return {"gcePersistentDisk": {"pdName": name}}


def azure(name: str, kind: str = "Managed") -> dict[str, Any]:
    return {"azureDisk": {"diskName": name, "diskURI": f"/disks/{name}", "kind": kind}}


def cinder(name: str) -> dict[str, Any]:
    return {"cinder": {"volumeID": name}}


def portworx(name: str) -> dict[str, Any]:
    return {"portworxVolume": {"volumeID": name}}


DISKS = {
    EBS_DRIVER: ebs,
    GCE_DRIVER: gce,
    "disk.csi.azure.com": azure,
    "cinder.csi.openstack.org": cinder,
    "pxd.portworx.com": portworx,
}
BY_DRIVER = pytest.mark.parametrize(("driver", "disk"), DISKS.items())


def bound(name: str, source: dict[str, Any], **arguments: Any):
    """A claim and its volume, which is an in-tree disk."""
    body = volume_json(f"pv-{name}", claim=name, **arguments)
    del body["spec"]["local"]
    body["spec"] |= source
    return claim(name, bound_to=f"pv-{name}"), typed(body, PersistentVolume)


def with_disk(*disks: dict[str, Any], **arguments: Any):
    """A pod that names disks itself."""
    return pod_with(disks=disks, **arguments)


# --- limits ---


@BY_DRIVER
def test_an_in_tree_volume_counts_for_the_driver_that_has_taken_over(driver, disk):
    cluster = cluster_of(node(), csi_node(limit=1, driver=driver), *bound("a", disk("1")), *bound("b", disk("2")))
    cluster.upsert_pod(pod_with("a", name="there", node="n1"))
    assert reasons(NodeVolumeLimits(), pod_with("b"), cluster) == {"n1": [FULL]}
    assert refused(NodeVolumeLimits(), pod_with("a"), cluster) == set()


@BY_DRIVER
def test_a_disk_in_the_pod_itself_counts_for_the_driver_that_has_taken_over(driver, disk):
    there = with_disk(disk("1"), name="there", node="n1")
    cluster = cluster_of(node(), csi_node(limit=1, driver=driver), there)
    assert reasons(NodeVolumeLimits(), with_disk(disk("2")), cluster) == {"n1": [FULL]}
    assert refused(NodeVolumeLimits(), with_disk(disk("1")), cluster) == set()


def test_a_disk_in_a_pod_and_the_volume_of_a_claim_share_a_limit():
    there = with_disk(ebs("vol-1"), name="there", node="n1")
    volumes = *bound("same", ebs("vol-1")), *bound("other", ebs("vol-2"))
    cluster = cluster_of(node(), csi_node(limit=1, driver=EBS_DRIVER), there, *volumes)
    assert refused(NodeVolumeLimits(), pod_with("same"), cluster) == set()
    assert refused(NodeVolumeLimits(), pod_with("other"), cluster) == {"n1"}


def test_an_in_tree_volume_and_a_csi_volume_of_the_same_handle_are_one():
    modern = claim("new", bound_to="pv"), volume("pv", claim="new", csi="vol-1", driver=EBS_DRIVER)
    cluster = cluster_of(node(), csi_node(limit=1, driver=EBS_DRIVER), *modern, *bound("old", ebs("aws://z/vol-1")))
    cluster.upsert_pod(pod_with("new", name="there", node="n1"))
    assert refused(NodeVolumeLimits(), pod_with("old"), cluster) == set()


def test_a_disk_counts_from_the_moment_its_pod_is_assumed_until_the_pod_is_gone():
    cluster = cluster_of(node(), csi_node(limit=1, driver=EBS_DRIVER))
    first = assumed(cluster, with_disk(ebs("vol-1"), name="first"))
    assert refusal(cluster, with_disk(ebs("vol-2"))) == f"1 {FULL}"
    cluster.remove_pod(first.uid)
    assert refused(NodeVolumeLimits(), with_disk(ebs("vol-2")), cluster) == set()


def test_what_is_to_be_made_by_an_in_tree_class_counts_for_the_driver():
    waiting = claim("w", storage_class="old"), storage_class("old", provisioner="kubernetes.io/aws-ebs")
    cluster = cluster_of(node(), csi_node(limit=0, driver=EBS_DRIVER), *waiting)
    assert refused(NodeVolumeLimits(), pod_with("w"), cluster) == {"n1"}


@pytest.mark.parametrize("url", ["aws:///vol-1", "aws://us-east-1a/vol-1"])
def test_an_ebs_volume_named_by_a_url_is_the_one_named_without(url):
    there = with_disk(ebs("vol-1"), name="there", node="n1")
    cluster = cluster_of(node(), csi_node(limit=1, driver=EBS_DRIVER), there)
    assert refused(NodeVolumeLimits(), with_disk(ebs(url)), cluster) == set()
    assert refused(NodeVolumeLimits(), with_disk(ebs(url.replace("vol-1", "vol-2"))), cluster) == {"n1"}


@pytest.mark.parametrize(
    ("driver", "unknown"), [(EBS_DRIVER, ebs("aws://zone/disk-1")), ("disk.csi.azure.com", azure("d", "Dedicated"))]
)
def test_a_disk_that_its_driver_cannot_have_is_not_counted(driver, unknown):
    cluster = cluster_of(node(), csi_node(limit=0, driver=driver), *bound("a", unknown))
    assert refused(NodeVolumeLimits(), pod_with("a"), cluster) == set()


@pytest.mark.parametrize(
    ("labels", "handle"),
    [
        ({}, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"),
        ({ZONE: "europe-west4-a"}, "projects/UNSPECIFIED/zones/europe-west4-a/disks/d"),
        ({ZONE: "x-y-z", BETA_ZONE: "europe-west4-a"}, "projects/UNSPECIFIED/zones/europe-west4-a/disks/d"),
        ({ZONE: "europe-west4-a__europe-west4-b"}, "projects/UNSPECIFIED/regions/europe-west4/disks/d"),
    ],
)
def test_a_gce_disk_is_known_by_its_zone_or_region(labels, handle):
    modern = claim("new", bound_to="pv"), volume("pv", claim="new", csi=handle, driver=GCE_DRIVER)
    cluster = cluster_of(node(), csi_node(limit=1, driver=GCE_DRIVER), *modern, *bound("old", gce("d"), labels=labels))
    cluster.upsert_pod(pod_with("new", name="there", node="n1"))
    assert refused(NodeVolumeLimits(), pod_with("old"), cluster) == set()


@pytest.mark.parametrize("zones", ["europe-west4-a__us-east1-b", "here__there", "europe-west4-a__there"])
def test_a_gce_disk_in_zones_of_no_one_region_is_not_counted(zones):
    cluster = cluster_of(node(), csi_node(limit=0, driver=GCE_DRIVER), *bound("a", gce("d"), labels={ZONE: zones}))
    assert refused(NodeVolumeLimits(), pod_with("a"), cluster) == set()


def test_disks_that_only_count_for_a_limit_can_be_shared():
    cluster = cluster_of(node(), with_disk(cinder("d"), name="there", node="n1"))
    assert refused(VolumeRestrictions(), with_disk(cinder("d")), cluster) == set()


# --- where volumes are reached from ---


def migrated(name: str, plugins: str = "kubernetes.io/cinder,kubernetes.io/aws-ebs"):
    """A node that leaves these in-tree plugins to their drivers."""
    body = csi_node_json(name, driver=EBS_DRIVER)
    body["metadata"]["annotations"] = {"storage.alpha.kubernetes.io/migrated-plugins": plugins}
    return typed(body, type(csi_node()))


def in_zone(key: str, *values: str) -> dict[str, Any]:
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [requirement(key, "In", *values)]}]}}


def two_nodes():
    """Both are in zone a for Kubernetes; for the driver, only `known` is."""
    return node("known", labels={ZONE: "a", EBS_ZONE: "a"}), node("unknown", labels={ZONE: "a"})


@pytest.mark.parametrize("key", [ZONE, BETA_ZONE])
def test_on_a_node_that_has_migrated_the_zone_is_that_of_the_driver(key):
    volumes = bound("data", ebs("vol-1"), nodeAffinity=in_zone(key, "a"))
    cluster = cluster_of(*two_nodes(), *volumes, migrated("known"), migrated("unknown"))
    assert reasons(VolumeBinding(), pod_with("data"), cluster) == {"unknown": [UNREACHABLE]}
    assert placed(cluster, pod_with("data")).node == "known"


@pytest.mark.parametrize("told", [[], [csi_node("unknown")], [migrated("unknown", "kubernetes.io/gce-pd")]])
def test_on_a_node_that_has_not_migrated_the_plugin_the_zone_is_that_of_kubernetes(told):
    volumes = bound("data", ebs("vol-1"), nodeAffinity=in_zone(ZONE, "a"))
    cluster = cluster_of(*two_nodes(), *volumes, migrated("known"), *told)
    assert reasons(VolumeBinding(), pod_with("data"), cluster) == {}


def test_a_node_that_migrates_later_is_asked_again():
    volumes = bound("data", ebs("vol-1"), nodeAffinity=in_zone(ZONE, "a"))
    cluster = cluster_of(two_nodes()[1], *volumes)
    assert placed(cluster, pod_with("data")).node == "unknown"
    cluster.storage.csi_nodes["unknown"] = migrated("unknown")
    cluster.storage.changed()
    assert refusal(cluster, pod_with("data", name="p2")) == f"1 {UNREACHABLE}"


@pytest.mark.parametrize("labels", [{ZONE: "a__b"}, {BETA_ZONE: "a__b"}, {ZONE: "a", BETA_ZONE: "c"}])
def test_a_volume_that_names_its_zone_in_a_label_only_is_kept_to_it(labels):
    cluster = cluster_of(*two_nodes(), migrated("known"), migrated("unknown"), *bound("data", ebs("v"), labels=labels))
    assert reasons(VolumeBinding(), pod_with("data"), cluster) == {"unknown": [UNREACHABLE]}


def test_the_zone_of_the_affinity_counts_more_than_that_of_the_label():
    volumes = bound("data", ebs("vol-1"), nodeAffinity=in_zone(ZONE, "a"), labels={ZONE: "b"})
    cluster = cluster_of(two_nodes()[0], migrated("known"), *volumes)
    assert reasons(VolumeBinding(), pod_with("data"), cluster) == {}


def test_what_else_the_affinity_asks_for_stays():
    terms = {"matchExpressions": [requirement(ZONE, "In", "a"), requirement("disk", "Exists")]}
    volumes = bound("data", ebs("vol-1"), nodeAffinity={"required": {"nodeSelectorTerms": [terms]}})
    cluster = cluster_of(two_nodes()[0], migrated("known"), *volumes)
    assert reasons(VolumeBinding(), pod_with("data"), cluster) == {"known": [UNREACHABLE]}


def test_an_old_region_is_asked_for_by_its_name_of_today():
    terms = {"matchExpressions": [requirement(BETA_ZONE, "In", "a"), requirement(BETA_REGION, "In", "r")]}
    volumes = bound("data", ebs("vol-1"), nodeAffinity={"required": {"nodeSelectorTerms": [terms]}})
    today = node("n1", labels={EBS_ZONE: "a", REGION: "r"})
    cluster = cluster_of(today, migrated("n1"), *volumes)
    assert reasons(VolumeBinding(), pod_with("data"), cluster) == {}


def test_a_volume_that_is_not_bound_yet_is_chosen_by_what_it_says():
    """As in kube-scheduler: the node may turn out not to reach it when it is bound."""
    either = [{"matchExpressions": [requirement(ZONE, "In", zone)]} for zone in ("a", "b")]
    free = volume_json("pv1", nodeAffinity={"required": {"nodeSelectorTerms": either}})
    free["spec"] |= ebs("vol-1")
    waiting = claim("data"), storage_class(), typed(free, PersistentVolume)
    cluster = cluster_of(two_nodes()[1], migrated("unknown"), *waiting)
    assert chosen(cluster, pod_with("data")) == {"data": "pv1"}


def test_the_volumes_of_azure_and_portworx_are_reached_as_they_say():
    plugins = migrated("unknown", "kubernetes.io/azure-disk,kubernetes.io/portworx-volume")
    volumes = (
        *bound("a", azure("d"), nodeAffinity=in_zone(ZONE, "a")),
        *bound("p", portworx("d"), nodeAffinity=in_zone(ZONE, "a")),
    )
    cluster = cluster_of(two_nodes()[1], plugins, *volumes)
    assert reasons(VolumeBinding(), pod_with("a", "p"), cluster) == {}
