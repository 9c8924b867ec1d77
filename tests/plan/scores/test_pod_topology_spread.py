from math import log

import pytest

from koordpy.api.meta import LabelSelector
from koordpy.plan.scores.pod_topology_spread import PodTopologySpread
from tests.builders import node, pod, typed
from tests.plan.asking import cluster_of, scores
from tests.plan.constraints import HOSTNAME, ZONE, affinity, node_term, requirement, selector, spread_over, taint

WEB = selector(app="web")


def web(name, at="", **more):
    return pod(name, node=at, labels={"app": "web"}, **more)


def two_zones(*pods):
    zones = {"a1": "a", "a2": "a", "b1": "b"}
    return cluster_of(*(node(name, labels={ZONE: zone}) for name, zone in zones.items()), *pods)


def soft(key, **more):
    return spread_over(key, WEB, soft=True, **more)


# --- constraints of the pod ---


def test_domains_with_fewer_matching_pods_are_better():
    cluster = two_zones(web("w1", at="a1"), web("w2", at="a1"), web("w3", at="b1"))
    # two zones weigh ln 4: raw scores of 2.77 and 1.39, rounded to 3 and 1; best is 100 * (3 + 1 - 1) / 3
    assert scores(PodTopologySpread(), web("new", spread=[soft(ZONE)]), cluster) == {"a1": 33, "a2": 33, "b1": 100}


def test_by_host_each_node_is_a_domain():
    cluster = two_zones(web("w1", at="a1"))
    assert round(log(3 + 2)) == 2
    assert scores(PodTopologySpread(), web("new", spread=[soft(HOSTNAME)]), cluster) == {"a1": 0, "a2": 100, "b1": 100}


def test_a_larger_skew_makes_differences_smaller():
    cluster = two_zones(web("w1", at="a1"))
    wide = web("new", spread=[soft(ZONE, maxSkew=9)])
    # raw scores of round(1.39 + 8) and 8
    assert scores(PodTopologySpread(), wide, cluster) == {"a1": 88, "a2": 88, "b1": 100}


def test_only_feasible_nodes_make_a_topology_large():
    cluster = two_zones(web("w1", at="a1"), *(web(f"w{i}", at="a2") for i in range(2, 5)))
    new = web("new", spread=[soft(HOSTNAME)])
    # two hosts weigh ln 4: raw scores of 1 and 4; three weigh ln 5: raw scores of 2, 5 and 0
    assert scores(PodTopologySpread(), new, cluster, among={"a1", "a2"}) == {"a1": 100, "a2": 25}
    assert scores(PodTopologySpread(), new, cluster) == {"a1": 60, "a2": 0, "b1": 100}


def test_pods_on_nodes_that_are_not_feasible_count_in_their_zone():
    cluster = two_zones(web("w1", at="a2"))
    new = web("new", spread=[soft(ZONE)])
    assert scores(PodTopologySpread(), new, cluster, among={"a1", "b1"}) == {"a1": 0, "b1": 100}


def test_a_node_without_one_of_the_labels_scores_nothing():
    cluster = cluster_of(node("a1", labels={ZONE: "a"}), node("nowhere"))
    assert scores(PodTopologySpread(), web("new", spread=[soft(ZONE), soft(HOSTNAME)]), cluster) == {
        "a1": 100, "nowhere": 0,
    }  # fmt: skip


def test_constraints_that_filter_do_not_score():
    cluster = two_zones(web("w1", at="a1"))
    assert set(scores(PodTopologySpread(), web("new", spread=[spread_over(ZONE, WEB)]), cluster).values()) == {0}


def test_pods_on_nodes_that_do_not_match_count_only_if_the_policy_ignores_affinity():
    cluster = two_zones(web("w1", at="a2"))
    reach = affinity(nodes=[node_term(requirement(HOSTNAME, "NotIn", "a2"))])
    honoured = scores(PodTopologySpread(), web("new", affinity=reach, spread=[soft(ZONE)]), cluster)
    ignoring = web("newer", affinity=reach, spread=[soft(ZONE, nodeAffinityPolicy="Ignore")])
    assert honoured == {"a1": 100, "a2": 100, "b1": 100}
    assert scores(PodTopologySpread(), ignoring, cluster) == {"a1": 0, "a2": 0, "b1": 100}


def test_pods_on_tainted_nodes_count_unless_taints_are_honoured():
    cluster = two_zones(web("w1", at="a2"))
    cluster.upsert_node(node("a2", labels={ZONE: "a"}, taints=[taint("spot")]))
    honouring = web("newer", spread=[soft(ZONE, nodeTaintsPolicy="Honor")])
    assert scores(PodTopologySpread(), web("new", spread=[soft(ZONE)]), cluster)["a1"] == 0
    assert scores(PodTopologySpread(), honouring, cluster)["a1"] == 100


# --- default constraints ---


def test_pods_of_a_service_are_spread_by_host_and_zone():
    cluster = two_zones(web("w1", at="a1"))
    assert set(scores(PodTopologySpread(), web("new"), cluster).values()) == {0}
    cluster.set_service("default", "web", {"app": "web"})
    found = scores(PodTopologySpread(), web("new"), cluster)
    # raw scores: hosts weigh ln 5, zones ln 4, skews of 3 and 5 add 2 and 4
    assert found == {"a1": 100 * (9 + 6 - 9) // 9, "a2": 100 * (9 + 6 - 7) // 9, "b1": 100}


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "ReplicationController"])
def test_pods_of_an_owner_with_a_selector_are_spread(kind):
    cluster = two_zones(web("w1", at="a1"))
    cluster.set_owner(kind, "default", "workers", typed(WEB, LabelSelector))
    found = scores(PodTopologySpread(), web("new", owner=(kind, "workers")), cluster)
    assert found["a1"] < found["a2"] < found["b1"]


def test_an_owner_of_another_kind_or_without_a_selector_has_no_default_constraints():
    cluster = two_zones(web("w1", at="a1"))
    cluster.set_owner("ReplicaSet", "default", "empty", typed({}, LabelSelector))
    for owner in (("Job", "workers"), ("ReplicaSet", "unknown"), ("ReplicaSet", "empty")):
        assert set(scores(PodTopologySpread(), web("new", owner=owner), cluster).values()) == {0}


def test_the_selectors_of_services_and_owner_are_combined():
    """Only pods that all of them select are of the kind."""
    cluster = two_zones(web("w1", at="a1"), pod("w2", node="b1", labels={"app": "web", "tier": "front"}))
    cluster.set_service("default", "web", {"app": "web"})
    cluster.set_owner("ReplicaSet", "default", "workers", typed(selector(tier="front"), LabelSelector))
    new = pod("new", labels={"app": "web", "tier": "front"}, owner=("ReplicaSet", "workers"))
    found = scores(PodTopologySpread(), new, cluster)
    assert found["b1"] < found["a1"] == found["a2"]


def test_a_service_in_another_namespace_or_for_other_pods_has_no_default_constraints():
    cluster = two_zones(web("w1", at="a1"))
    cluster.set_service("other", "web", {"app": "web"})
    cluster.set_service("default", "db", {"app": "db"})
    cluster.set_service("default", "all", {})
    assert set(scores(PodTopologySpread(), web("new"), cluster).values()) == {0}


def test_a_deleted_service_has_no_default_constraints():
    cluster = two_zones(web("w1", at="a1"))
    cluster.set_service("default", "web", {"app": "web"})
    scores(PodTopologySpread(), web("new"), cluster)
    cluster.set_service("default", "web", None)
    assert set(scores(PodTopologySpread(), web("new"), cluster).values()) == {0}


def test_the_defaults_spread_by_host_where_a_node_has_no_zone():
    cluster = cluster_of(node("n1"), node("n2"), web("w1", at="n1"))
    cluster.set_service("default", "web", {"app": "web"})
    found = scores(PodTopologySpread(), web("new"), cluster)
    assert 0 < found["n1"] < found["n2"]


def test_nodes_without_a_zone_and_nodes_with_an_empty_one_are_one_zone():
    """As in kube-scheduler, which looks the label up in a map and gets the empty string either way."""
    labelled = node("empty", labels={ZONE: ""})
    cluster = cluster_of(labelled, node("none"), node("a1", labels={ZONE: "a"}), web("w1", at="none"))
    cluster.set_service("default", "web", {"app": "web"})
    found = scores(PodTopologySpread(), web("new"), cluster)
    assert found["empty"] < found["a1"]


def test_a_pod_with_constraints_of_its_own_gets_no_defaults():
    cluster = two_zones(web("w1", at="a1"))
    cluster.set_service("default", "web", {"app": "web"})
    assert set(scores(PodTopologySpread(), web("new", spread=[spread_over(ZONE, WEB)]), cluster).values()) == {0}
