from koordpy.plan.scores.inter_pod_affinity import InterPodAffinity
from tests.builders import node, pod
from tests.plan.asking import cluster_of, scores
from tests.plan.constraints import HOSTNAME, ZONE, affinity, pod_term, selector

WEB, DB = selector(app="web"), selector(app="db")


def two_zones(*pods):
    zones = {"a1": "a", "a2": "a", "b1": "b"}
    return cluster_of(*(node(name, labels={ZONE: zone}) for name, zone in zones.items()), *pods)


def web(name="web", at="", **more):
    return pod(name, node=at, labels={"app": "web"}, **more)


def test_preferred_affinity_counts_by_weight_and_by_number_of_pods():
    preferences = affinity(prefer_near=[(10, pod_term(HOSTNAME, WEB))])
    cluster = two_zones(web("w1", at="a1"), web("w2", at="a1"), web("w3", at="b1"))
    assert scores(InterPodAffinity(), pod("new", affinity=preferences), cluster) == {"a1": 100, "a2": 0, "b1": 50}


def test_preferred_anti_affinity_lowers_the_score():
    preferences = affinity(prefer_apart=[(10, pod_term(ZONE, WEB))])
    assert scores(InterPodAffinity(), pod("new", affinity=preferences), two_zones(web(at="a1"))) == {
        "a1": 0, "a2": 0, "b1": 100,
    }  # fmt: skip


def test_preferred_terms_of_existing_pods_count_as_much():
    attracted = pod("attracted", node="a1", affinity=affinity(prefer_near=[(10, pod_term(HOSTNAME, WEB))]))
    repelled = pod("repelled", node="b1", affinity=affinity(prefer_apart=[(10, pod_term(HOSTNAME, WEB))]))
    assert scores(InterPodAffinity(), web("new"), two_zones(attracted, repelled)) == {"a1": 100, "a2": 50, "b1": 0}


def test_required_affinity_of_an_existing_pod_counts_with_the_hard_weight():
    requiring = pod("requiring", node="a1", affinity=affinity(near=[pod_term(HOSTNAME, WEB)]))
    attracted = pod("attracted", node="b1", affinity=affinity(prefer_near=[(4, pod_term(HOSTNAME, WEB))]))
    cluster = two_zones(requiring, attracted)
    assert scores(InterPodAffinity(), web("new"), cluster) == {"a1": 25, "a2": 0, "b1": 100}
    assert scores(InterPodAffinity(hard_pod_affinity_weight=8), web("new"), cluster) == {"a1": 100, "a2": 0, "b1": 50}


def test_required_anti_affinity_of_an_existing_pod_does_not_score():
    exclusive = pod("exclusive", node="a1", affinity=affinity(apart=[pod_term(ZONE, WEB)]))
    assert set(scores(InterPodAffinity(), web("new"), two_zones(exclusive)).values()) == {0}


def test_preferred_terms_apply_to_other_namespaces_only_if_they_select_them():
    foreign = web(at="a1", namespace="blue")
    own = affinity(prefer_near=[(1, pod_term(HOSTNAME, WEB))])
    all_of_them = affinity(prefer_near=[(1, pod_term(HOSTNAME, WEB, namespaceSelector={}))])
    assert set(scores(InterPodAffinity(), pod("new", affinity=own), two_zones(foreign)).values()) == {0}
    assert scores(InterPodAffinity(), pod("new", affinity=all_of_them), two_zones(foreign))["a1"] == 100


def test_a_node_without_the_topology_label_scores_nothing():
    preferences = affinity(prefer_near=[(10, pod_term(ZONE, WEB))])
    cluster = cluster_of(node("nowhere"), node("a1", labels={ZONE: "a"}), web("w1", at="nowhere"), web("w2", at="a1"))
    assert scores(InterPodAffinity(), pod("new", affinity=preferences), cluster) == {"nowhere": 0, "a1": 100}


def test_preferred_terms_of_existing_pods_can_be_ignored_for_pods_without_their_own():
    attracted = pod("attracted", node="a1", affinity=affinity(prefer_near=[(10, pod_term(HOSTNAME, WEB))]))
    ignoring = InterPodAffinity(ignore_others=True)
    assert set(scores(ignoring, web("new"), two_zones(attracted)).values()) == {0}
    preferences = affinity(prefer_near=[(1, pod_term(HOSTNAME, DB))])
    assert scores(ignoring, web("newer", affinity=preferences), two_zones(attracted))["a1"] == 100
