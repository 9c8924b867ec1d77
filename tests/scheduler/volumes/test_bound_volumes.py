"""Bound volumes: where they can be reached from."""

from koordpy.plan.filters.volume_binding import VolumeBinding
from tests.builders import node
from tests.plan.asking import preemptible, reasons
from tests.plan.constraints import requirement
from tests.scheduler.volumes.asking import cluster_of, placed, refusal
from tests.scheduler.volumes.objects import claim, pod_with, volume

UNREACHABLE = "node(s) didn't match PersistentVolume's node affinity"
MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


def bound(name: str, **arguments):
    """A claim and its volume."""
    return claim(name, bound_to=f"pv-{name}"), volume(f"pv-{name}", claim=name, **arguments)


def test_a_bound_volume_keeps_the_pod_to_the_nodes_that_reach_it():
    cluster = cluster_of(node("near"), node("far"), *bound("data", nodes=["near"]))
    assert placed(cluster, pod_with("data")).node == "near"
    assert reasons(VolumeBinding(), pod_with("data"), cluster) == {"far": [UNREACHABLE]}


def test_a_bound_volume_without_node_affinity_is_reached_from_everywhere():
    cluster = cluster_of(node("a"), node("b"), *bound("data"))
    assert reasons(VolumeBinding(), pod_with("data"), cluster) == {}


def test_one_matching_term_is_enough_and_an_empty_one_matches_nothing():
    terms = [
        {"matchExpressions": [requirement("disk", "In", "ssd")]},
        {"matchExpressions": [requirement("rack", "Exists")]},
    ]
    nodes = node("a", labels={"disk": "ssd"}), node("b", labels={"rack": "1"}), node("c")
    affinity = {"required": {"nodeSelectorTerms": [*terms, {}]}}
    cluster = cluster_of(*nodes, *bound("data", nodeAffinity=affinity))
    assert reasons(VolumeBinding(), pod_with("data"), cluster) == {"c": [UNREACHABLE]}


def test_all_volumes_of_a_pod_must_be_reached():
    cluster = cluster_of(node("a"), node("b"), *bound("one", nodes=["a"]), *bound("two", nodes=["b"]))
    assert refusal(cluster, pod_with("one", "two")) == f"2 {UNREACHABLE}"


def test_a_relabelled_node_is_asked_again():
    cluster = cluster_of(node("a"), *bound("data", nodes=["b"]))
    assert refusal(cluster, pod_with("data")) == f"1 {UNREACHABLE}"
    cluster.upsert_node(node("a", labels={"kubernetes.io/hostname": "b"}))
    assert placed(cluster, pod_with("data")).node == "a"


def test_a_missing_volume_refuses_the_pod_by_its_name():
    """VolumeZone looks first, for every node at once."""
    cluster = cluster_of(node("a"), node("b"), claim(bound_to="pv1"))
    assert refusal(cluster, pod_with("data")) == 'persistentvolume "pv1" not found'


def test_a_missing_volume_of_an_ephemeral_claim_refuses_every_node():
    waiting = pod_with(ephemeral=["scratch"])
    cluster = cluster_of(node("a"), node("b"), claim("p1-scratch", bound_to="pv1", owner=waiting.metadata.uid))
    assert refusal(cluster, waiting) == f"2 {MISSING}"


def test_a_node_is_refused_for_the_first_volume_that_it_cannot_use():
    cluster = cluster_of(node("a"), node("b"), *bound("near", nodes=["a"]), claim("gone", bound_to="nowhere"))
    far_then_missing = reasons(VolumeBinding(), pod_with("near", "gone"), cluster)
    assert far_then_missing == {"a": [MISSING], "b": [UNREACHABLE]}
    missing_then_far = reasons(VolumeBinding(), pod_with("gone", "near"), cluster)
    assert missing_then_far == {"a": [MISSING], "b": [MISSING]}


def test_evicting_pods_brings_no_volume_nearer():
    cluster = cluster_of(node("far"), *bound("data", nodes=["near"]))
    assert preemptible(VolumeBinding(), pod_with("data"), cluster) == set()
