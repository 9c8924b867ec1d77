import pytest

from koordpy.plan.filters.inter_pod_affinity import InterPodAffinity
from tests.builders import node, pod
from tests.plan.asking import cluster_of, preemptible, reasons, refused
from tests.plan.constraints import HOSTNAME, ZONE, affinity, pod_term, requirement, selector

WEB, DB = selector(app="web"), selector(app="db")
AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
EXISTING = "node(s) didn't satisfy existing pods anti-affinity rules"


def two_zones(*pods):
    """Two nodes in zone a, one in zone b."""
    zones = {"a1": "a", "a2": "a", "b1": "b"}
    return cluster_of(*(node(name, labels={ZONE: zone}) for name, zone in zones.items()), *pods)


def web(name="web", at="", **more):
    return pod(name, node=at, labels={"app": "web"}, **more)


def with_affinity(*terms, **more):
    return pod("new", affinity=affinity(near=terms), **more)


def with_anti_affinity(*terms, **more):
    return pod("new", affinity=affinity(apart=terms), **more)


# --- affinity ---


def test_affinity_wants_a_matching_pod_in_the_domain():
    cluster = two_zones(web(at="a1"))
    assert reasons(InterPodAffinity(), with_affinity(pod_term(ZONE, WEB)), cluster) == {"b1": [AFFINITY]}
    assert refused(InterPodAffinity(), with_affinity(pod_term(HOSTNAME, WEB)), cluster) == {"a2", "b1"}


def test_one_pod_must_match_all_terms():
    """A web pod and a database pod beside each other are not a pod that is both."""
    cluster = two_zones(web(at="a1"), pod("db", node="a1", labels={"app": "db"}))
    assert refused(InterPodAffinity(), with_affinity(pod_term(ZONE, WEB), pod_term(ZONE, DB)), cluster) == {
        "a1",
        "a2",
        "b1",
    }


def test_each_term_looks_in_its_own_domain():
    cluster = two_zones(web(at="a1"))
    assert refused(InterPodAffinity(), with_affinity(pod_term(ZONE, WEB), pod_term(HOSTNAME, WEB)), cluster) == {
        "a2",
        "b1",
    }


def test_a_node_without_the_topology_label_never_satisfies_affinity():
    cluster = cluster_of(node("nowhere"), web(at="nowhere"))
    assert refused(InterPodAffinity(), with_affinity(pod_term(ZONE, WEB)), cluster) == {"nowhere"}


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (selector(requirement("app", "In", "web", "db")), True),
        (selector(requirement("app", "NotIn", "web")), False),
        (selector(requirement("app", "Exists")), True),
        (selector(requirement("app", "DoesNotExist")), False),
        (selector(requirement("app", "Exists"), app="web"), True),
        (selector(requirement("tier", "Exists"), app="web"), False),
        ({}, True),  # everything
        (None, False),  # nothing
    ],
)
def test_label_selectors(asked, found):
    cluster = two_zones(web(at="a1"))
    assert refused(InterPodAffinity(), with_anti_affinity(pod_term(HOSTNAME, asked)), cluster) == (
        {"a1"} if found else set()
    )


def test_terminating_pods_still_satisfy_affinity():
    cluster = two_zones(web(at="a1", terminating=True))
    assert refused(InterPodAffinity(), with_affinity(pod_term(ZONE, WEB)), cluster) == {"b1"}


# --- the first of a set ---


def test_the_first_pod_whose_affinity_matches_itself_may_go_anywhere():
    alone = web("new", affinity=affinity(near=[pod_term(ZONE, WEB)]))
    cluster = cluster_of(node("a1", labels={ZONE: "a"}), node("nowhere"))
    assert refused(InterPodAffinity(), alone, cluster) == {"nowhere"}  # the label is needed all the same


def test_the_second_pod_must_follow_the_first():
    second = web("new", affinity=affinity(near=[pod_term(ZONE, WEB)]))
    assert refused(InterPodAffinity(), second, two_zones(web(at="b1"))) == {"a1", "a2"}


def test_the_exception_is_not_for_pods_whose_affinity_does_not_match_themselves():
    assert refused(InterPodAffinity(), with_affinity(pod_term(ZONE, WEB)), two_zones()) == {"a1", "a2", "b1"}


def test_a_pod_that_is_in_the_domain_of_one_term_only_ends_the_exception():
    """The web pod is on a host but in no zone: the new one must be near it by host, and cannot be by zone."""
    cluster = cluster_of(node("nowhere"), node("a1", labels={ZONE: "a"}), web(at="nowhere"))
    terms = [pod_term(HOSTNAME, WEB), pod_term(ZONE, WEB)]
    assert refused(InterPodAffinity(), web("new", affinity=affinity(near=terms)), cluster) == {"nowhere", "a1"}


# --- anti-affinity ---


def test_anti_affinity_wants_no_matching_pod_in_the_domain():
    cluster = two_zones(web(at="a1"))
    assert reasons(InterPodAffinity(), with_anti_affinity(pod_term(ZONE, WEB)), cluster) == {
        "a1": [ANTI_AFFINITY],
        "a2": [ANTI_AFFINITY],
    }
    assert refused(InterPodAffinity(), with_anti_affinity(pod_term(HOSTNAME, WEB)), cluster) == {"a1"}


def test_a_node_without_the_topology_label_always_satisfies_anti_affinity():
    cluster = cluster_of(node("nowhere"), web(at="nowhere"))
    assert refused(InterPodAffinity(), with_anti_affinity(pod_term(ZONE, WEB)), cluster) == set()


def test_one_anti_affinity_term_of_many_is_enough_to_refuse():
    cluster = two_zones(web(at="a1"), pod("db", node="b1", labels={"app": "db"}))
    assert refused(InterPodAffinity(), with_anti_affinity(pod_term(ZONE, WEB), pod_term(ZONE, DB)), cluster) == {
        "a1",
        "a2",
        "b1",
    }


def test_the_anti_affinity_of_an_existing_pod_refuses_the_new_one():
    exclusive = pod("exclusive", node="a1", affinity=affinity(apart=[pod_term(ZONE, WEB)]))
    cluster = two_zones(exclusive)
    assert reasons(InterPodAffinity(), web("new"), cluster) == {"a1": [EXISTING], "a2": [EXISTING]}
    assert refused(InterPodAffinity(), pod("other", labels={"app": "db"}), cluster) == set()


def test_the_anti_affinity_of_several_existing_pods_refuses_all_their_domains():
    exclusives = [
        pod(f"exclusive{i}", node=at, affinity=affinity(apart=[pod_term(key, WEB)]))
        for i, (at, key) in enumerate([("a1", HOSTNAME), ("b1", ZONE)])
    ]
    assert refused(InterPodAffinity(), web("new"), two_zones(*exclusives)) == {"a1", "b1"}


def test_the_anti_affinity_of_a_deleted_pod_refuses_nothing():
    exclusive = pod("exclusive", node="a1", affinity=affinity(apart=[pod_term(ZONE, WEB)]))
    cluster = two_zones(exclusive)
    cluster.remove_pod(exclusive.metadata.uid)
    assert refused(InterPodAffinity(), web("new"), cluster) == set()


def test_affinity_gives_the_reason_before_anti_affinity_and_that_before_existing_pods():
    rules = affinity(near=[pod_term(HOSTNAME, DB)], apart=[pod_term(ZONE, WEB)])
    exclusive = pod("exclusive", node="a1", labels={"app": "db"}, affinity=affinity(apart=[pod_term(ZONE, WEB)]))
    cluster = two_zones(exclusive, web(at="a1"), pod("db", node="b1", labels={"app": "db"}))
    assert reasons(InterPodAffinity(), web("new", affinity=rules), cluster) == {"a1": [ANTI_AFFINITY], "a2": [AFFINITY]}


# --- namespaces ---


@pytest.mark.parametrize(
    ("more", "namespaces"),
    [
        ({}, {"default"}),
        ({"namespaces": ["blue"]}, {"blue"}),
        ({"namespaceSelector": {}}, {"default", "blue", "red"}),
        ({"namespaceSelector": selector(team="a")}, {"blue"}),
        ({"namespaceSelector": selector(team="a"), "namespaces": ["red"]}, {"blue", "red"}),
        ({"namespaceSelector": selector(team="nobody")}, set()),
    ],
)
def test_a_term_applies_to_the_namespaces_it_names_and_selects(more, namespaces):
    for namespace in ("default", "blue", "red"):
        cluster = cluster_of(node(), web(at="n1", namespace=namespace))
        cluster.set_namespace("blue", {"team": "a"})
        cluster.set_namespace("red", {"team": "b"})
        found = refused(InterPodAffinity(), with_affinity(pod_term(HOSTNAME, WEB, **more)), cluster) == set()
        assert found == (namespace in namespaces)


def test_a_namespace_that_is_relabelled_is_selected_or_not_any_more():
    cluster = cluster_of(node(), web(at="n1", namespace="blue"))
    asking = with_affinity(pod_term(HOSTNAME, WEB, namespaceSelector=selector(team="a")))
    assert refused(InterPodAffinity(), asking, cluster) == {"n1"}
    cluster.set_namespace("blue", {"team": "a"})
    assert refused(InterPodAffinity(), asking, cluster) == set()
    cluster.set_namespace("blue", None)
    assert refused(InterPodAffinity(), asking, cluster) == {"n1"}


def test_the_terms_of_existing_pods_select_namespaces_too():
    term = pod_term(HOSTNAME, WEB, namespaceSelector=selector(team="a"))
    cluster = cluster_of(node(), pod("exclusive", node="n1", affinity=affinity(apart=[term])))
    assert refused(InterPodAffinity(), web("new"), cluster) == set()
    cluster.set_namespace("default", {"team": "a"})
    assert refused(InterPodAffinity(), web("new"), cluster) == {"n1"}


# --- preemption ---


def test_evicting_pods_helps_against_anti_affinity_and_not_for_affinity():
    exclusive = pod("exclusive", node="b1", affinity=affinity(apart=[pod_term(HOSTNAME, {})]))
    cluster = two_zones(web(at="a1"), exclusive)
    assert preemptible(InterPodAffinity(), with_anti_affinity(pod_term(HOSTNAME, WEB)), cluster) == {"a1", "b1"}
    assert preemptible(InterPodAffinity(), with_affinity(pod_term(HOSTNAME, DB)), cluster) == set()
