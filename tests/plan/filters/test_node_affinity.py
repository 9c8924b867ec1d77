import pytest

from koordpy.api.affinity import NodeSelector
from koordpy.plan.filters.node_affinity import NodeAffinity
from tests.builders import node, pod, typed
from tests.plan.asking import cluster_of, preemptible, reasons, refused
from tests.plan.constraints import affinity, node_term, requirement

TEXT = "node(s) didn't match Pod's node affinity/selector"
ENFORCED = "node(s) didn't match scheduler-enforced node affinity"


def nodes():
    return cluster_of(
        node("ssd", labels={"disk": "ssd", "generation": "4"}),
        node("hdd", labels={"disk": "hdd", "generation": "09"}),
        node("bare"),
    )


def wants(*terms):
    return pod(affinity=affinity(nodes=terms))


def test_a_node_selector_must_match_every_label():
    both = pod(node_selector={"disk": "ssd", "generation": "4"})
    assert reasons(NodeAffinity(), both, nodes()) == {"hdd": [TEXT], "bare": [TEXT]}
    assert refused(NodeAffinity(), pod(node_selector={"disk": "ssd", "generation": "9"}), nodes()) == {
        "ssd", "hdd", "bare",
    }  # fmt: skip


def test_a_selector_for_the_empty_value_does_not_match_a_node_without_the_label():
    cluster = cluster_of(node("empty", labels={"disk": ""}), node("bare"))
    assert refused(NodeAffinity(), pod(node_selector={"disk": ""}), cluster) == {"bare"}


@pytest.mark.parametrize(
    ("expression", "accepted"),
    [
        (requirement("disk", "In", "ssd", "nvme"), {"ssd"}),
        (requirement("disk", "NotIn", "ssd"), {"hdd", "bare"}),
        (requirement("disk", "Exists"), {"ssd", "hdd"}),
        (requirement("disk", "DoesNotExist"), {"bare"}),
        (requirement("generation", "Gt", "4"), {"hdd"}),
        (requirement("generation", "Lt", "9"), {"ssd"}),
        (requirement("generation", "Gt", "new"), set()),  # no integer: nothing is greater
        (requirement("disk", "Gt", "4"), set()),
        (requirement("disk", "In", "never-seen"), set()),
        (requirement("disk", "NotIn", "never-seen"), {"ssd", "hdd", "bare"}),
    ],
)
def test_operators(expression, accepted):
    assert {"ssd", "hdd", "bare"} - refused(NodeAffinity(), wants(node_term(expression)), nodes()) == accepted


def test_terms_are_alternatives_and_their_expressions_are_not():
    fast = node_term(requirement("disk", "In", "ssd"), requirement("generation", "Gt", "5"))
    bare = node_term(requirement("disk", "DoesNotExist"))
    assert refused(NodeAffinity(), wants(fast), nodes()) == {"ssd", "hdd", "bare"}
    assert refused(NodeAffinity(), wants(fast, bare), nodes()) == {"ssd", "hdd"}


def test_node_selector_and_node_affinity_must_both_match():
    picky = pod(
        node_selector={"disk": "ssd"}, affinity=affinity(nodes=[node_term(requirement("generation", "Exists"))])
    )
    assert refused(NodeAffinity(), picky, nodes()) == {"hdd", "bare"}


def test_an_empty_term_matches_no_node_and_neither_do_no_terms():
    assert refused(NodeAffinity(), wants(node_term()), nodes()) == {"ssd", "hdd", "bare"}
    assert refused(NodeAffinity(), wants(), nodes()) == {"ssd", "hdd", "bare"}


def test_a_term_can_ask_for_a_node_by_name_and_for_all_but_one():
    assert refused(NodeAffinity(), wants(node_term(name="hdd")), nodes()) == {"ssd", "bare"}
    other = {"matchFields": [requirement("metadata.name", "NotIn", "hdd")]}
    assert refused(NodeAffinity(), wants(other), nodes()) == {"hdd"}
    assert refused(NodeAffinity(), wants(node_term(name="elsewhere")), nodes()) == {"ssd", "hdd", "bare"}


def test_a_node_by_name_must_match_the_expressions_too():
    both = node_term(requirement("disk", "In", "ssd"), name="hdd")
    assert refused(NodeAffinity(), wants(both), nodes()) == {"ssd", "hdd", "bare"}


@pytest.mark.parametrize("number", ["9223372036854775808", "-1", "+5", "4_0"])
def test_numbers_that_no_label_or_64_bits_can_hold_compare_as_false(number):
    cluster = cluster_of(node(labels={"generation": "5"}))
    for operator in ("Gt", "Lt"):
        assert refused(NodeAffinity(), wants(node_term(requirement("generation", operator, number))), cluster) == {"n1"}


def test_leading_zeros_do_not_make_a_number_longer():
    cluster = cluster_of(node(labels={"generation": "0" * 40 + "7"}))
    assert refused(NodeAffinity(), wants(node_term(requirement("generation", "Gt", "6"))), cluster) == set()


def test_a_relabelled_node_is_filtered_again():
    cluster = nodes()
    assert "bare" in refused(NodeAffinity(), pod(node_selector={"disk": "ssd"}), cluster)
    cluster.upsert_node(node("bare", labels={"disk": "ssd"}))
    assert refused(NodeAffinity(), pod(node_selector={"disk": "ssd"}), cluster) == {"hdd"}
    cluster.upsert_node(node("ssd"))  # without the label from now on
    assert refused(NodeAffinity(), pod(node_selector={"disk": "ssd"}), cluster) == {"hdd", "ssd"}


def test_evicting_pods_does_not_help_against_node_affinity():
    assert preemptible(NodeAffinity(), pod(node_selector={"disk": "nvme"}), nodes()) == set()


# --- what the profile adds ---


def enforcing(*terms):
    return NodeAffinity(typed({"nodeSelectorTerms": terms}, NodeSelector))


LABELLED = node_term(requirement("disk", "Exists"))


def test_the_affinity_of_the_profile_applies_to_pods_without_their_own():
    assert reasons(enforcing(LABELLED), pod(), nodes()) == {"bare": [ENFORCED]}


def test_a_node_must_match_both_the_pod_and_its_profile():
    assert reasons(enforcing(LABELLED), pod(node_selector={"disk": "ssd"}), nodes()) == {
        "hdd": [TEXT], "bare": [ENFORCED],
    }  # fmt: skip


def test_one_of_the_terms_that_the_profile_adds_is_enough():
    assert refused(enforcing(LABELLED, node_term(name="bare")), pod(), nodes()) == set()


def test_evicting_pods_does_not_help_against_the_affinity_of_the_profile():
    assert preemptible(enforcing(LABELLED), pod(), nodes()) == set()


def test_a_relabelled_node_is_filtered_again_for_the_affinity_of_the_profile():
    cluster = nodes()
    cluster.upsert_node(node("bare", labels={"disk": "ssd"}))
    assert refused(enforcing(LABELLED), pod(), cluster) == set()
