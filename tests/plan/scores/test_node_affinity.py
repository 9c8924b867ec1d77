from koordpy.api.affinity import PreferredSchedulingTerm
from koordpy.plan.scores.node_affinity import NodeAffinity
from tests.builders import node, pod, typed
from tests.plan.asking import cluster_of, scores
from tests.plan.constraints import affinity, node_term, requirement

SSD, NEW = node_term(requirement("disk", "In", "ssd")), node_term(requirement("generation", "Gt", "5"))


def nodes():
    return cluster_of(
        node("both", labels={"disk": "ssd", "generation": "6"}), node("fast", labels={"disk": "ssd"}), node("bare")
    )


def test_weights_of_matching_terms_add_up_and_the_highest_sum_is_100():
    wishes = affinity(prefer_nodes=[(30, SSD), (60, NEW)])
    assert scores(NodeAffinity(), pod(affinity=wishes), nodes()) == {"both": 100, "fast": 33, "bare": 0}


def test_an_empty_preference_is_no_wish():
    wishes = affinity(prefer_nodes=[(30, SSD), (60, node_term())])
    assert scores(NodeAffinity(), pod(affinity=wishes), nodes()) == {"both": 100, "fast": 100, "bare": 0}


def test_a_node_can_be_preferred_by_name():
    wishes = affinity(prefer_nodes=[(1, node_term(name="bare"))])
    assert scores(NodeAffinity(), pod(affinity=wishes), nodes()) == {"both": 0, "fast": 0, "bare": 100}


def test_without_wishes_or_with_wishes_that_nobody_meets_all_nodes_score_nothing():
    assert set(scores(NodeAffinity(), pod(), nodes()).values()) == {0}
    nobody = affinity(prefer_nodes=[(9, node_term(requirement("disk", "In", "tape")))])
    assert set(scores(NodeAffinity(), pod(affinity=nobody), nodes()).values()) == {0}


def adding(weight, term):
    return NodeAffinity((typed({"weight": weight, "preference": term}, PreferredSchedulingTerm),))


def test_what_the_profile_prefers_counts_for_pods_without_wishes():
    assert scores(adding(5, SSD), pod(), nodes()) == {"both": 100, "fast": 100, "bare": 0}


def test_what_the_profile_prefers_adds_to_what_the_pod_prefers():
    wishes = affinity(prefer_nodes=[(60, NEW)])
    assert scores(adding(30, SSD), pod(affinity=wishes), nodes()) == {"both": 100, "fast": 33, "bare": 0}


def test_two_profiles_do_not_share_what_they_prefer():
    cluster, plain = nodes(), pod()
    assert scores(adding(5, SSD), plain, cluster)["fast"] == 100
    assert scores(adding(5, NEW), plain, cluster)["fast"] == 0
    assert scores(NodeAffinity(), plain, cluster)["both"] == 0
