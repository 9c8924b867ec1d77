"""Volumes that cannot be shared: ReadWriteOncePod claims, and disks of the time before claims."""

import pytest

from koordpy.plan.filters.volume_restrictions import VolumeRestrictions
from tests.builders import node
from tests.plan.asking import preemptible, reasons, refused
from tests.scheduler.volumes.asking import assumed, cluster_of, refusal
from tests.scheduler.volumes.objects import claim, pod_with, volume

IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
NO_DISK = "node(s) had no available disk"


def alone():
    """A bound claim that one pod may use at a time."""
    return claim(bound_to="pv1", modes=["ReadWriteOncePod"]), volume(claim="data", modes=["ReadWriteOncePod"])


def test_a_claim_for_one_pod_has_one_pod_wherever_it_runs():
    cluster = cluster_of(node("a"), node("b"), *alone(), pod_with("data", name="first", node="a"))
    assert reasons(VolumeRestrictions(), pod_with("data"), cluster) == {"a": [IN_USE], "b": [IN_USE]}


def test_a_claim_for_one_pod_is_in_use_from_the_moment_a_pod_is_assumed():
    cluster = cluster_of(node(), *alone())
    assumed(cluster, pod_with("data", name="first"))
    assert refusal(cluster, pod_with("data")) == f"1 {IN_USE}"


def test_a_claim_for_one_pod_is_free_again_when_the_pod_has_left():
    cluster = cluster_of(node(), *alone())
    first = pod_with("data", name="first", node="n1")
    cluster.upsert_pod(first)
    cluster.remove_pod(first.metadata.uid)
    assert refused(VolumeRestrictions(), pod_with("data"), cluster) == set()


def test_a_claim_of_the_same_name_in_another_namespace_is_another_claim():
    stranger = pod_with("data", name="stranger", namespace="other", node="n1")
    assert refused(VolumeRestrictions(), pod_with("data"), cluster_of(node(), *alone(), stranger)) == set()


def test_the_two_members_of_a_job_cannot_both_have_it():
    assert refusal(cluster_of(node(), *alone()), pod_with("data"), pod_with("data", name="p2")) == f"1 {IN_USE}"


def test_a_claim_for_one_node_has_any_number_of_pods_as_far_as_we_go():
    shared = claim(bound_to="pv1", modes=["ReadWriteOnce"]), volume(claim="data")
    cluster = cluster_of(node(), *shared, pod_with("data", name="first", node="n1"))
    assert refused(VolumeRestrictions(), pod_with("data"), cluster) == set()


def gce(name: str, **more):
    return {"gcePersistentDisk": {"pdName": name, **more}}


def ebs(name: str, **more):
    return {"awsElasticBlockStore": {"volumeID": name, **more}}


def iscsi(name: str, **more):
    return {"iscsi": {"iqn": name, "targetPortal": "10.0.0.1", "lun": 0, **more}}


def rbd(name: str, monitors=("m1", "m2"), **more):
    return {"rbd": {"image": name, "monitors": list(monitors), **more}}


READ = {"readOnly": True}
COLLIDE = {
    "the same GCE disk": (gce("d"), gce("d")),
    "a GCE disk that one of them writes": (gce("d"), gce("d", **READ)),
    "an EBS volume, even read": (ebs("d", **READ), ebs("d", **READ)),
    "an iSCSI disk": (iscsi("d"), iscsi("d", **READ)),
    "an RBD image with a common monitor": (rbd("d"), rbd("d", ["m2", "m3"], **READ)),
    "an RBD image of the default pool, named or not": (rbd("d"), rbd("d", pool="rbd")),
}
AGREE = {
    "GCE disks that both only read": (gce("d", **READ), gce("d", **READ)),
    "different GCE disks": (gce("d"), gce("e")),
    "different EBS volumes": (ebs("d"), ebs("e")),
    "iSCSI disks that both only read": (iscsi("d", **READ), iscsi("d", **READ)),
    "different iSCSI disks": (iscsi("d"), iscsi("e")),
    "RBD images that both only read": (rbd("d", **READ), rbd("d", **READ)),
    "RBD images without a common monitor": (rbd("d", ["m1"]), rbd("d", ["m2"])),
    "RBD images of different pools": (rbd("d"), rbd("d", pool="other")),
    "RBD images of different names": (rbd("d"), rbd("e")),
    "disks of different kinds": (gce("d"), ebs("d")),
}


@pytest.mark.parametrize(("there", "wanted"), COLLIDE.values(), ids=COLLIDE)
def test_two_pods_on_a_node_collide_over(there, wanted):
    cluster = cluster_of(node("taken"), node("free"), pod_with(name="first", node="taken", disks=[there]))
    assert reasons(VolumeRestrictions(), pod_with(disks=[wanted]), cluster) == {"taken": [NO_DISK]}


@pytest.mark.parametrize(("there", "wanted"), AGREE.values(), ids=AGREE)
def test_two_pods_on_a_node_get_along_with(there, wanted):
    cluster = cluster_of(node(), pod_with(name="first", node="n1", disks=[there]))
    assert refused(VolumeRestrictions(), pod_with(disks=[wanted]), cluster) == set()


def test_any_disk_of_any_pod_can_collide():
    there = pod_with(name="first", node="n1", disks=[gce("x"), ebs("d")])
    cluster = cluster_of(node(), there)
    assert refused(VolumeRestrictions(), pod_with(disks=[gce("y"), ebs("d")]), cluster) == {"n1"}


def test_evicting_whoever_has_it_helps():
    disk = cluster_of(node(), pod_with(name="first", node="n1", disks=[gce("d")]))
    assert preemptible(VolumeRestrictions(), pod_with(disks=[gce("d")]), disk) == {"n1"}
    cluster = cluster_of(node(), *alone(), pod_with("data", name="first", node="n1"))
    assert preemptible(VolumeRestrictions(), pod_with("data"), cluster) == {"n1"}
