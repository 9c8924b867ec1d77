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


def test_preferred_company_draws_by_weight_and_by_number():
    wishes = affinity(prefer_near=[(10, pod_term(HOSTNAME, WEB))])
    cluster = two_zones(web("w1", at="a1"), web("w2", at="a1"), web("w3", at="b1"))
    assert scores(InterPodAffinity(), pod("new", affinity=wishes), cluster) == {"a1": 100, "a2": 0, "b1": 50}


def test_unwanted_company_repels():
    wishes = affinity(prefer_apart=[(10, pod_term(ZONE, WEB))])
    assert scores(InterPodAffinity(), pod("new", affinity=wishes), two_zones(web(at="a1"))) == {
        "a1": 0, "a2": 0, "b1": 100,
    }  # fmt: skip


def test_the_wishes_of_pods_that_are_there_count_as_much():
    fan = pod("fan", node="a1", affinity=affinity(prefer_near=[(10, pod_term(HOSTNAME, WEB))]))
    foe = pod("foe", node="b1", affinity=affinity(prefer_apart=[(10, pod_term(HOSTNAME, WEB))]))
    assert scores(InterPodAffinity(), web("new"), two_zones(fan, foe)) == {"a1": 100, "a2": 50, "b1": 0}


def test_what_a_pod_that_is_there_requires_counts_as_a_small_wish():
    needy = pod("needy", node="a1", affinity=affinity(near=[pod_term(HOSTNAME, WEB)]))
    fan = pod("fan", node="b1", affinity=affinity(prefer_near=[(4, pod_term(HOSTNAME, WEB))]))
    cluster = two_zones(needy, fan)
    assert scores(InterPodAffinity(), web("new"), cluster) == {"a1": 25, "a2": 0, "b1": 100}
    assert scores(InterPodAffinity(hard_pod_affinity_weight=8), web("new"), cluster) == {"a1": 100, "a2": 0, "b1": 50}


def test_what_a_pod_that_is_there_forbids_is_no_wish():
    hermit = pod("hermit", node="a1", affinity=affinity(apart=[pod_term(ZONE, WEB)]))
    assert set(scores(InterPodAffinity(), web("new"), two_zones(hermit)).values()) == {0}


def test_wishes_about_other_namespaces_need_to_say_so():
    foreign = web(at="a1", namespace="blue")
    own = affinity(prefer_near=[(1, pod_term(HOSTNAME, WEB))])
    all_of_them = affinity(prefer_near=[(1, pod_term(HOSTNAME, WEB, namespaceSelector={}))])
    assert set(scores(InterPodAffinity(), pod("new", affinity=own), two_zones(foreign)).values()) == {0}
    assert scores(InterPodAffinity(), pod("new", affinity=all_of_them), two_zones(foreign))["a1"] == 100


def test_a_node_without_the_topology_label_is_drawn_nowhere():
    wishes = affinity(prefer_near=[(10, pod_term(ZONE, WEB))])
    cluster = cluster_of(node("nowhere"), node("a1", labels={ZONE: "a"}), web("w1", at="nowhere"), web("w2", at="a1"))
    assert scores(InterPodAffinity(), pod("new", affinity=wishes), cluster) == {"nowhere": 0, "a1": 100}


def test_the_wishes_of_others_can_be_ignored_for_pods_without_wishes():
    fan = pod("fan", node="a1", affinity=affinity(prefer_near=[(10, pod_term(HOSTNAME, WEB))]))
    deaf = InterPodAffinity(ignore_others=True)
    assert set(scores(deaf, web("new"), two_zones(fan)).values()) == {0}
    wishes = affinity(prefer_near=[(1, pod_term(HOSTNAME, DB))])
    assert scores(deaf, web("newer", affinity=wishes), two_zones(fan))["a1"] == 100
