"""Claims for which no node needs to be asked."""

import pytest

from tests.builders import node, pod
from tests.scheduler.volumes.asking import chosen, cluster_of, placed, refusal
from tests.scheduler.volumes.objects import claim, pod_with, storage_class, volume


def test_a_pod_without_claims_goes_anywhere():
    assert placed(cluster_of(node()), pod()).node == "n1"


def test_a_claim_that_does_not_exist_refuses_the_pod():
    assert refusal(cluster_of(node()), pod_with("data")) == 'persistentvolumeclaim "data" not found'


def test_a_claim_is_looked_for_in_the_namespace_of_the_pod():
    cluster = cluster_of(node(), claim(bound_to="pv1", namespace="other"), volume(claim="data"))
    assert refusal(cluster, pod_with("data")) == 'persistentvolumeclaim "data" not found'


def test_a_claim_that_lost_its_volume_refuses_the_pod():
    cluster = cluster_of(node(), claim(bound_to="pv1", phase="Lost"))
    expected = 'persistentvolumeclaim "data" bound to non-existent persistentvolume "pv1"'
    assert refusal(cluster, pod_with("data")) == expected


def test_a_claim_on_its_way_out_refuses_the_pod():
    cluster = cluster_of(node(), claim(bound_to="pv1", deleting=True), volume(claim="data"))
    assert refusal(cluster, pod_with("data")) == 'persistentvolumeclaim "data" is being deleted'


@pytest.mark.parametrize(
    "unbound",
    [
        claim(storage_class="eager"),
        claim(storage_class="no-such-class"),
        claim(storage_class=""),
        claim(storage_class="lazy", volumeName="pv1"),  # somebody named the volume: binding it is not ours to do
    ],
    ids=["its class binds at once", "its class is missing", "it has no class", "it names its volume"],
)
def test_an_unbound_claim_that_does_not_wait_for_a_consumer_refuses_the_pod(unbound):
    classes = storage_class("eager", waits=False), storage_class("lazy")
    cluster = cluster_of(node(), *classes, unbound, volume(storage_class="lazy"))
    assert refusal(cluster, pod_with("data")) == "pod has unbound immediate PersistentVolumeClaims"


def test_a_claim_with_a_volume_is_not_bound_before_the_controller_says_that_it_has_finished():
    half = claim(storage_class="eager", volumeName="pv1", phase="Bound")
    cluster = cluster_of(node(), storage_class("eager", waits=False), half, volume(claim="data"))
    assert refusal(cluster, pod_with("data")) == "pod has unbound immediate PersistentVolumeClaims"


def test_the_first_claim_in_trouble_is_named():
    cluster = cluster_of(node(), claim("a", bound_to="pv1", deleting=True), volume(claim="a"))
    assert refusal(cluster, pod_with("a", "b")) == 'persistentvolumeclaim "a" is being deleted'
    assert refusal(cluster, pod_with("b", "a")) == 'persistentvolumeclaim "b" not found'


def test_a_pod_waits_for_the_claim_of_its_ephemeral_volume():
    expected = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p1-scratch"'
    assert refusal(cluster_of(node()), pod_with(ephemeral=["scratch"])) == expected


def test_the_claim_of_an_ephemeral_volume_is_like_any_other():
    waiting = pod_with(ephemeral=["scratch"])
    own = claim("p1-scratch", owner=waiting.metadata.uid)
    cluster = cluster_of(node(), own, storage_class(), volume())
    assert chosen(cluster, waiting) == {"p1-scratch": "pv1"}


@pytest.mark.parametrize("owner", ["", "uid-of-the-pod-before"], ids=["nobody", "an earlier pod of the same name"])
def test_an_ephemeral_volume_never_takes_the_claim_of_somebody_else(owner):
    """The kubelet would refuse it, with the pod stuck on its node; or the pod would read another one's data."""
    cluster = cluster_of(node(), claim("p1-scratch", owner=owner), storage_class(), volume())
    expected = "PVC default/p1-scratch was not created for pod default/p1 (pod is not owner)"
    assert refusal(cluster, pod_with(ephemeral=["scratch"])) == expected


def test_an_ephemeral_volume_never_takes_the_claim_of_another_pod_that_lives():
    """Pod `p1` with a volume `a-b` and pod `p1-a` with a volume `b` ask for the same name."""
    other = pod_with(name="p1-a", ephemeral=["b"], cpu=1)
    cluster = cluster_of(node(), other, claim("p1-a-b", owner=other.metadata.uid), storage_class(), volume())
    expected = "PVC default/p1-a-b was not created for pod default/p1 (pod is not owner)"
    assert refusal(cluster, pod_with(ephemeral=["a-b"])) == expected
    assert chosen(cluster, other) == {"p1-a-b": "pv1"}


def test_a_claim_named_twice_by_one_pod_gets_one_volume():
    cluster = cluster_of(node(), claim(), storage_class(), volume("pv1"), volume("pv2"))
    assert placed(cluster, pod_with("data", "data")).volumes.static == (("default/data", "pv1"),)
