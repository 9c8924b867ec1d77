"""How many volumes of a driver a node attaches."""

import pytest

from koordpy.plan.filters.node_volume_limits import NodeVolumeLimits
from tests.builders import node
from tests.plan.asking import preemptible, reasons, refused
from tests.scheduler.volumes.asking import assumed, cluster_of, refusal
from tests.scheduler.volumes.objects import DRIVER, attachment, claim, csi_node, pod_with, storage_class, volume

REASON = "node(s) exceed max volume count"


def bound(name: str, handle: str = "", driver: str = DRIVER):
    """A claim and its CSI volume."""
    return claim(name, bound_to=f"pv-{name}"), volume(f"pv-{name}", claim=name, csi=handle or name, driver=driver)


def user(name: str, where: str = "n1"):
    """A pod on a node that uses a claim."""
    return pod_with(name, name=f"user-of-{name}", node=where)


def test_a_node_attaches_no_more_volumes_than_its_driver_allows():
    limits = csi_node("full", limit=1), csi_node("roomy", limit=2)
    there = *bound("a"), *bound("b"), user("a", "full"), user("b", "roomy")
    cluster = cluster_of(node("full"), node("roomy"), *limits, *there, *bound("new"))
    assert reasons(NodeVolumeLimits(), pod_with("new"), cluster) == {"full": [REASON]}


def test_all_new_volumes_of_a_pod_count():
    cluster = cluster_of(node(), csi_node(limit=1), *bound("a"), *bound("b"))
    assert refused(NodeVolumeLimits(), pod_with("a"), cluster) == set()
    assert refused(NodeVolumeLimits(), pod_with("a", "b"), cluster) == {"n1"}


def test_a_volume_that_several_pods_use_counts_once():
    cluster = cluster_of(node(), csi_node(limit=2), *bound("a"), *bound("b"), user("a"))
    cluster.upsert_pod(pod_with("a", name="another", node="n1"))
    assert refused(NodeVolumeLimits(), pod_with("b"), cluster) == set()


def test_two_claims_of_one_volume_count_once():
    cluster = cluster_of(node(), csi_node(limit=1), *bound("a", handle="v"), *bound("b", handle="v"), user("a"))
    assert refused(NodeVolumeLimits(), pod_with("b"), cluster) == set()


def test_a_volume_that_is_attached_already_costs_nothing():
    cluster = cluster_of(node(), csi_node(limit=1), *bound("a"), user("a"))
    assert refused(NodeVolumeLimits(), pod_with("a"), cluster) == set()


def test_a_volume_that_is_attached_already_costs_nothing_even_beyond_the_limit():
    """Such as after the limit was lowered: the pod adds nothing to what is there."""
    cluster = cluster_of(node(), csi_node(limit=1), *bound("a"), *bound("b"), user("a"), user("b"))
    assert refused(NodeVolumeLimits(), pod_with("a"), cluster) == set()


def test_an_attachment_that_outlives_its_pod_counts():
    cluster = cluster_of(node(), csi_node(limit=1), *bound("a"), *bound("b"), attachment("pv-a"))
    assert refused(NodeVolumeLimits(), pod_with("b"), cluster) == {"n1"}


def test_an_attachment_to_another_node_does_not_count():
    cluster = cluster_of(node(), csi_node(limit=1), *bound("a"), *bound("b"), attachment("pv-a", "elsewhere"))
    assert refused(NodeVolumeLimits(), pod_with("b"), cluster) == set()


def test_an_attachment_and_the_pod_that_it_is_for_count_once():
    there = *bound("a"), user("a"), attachment("pv-a")
    cluster = cluster_of(node(), csi_node(limit=2), *there, *bound("b"))
    assert refused(NodeVolumeLimits(), pod_with("b"), cluster) == set()


def test_each_driver_has_its_own_limit():
    cluster = cluster_of(node(), csi_node(limit=1), *bound("a"), *bound("b", driver="other.example.com"), user("a"))
    assert refused(NodeVolumeLimits(), pod_with("b"), cluster) == set()


def test_a_claim_that_is_not_bound_yet_will_have_a_volume_of_its_class():
    waiting = claim("w", storage_class="fast"), storage_class("fast", provisioner=DRIVER)
    cluster = cluster_of(node(), csi_node(limit=1), *bound("a"), user("a"), *waiting)
    assert refused(NodeVolumeLimits(), pod_with("w"), cluster) == {"n1"}


def test_the_claims_of_assumed_pods_count():
    classes = storage_class("fast", provisioner=DRIVER)
    cluster = cluster_of(
        node(), csi_node(limit=1), claim("a", storage_class="fast"), claim("b", storage_class="fast"), classes
    )
    assumed(cluster, pod_with("a"))
    assert refusal(cluster, pod_with("b", name="p2")) == f"1 {REASON}"


@pytest.mark.parametrize("silent", [[], [csi_node()], [csi_node(limit=0, driver="other.example.com")]])
def test_a_node_that_names_no_limit_has_none(silent):
    cluster = cluster_of(node(), *silent, *bound("a"), *bound("b"), user("a"))
    assert refused(NodeVolumeLimits(), pod_with("b"), cluster) == set()


def test_a_limit_of_none_means_none():
    assert refused(NodeVolumeLimits(), pod_with("a"), cluster_of(node(), csi_node(limit=0), *bound("a"))) == {"n1"}


def test_a_volume_of_no_driver_is_not_counted():
    local = claim("a", bound_to="pv-a"), volume("pv-a", claim="a")
    assert refused(NodeVolumeLimits(), pod_with("a"), cluster_of(node(), csi_node(limit=0), *local)) == set()


def test_evicting_a_pod_makes_room():
    cluster = cluster_of(node(), csi_node(limit=1), *bound("a"), *bound("b"), user("a"))
    assert preemptible(NodeVolumeLimits(), pod_with("b"), cluster) == {"n1"}
