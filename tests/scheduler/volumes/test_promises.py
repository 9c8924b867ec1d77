"""What was chosen for one pod is nobody else's, from the plan until the API server shows it, and no longer."""

from koordpy.plan.framework.answers import Plan
from koordpy.state.trial import Trial
from tests.builders import node
from tests.scheduler.volumes.asking import (
    answer,
    assumed,
    by_claim,
    chosen,
    cluster_of,
    placed,
    promises,
    refusal,
    tell,
)
from tests.scheduler.volumes.objects import DRIVER, claim, pod_with, storage_class, volume

NO_EVENT = "node(s) didn't find available persistent volumes to bind"


def two_claims(*others):
    return cluster_of(claim("a"), claim("b"), storage_class(), *others)


def test_a_promised_volume_is_not_given_to_a_second_pod():
    cluster = two_claims(node(), volume())
    assert by_claim(assumed(cluster, pod_with("a")).volumes) == {"a": "pv1"}
    assert refusal(cluster, pod_with("b", name="p2")) == f"1 {NO_EVENT}"


def test_the_second_pod_gets_the_next_volume():
    cluster = two_claims(node(), volume("pv1"), volume("pv2"))
    assumed(cluster, pod_with("a"))
    assert chosen(cluster, pod_with("b", name="p2")) == {"b": "pv2"}


def test_the_members_of_a_job_do_not_share_a_volume():
    cluster = two_claims(node(), volume("pv1"), volume("pv2"))
    both = answer(cluster, pod_with("a"), pod_with("b", name="p2"))
    assert isinstance(both, Plan)
    assert [by_claim(placement.volumes) for placement in both.placements] == [{"a": "pv1"}, {"b": "pv2"}]
    assert refusal(two_claims(node(), volume()), pod_with("a"), pod_with("b", name="p2")) == f"1 {NO_EVENT}"


def test_a_pod_that_shares_a_claim_follows_the_volume_that_was_promised_to_it():
    """Any other choice would tie two volumes to one claim, and one of the pods to a node where it never starts."""
    cluster = cluster_of(node("a"), node("b"), claim(), storage_class(), volume("pv-a", nodes=["a"]))
    assumed(cluster, pod_with("data"))
    tell(cluster, volume("pv-b", nodes=["b"], size="1Gi"))
    sharing = placed(cluster, pod_with("data", name="p2"))
    assert (sharing.node, by_claim(sharing.volumes)) == ("a", {"data": "pv-a"})


def test_a_pod_that_shares_a_claim_follows_it_to_the_node_where_it_is_being_provisioned():
    cluster = cluster_of(node("a"), claim(), storage_class(provisioner=DRIVER))
    assumed(cluster, pod_with("data"))
    tell(cluster, node("b", cpu=64))
    assert placed(cluster, pod_with("data", name="p2")).node == "a"


def test_a_pod_that_is_forgotten_gives_back_what_it_was_promised():
    cluster = two_claims(node(), volume())
    first = assumed(cluster, pod_with("a"))
    cluster.forget(first.uid)
    assert promises(cluster) == []
    assert chosen(cluster, pod_with("b", name="p2")) == {"b": "pv1"}


def test_a_pod_that_is_gone_gives_back_what_it_was_promised():
    cluster = two_claims(node(), volume())
    first = assumed(cluster, pod_with("a"))
    cluster.remove_pod(first.uid)
    assert promises(cluster) == []


def test_forgetting_all_assumptions_forgets_all_promises():
    cluster = two_claims(node(), volume("pv1"), volume("pv2"))
    assumed(cluster, pod_with("a"))
    assumed(cluster, pod_with("b", name="p2"))
    cluster.start_over()
    assert promises(cluster) == []


def test_a_plan_promises_nothing_that_outlives_it():
    cluster = two_claims(node(), volume("pv1"), storage_class("fast", provisioner=DRIVER))
    answer(cluster, pod_with("a"), pod_with("b", name="p2"))  # refused at the second member
    assert promises(cluster) == []


def test_trying_a_pod_that_shares_a_claim_leaves_the_promise_to_the_other_alone():
    cluster = cluster_of(node(), claim("static"), storage_class(), volume())
    tell(cluster, claim("made", storage_class="fast"), storage_class("fast", provisioner=DRIVER))
    assumed(cluster, pod_with("static", "made"))
    before = promises(cluster)
    sharing = placed(cluster, pod_with("static", "made", name="p2"))
    assert by_claim(sharing.volumes) == {"static": "pv1", "made": ""}
    with Trial(cluster.occupancy) as trial:
        trial.reserve_volumes(sharing.volumes, sharing.node)
        assert promises(cluster) != before
    assert promises(cluster) == before


def test_the_promise_of_a_shared_claim_lasts_as_long_as_one_of_its_pods_is_assumed():
    cluster = cluster_of(node(), claim(), storage_class(), volume())
    first, second = assumed(cluster, pod_with("data")), assumed(cluster, pod_with("data", name="p2"))
    cluster.forget(first.uid)
    assert promises(cluster) != []
    cluster.forget(second.uid)
    assert promises(cluster) == []


def test_claims_that_no_pod_uses_any_more_are_not_remembered():
    cluster = cluster_of(node(), claim(bound_to="pv1"), volume(claim="data"))
    used = pod_with("data", node="n1")
    tell(cluster, used)
    assert list(cluster.storage.users) == ["default/data"]
    cluster.remove_pod(used.metadata.uid)
    assert list(cluster.storage.users) == []
