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
    preferences = affinity(prefer_nodes=[(30, SSD), (60, NEW)])
    assert scores(NodeAffinity(), pod(affinity=preferences), nodes()) == {"both": 100, "fast": 33, "bare": 0}


def test_an_empty_preferred_term_matches_no_node():
    preferences = affinity(prefer_nodes=[(30, SSD), (60, node_term())])
    assert scores(NodeAffinity(), pod(affinity=preferences), nodes()) == {"both": 100, "fast": 100, "bare": 0}


def test_a_node_can_be_preferred_by_name():
    preferences = affinity(prefer_nodes=[(1, node_term(name="bare"))])
    assert scores(NodeAffinity(), pod(affinity=preferences), nodes()) == {"both": 0, "fast": 0, "bare": 100}


def test_without_preferred_terms_or_with_terms_that_match_no_node_all_nodes_score_nothing():
    assert set(scores(NodeAffinity(), pod(), nodes()).values()) == {0}
    nobody = affinity(prefer_nodes=[(9, node_term(requirement("disk", "In", "tape")))])
    assert set(scores(NodeAffinity(), pod(affinity=nobody), nodes()).values()) == {0}


def adding(weight, term):
    return NodeAffinity((typed({"weight": weight, "preference": term}, PreferredSchedulingTerm),))


def test_preferred_terms_of_the_profile_count_for_pods_without_their_own():
    assert scores(adding(5, SSD), pod(), nodes()) == {"both": 100, "fast": 100, "bare": 0}


def test_preferred_terms_of_the_profile_add_to_those_of_the_pod():
    preferences = affinity(prefer_nodes=[(60, NEW)])
    assert scores(adding(30, SSD), pod(affinity=preferences), nodes()) == {"both": 100, "fast": 33, "bare": 0}


def test_two_profiles_do_not_share_their_preferred_terms():
    cluster, plain = nodes(), pod()
    assert scores(adding(5, SSD), plain, cluster)["fast"] == 100
    assert scores(adding(5, NEW), plain, cluster)["fast"] == 0
    assert scores(NodeAffinity(), plain, cluster)["both"] == 0
