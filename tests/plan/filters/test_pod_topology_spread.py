import pytest

from koordpy.plan.filters.pod_topology_spread import PodTopologySpread
from tests.builders import node, pod
from tests.plan.asking import cluster_of, preemptible, reasons, refused
from tests.plan.constraints import HOSTNAME, ZONE, affinity, node_term, requirement, selector, spread_over, taint

WEB = selector(app="web")
SKEW = "node(s) didn't match pod topology spread constraints"
NO_LABEL = f"{SKEW} (missing required label)"


def web(name, at="", **more):
    return pod(name, node=at, labels={"app": "web"} | more.pop("labels", {}), **more)


def zone(name, where, **more):
    return node(name, labels={ZONE: where} | more.pop("labels", {}), **more)


def two_zones(*pods):
    """Two nodes in zone a, one in zone b."""
    return cluster_of(zone("a1", "a"), zone("a2", "a"), zone("b1", "b"), *pods)


def test_no_domain_gets_more_than_the_skew_ahead_of_the_emptiest():
    cluster = two_zones(web("w1", at="a1"))
    assert reasons(PodTopologySpread(), web("new", spread=[spread_over(ZONE, WEB)]), cluster) == {
        "a1": [SKEW],
        "a2": [SKEW],  # the zone counts, not the node
    }
    assert refused(PodTopologySpread(), web("wide", spread=[spread_over(ZONE, WEB, maxSkew=2)]), cluster) == set()


def test_a_pod_that_its_own_selector_does_not_match_adds_nothing():
    cluster = two_zones(web("w1", at="a1"))
    assert refused(PodTopologySpread(), pod("new", spread=[spread_over(ZONE, WEB)]), cluster) == set()


def test_a_constraint_that_only_prefers_filters_nothing():
    cluster = two_zones(web("w1", at="a1"))
    assert refused(PodTopologySpread(), web("new", spread=[spread_over(ZONE, WEB, soft=True)]), cluster) == set()


def test_a_node_without_the_label_is_refused_for_that():
    cluster = cluster_of(zone("a1", "a"), node("nowhere"))
    assert reasons(PodTopologySpread(), web("new", spread=[spread_over(ZONE, WEB)]), cluster) == {"nowhere": [NO_LABEL]}


def test_pods_on_nodes_that_lack_one_of_the_labels_do_not_count():
    cluster = cluster_of(
        zone("a1", "a", labels={"rack": "r1"}),
        zone("a2", "a"),
        zone("b1", "b", labels={"rack": "r2"}),
        web("w1", at="a2"),
    )
    constraints = [spread_over(ZONE, WEB), spread_over("rack", WEB)]
    assert reasons(PodTopologySpread(), web("new", spread=constraints), cluster) == {"a2": [NO_LABEL]}


def test_every_constraint_must_hold():
    cluster = two_zones(web("w1", at="a1"), web("w2", at="b1"))
    constraints = [spread_over(ZONE, WEB), spread_over(HOSTNAME, WEB)]
    assert refused(PodTopologySpread(), web("new", spread=constraints), cluster) == {"a1", "b1"}


def test_terminating_pods_and_pods_of_other_namespaces_do_not_count():
    leaving, foreign = web("w1", at="a1", terminating=True), web("w2", at="a1", namespace="other")
    assert (
        refused(PodTopologySpread(), web("new", spread=[spread_over(ZONE, WEB)]), two_zones(leaving, foreign)) == set()
    )


@pytest.mark.parametrize(("asked", "counts_itself"), [(None, False), ({}, True)])
def test_a_selector_that_asks_for_nothing_counts_nobody_else(asked, counts_itself):
    """And only the empty one counts the pod itself: with a skew of 1 that is still allowed everywhere."""
    cluster = two_zones(web("w1", at="a1"), web("w2", at="a1"))
    assert refused(PodTopologySpread(), web("new", spread=[spread_over(ZONE, asked)]), cluster) == set()


def test_too_few_domains_count_as_if_one_more_were_empty():
    cluster = two_zones(web("w1", at="a1"), web("w2", at="b1"))
    three = spread_over(ZONE, WEB, minDomains=3)
    assert refused(PodTopologySpread(), web("new", spread=[three]), cluster) == {"a1", "a2", "b1"}
    assert refused(PodTopologySpread(), web("new", spread=[three | {"minDomains": 2}]), cluster) == set()


def test_match_label_keys_compare_only_pods_that_agree_with_this_one():
    cluster = two_zones(web("old", at="a1", labels={"version": "1"}))
    constraint = spread_over(ZONE, WEB, matchLabelKeys=["version", "no-such-label"])
    assert refused(PodTopologySpread(), web("new", labels={"version": "2"}, spread=[constraint]), cluster) == set()
    assert refused(PodTopologySpread(), web("new", labels={"version": "1"}, spread=[constraint]), cluster) == {
        "a1",
        "a2",
    }


def test_match_label_keys_give_an_empty_selector_something_to_count():
    cluster = two_zones(pod("old", node="a1", labels={"version": "1"}))
    constraint = spread_over(ZONE, {}, matchLabelKeys=["version"])
    assert refused(PodTopologySpread(), pod("new", labels={"version": "1"}, spread=[constraint]), cluster) == {
        "a1",
        "a2",
    }


def test_by_default_only_nodes_that_the_pod_could_go_to_count():
    """Zone b is out of the pod's reach, so it is not the emptiest of its zones."""
    cluster = two_zones(web("w1", at="a1"))
    only_a = affinity(nodes=[node_term(requirement(ZONE, "In", "a"))])
    honoured, ignored = spread_over(ZONE, WEB), spread_over(ZONE, WEB, nodeAffinityPolicy="Ignore")
    assert refused(PodTopologySpread(), web("new", affinity=only_a, spread=[honoured]), cluster) == set()
    assert refused(PodTopologySpread(), web("new", affinity=only_a, spread=[ignored]), cluster) == {"a1", "a2"}


def test_tainted_nodes_count_unless_taints_are_honoured():
    cluster = cluster_of(zone("a1", "a"), zone("b1", "b", taints=[taint("spot")]), web("w1", at="a1"))
    ignored, honoured = spread_over(ZONE, WEB), spread_over(ZONE, WEB, nodeTaintsPolicy="Honor")
    assert refused(PodTopologySpread(), web("new", spread=[ignored]), cluster) == {"a1"}
    assert refused(PodTopologySpread(), web("new", spread=[honoured]), cluster) == set()


def test_default_constraints_do_not_filter():
    cluster = two_zones(web("w1", at="a1"), web("w2", at="a1"))
    cluster.set_service("default", "web", {"app": "web"})
    assert refused(PodTopologySpread(), web("new"), cluster) == set()


def test_evicting_pods_helps_against_skew_and_not_against_a_missing_label():
    cluster = cluster_of(zone("a1", "a"), zone("b1", "b"), node("nowhere"), web("w1", at="a1"))
    assert preemptible(PodTopologySpread(), web("new", spread=[spread_over(ZONE, WEB)]), cluster) == {"a1"}
