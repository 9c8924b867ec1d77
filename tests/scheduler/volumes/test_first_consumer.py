"""Claims that wait for their first consumer get the best volume that exists where the pod goes."""

import pytest

from koordpy.plan.filters.volume_binding import VolumeBinding
from tests.builders import node
from tests.plan.asking import reasons
from tests.plan.constraints import requirement, selector
from tests.scheduler.volumes.asking import chosen, cluster_of, placed, refusal
from tests.scheduler.volumes.objects import DRIVER, claim, pod_with, storage_class, volume

NO_EVENT = "node(s) didn't find available persistent volumes to bind"


def test_a_claim_gets_the_smallest_volume_that_is_large_enough():
    volumes = [volume(name, size=size) for name, size in (("a", "9Gi"), ("b", "4Gi"), ("c", "5Gi"), ("d", "6Gi"))]
    cluster = cluster_of(node(), claim(size="5Gi"), storage_class(), *volumes)
    assert chosen(cluster, pod_with("data")) == {"data": "c"}


def test_equal_volumes_are_taken_in_the_order_of_their_names():
    cluster = cluster_of(node(), claim(), storage_class(), volume("b"), volume("a"), volume("c"))
    assert chosen(cluster, pod_with("data")) == {"data": "a"}


def test_a_pod_goes_where_there_is_a_volume():
    cluster = cluster_of(node("a"), node("b"), claim(), storage_class(), volume(nodes=["b"]))
    assert placed(cluster, pod_with("data")).node == "b"
    assert reasons(VolumeBinding(), pod_with("data"), cluster) == {"a": [NO_EVENT]}


def test_each_node_offers_the_smallest_of_its_own():
    local = [volume(f"{size}-on-{where}", size=size, nodes=[where]) for where in "ab" for size in ("2Gi", "3Gi")]
    cluster = cluster_of(node("a"), node("b"), claim(), storage_class(), *local)
    assert chosen(cluster, pod_with("data", node_selector={"kubernetes.io/hostname": "b"})) == {"data": "2Gi-on-b"}


UNFIT = {
    "too small": volume(size="1Gi"),
    "lacks an access mode": volume(modes=["ReadWriteOnce"]),
    "of another volume mode": volume(modes=["ReadWriteOnce", "ReadOnlyMany"], volumeMode="Block"),
    "not selected": volume(modes=["ReadWriteOnce", "ReadOnlyMany"], labels={"tier": "cold"}),
    "of another class": volume(modes=["ReadWriteOnce", "ReadOnlyMany"], storage_class="other"),
    "of another class by annotation": volume(modes=["ReadWriteOnce", "ReadOnlyMany"], beta_class="other"),
    "of another attributes class": volume(modes=["ReadWriteOnce", "ReadOnlyMany"], volumeAttributesClassName="gold"),
    "of another claim": volume(modes=["ReadWriteOnce", "ReadOnlyMany"], claim="other"),
    "not available yet": volume(modes=["ReadWriteOnce", "ReadOnlyMany"], phase="Pending"),
    "released by its claim": volume(modes=["ReadWriteOnce", "ReadOnlyMany"], phase="Released"),
    "on its way out": volume(modes=["ReadWriteOnce", "ReadOnlyMany"], deleting=True),
}
WANTED = {
    "size": "2Gi",
    "modes": ["ReadWriteOnce", "ReadOnlyMany"],
    "selector": selector(requirement("tier", "NotIn", "cold")),
}


@pytest.mark.parametrize("unfit", UNFIT.values(), ids=UNFIT)
def test_a_volume_does_not_do_that_is(unfit):
    cluster = cluster_of(node(), claim(**WANTED), storage_class(), unfit)
    assert refusal(cluster, pod_with("data")) == f"1 {NO_EVENT}"


def test_a_volume_does_that_is_none_of_these():
    fit = volume(modes=["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"], labels={"tier": "hot"}, size="2Gi")
    cluster = cluster_of(node(), claim(**WANTED), storage_class(), fit)
    assert chosen(cluster, pod_with("data")) == {"data": "pv1"}


def test_the_beta_annotation_says_the_class_of_claims_and_volumes():
    by_annotation = claim(storage_class="other", beta_class="local")
    cluster = cluster_of(node(), by_annotation, storage_class(), volume(storage_class="else", beta_class="local"))
    assert chosen(cluster, pod_with("data")) == {"data": "pv1"}


# --- a volume of its own ---


def test_a_volume_that_names_the_claim_goes_before_smaller_ones():
    cluster = cluster_of(node(), claim(), storage_class(), volume("small", size="1Gi"), volume("own", claim="data"))
    assert chosen(cluster, pod_with("data")) == {"data": "own"}


def test_a_volume_that_names_the_claim_need_not_be_selected_or_available_or_have_its_modes():
    own = volume("own", claim="data", phase="Pending", modes=["ReadOnlyMany"], labels={"tier": "cold"})
    cluster = cluster_of(node(), claim(**WANTED), storage_class(), own)
    assert chosen(cluster, pod_with("data")) == {"data": "own"}


def test_a_volume_that_names_the_claim_and_is_too_small_is_passed_over():
    cluster = cluster_of(node(), claim(size="5Gi"), storage_class(), volume("own", claim="data", size="1Gi"), volume())
    assert chosen(cluster, pod_with("data")) == {"data": "pv1"}


def test_a_claim_with_a_volume_of_its_own_gets_no_other_elsewhere():
    """It will be bound to its own whatever we choose: a pod on another node could never start."""
    own, other = volume("own", claim="data", nodes=["a"]), volume("other", nodes=["b"])
    makes = storage_class(provisioner=DRIVER)
    cluster = cluster_of(node("a", cpu=1), node("b"), claim(), makes, own, other)
    assert reasons(VolumeBinding(), pod_with("data"), cluster) == {"b": [NO_EVENT]}
    assert chosen(cluster, pod_with("data")) == {"data": "own"}


def test_a_volume_that_names_a_claim_of_that_name_which_is_gone_belongs_to_nobody_here():
    cluster = cluster_of(node(), claim(), storage_class(), volume(claim="data", claim_uid="of an earlier one"))
    assert refusal(cluster, pod_with("data")) == f"1 {NO_EVENT}"


# --- several claims ---


def test_small_claims_choose_first_so_that_large_ones_find_room():
    volumes = volume("small", size="2Gi"), volume("large", size="9Gi")
    claims = claim("wants-much", size="5Gi"), claim("wants-little", size="1Gi")
    cluster = cluster_of(node(), *claims, storage_class(), *volumes)
    assert chosen(cluster, pod_with("wants-much", "wants-little")) == {"wants-much": "large", "wants-little": "small"}


def test_no_volume_is_given_to_two_claims_of_a_pod():
    cluster = cluster_of(node(), claim("a"), claim("b"), storage_class(), volume())
    assert refusal(cluster, pod_with("a", "b")) == f"1 {NO_EVENT}"


def test_two_claims_get_two_volumes_of_the_same_node():
    local = [volume(f"{where}{i}", nodes=[where]) for where, count in (("a", 1), ("b", 2)) for i in range(count)]
    cluster = cluster_of(node("a"), node("b"), claim("x"), claim("y"), storage_class(), *local)
    found = placed(cluster, pod_with("x", "y"))
    assert (found.node, found.volumes.static) == ("b", (("default/x", "b0"), ("default/y", "b1")))


def test_a_bound_claim_and_a_waiting_one_must_agree_on_the_node():
    done = claim("done", bound_to="pv-done"), volume("pv-done", claim="done", nodes=["a"])
    cluster = cluster_of(node("a"), node("b"), *done, claim(), storage_class(), volume(nodes=["b"]))
    expected = f"1 {NO_EVENT}, 1 node(s) didn't match PersistentVolume's node affinity"
    assert refusal(cluster, pod_with("done", "data")) == expected
