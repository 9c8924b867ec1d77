"""Placement of one pod: who is asked, in which order, what is said when nobody can, and who wins."""

import pytest

from koordpy.plan.framework.answers import Plan
from koordpy.plan.framework.job import Job
from koordpy.plan.placement import fit
from koordpy.plan.placement.pods import plan
from tests.builders import node, pod
from tests.plan.asking import cluster_of
from tests.plan.constraints import (
    HOSTNAME,
    ZONE,
    affinity,
    host_port,
    node_term,
    pod_term,
    requirement,
    selector,
    spread_over,
    taint,
)
from tests.plan.judgement import PROFILE


def answer(cluster, *pods):
    records = tuple(cluster.upsert_pod(each) for each in pods)
    return plan(Job("job", records), cluster, PROFILE)


def nodes_of(cluster, *pods):
    found = answer(cluster, *pods)
    assert isinstance(found, Plan), found.message
    return [each.node for each in found.placements]


# --- reasons ---


def test_a_node_counts_under_the_first_filter_that_refuses_it():
    """One node for each filter; all of them lack CPU as well."""
    hermit = pod("hermit", node="anti", affinity=affinity(apart=[pod_term(HOSTNAME, selector(app="web"))]))
    cluster = cluster_of(
        node("cordoned", cordoned=True, taints=[taint("spot")]),
        node("tainted", taints=[taint("spot")]),
        node("slow", labels={"disk": "hdd"}),
        node("busy", labels={"disk": "ssd"}),
        node("full", cpu=1, labels={"disk": "ssd"}),
        node("nowhere", labels={"disk": "ssd"}),
        node("anti", labels={"disk": "ssd", ZONE: "a"}),
        pod("listener", node="busy", cpu=4, host_ports=[host_port(80)]),
        hermit,
    )
    picky = pod(
        "new",
        cpu=2,
        labels={"app": "web"},
        node_selector={"disk": "ssd"},
        host_ports=[host_port(80)],
        spread=[spread_over(ZONE, selector(app="web"))],
    )
    assert answer(cluster, picky).message == (
        "0/7 nodes are available: 1 Insufficient cpu, "
        "1 node(s) didn't have free ports for the requested pod ports, "
        "1 node(s) didn't match Pod's node affinity/selector, "
        "1 node(s) didn't match pod topology spread constraints (missing required label), "
        "1 node(s) didn't satisfy existing pods anti-affinity rules, "
        "1 node(s) had untolerated taint(s), "
        "1 node(s) were unschedulable."
    )


def test_counts_are_sorted_as_text_so_ten_stands_before_two():
    cluster = cluster_of(
        *(node(f"n{i}", cpu=1) for i in range(10)), node("c1", cordoned=True), node("c2", cordoned=True)
    )
    message = "0/12 nodes are available: 10 Insufficient cpu, 2 node(s) were unschedulable."
    assert answer(cluster, pod(cpu=2)).message == message


def test_a_node_counts_under_every_resource_it_lacks():
    message = "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 Too many pods."
    assert answer(cluster_of(node(cpu=1, memory="1Gi", pods=0)), pod(cpu=2, memory="2Gi")).message == message


# --- pinned names ---


def test_a_pod_that_names_its_nodes_asks_only_those():
    cluster = cluster_of(node("a", cpu=1), node("b"), node("c", cordoned=True))
    pinned = affinity(nodes=[node_term(name="a"), node_term(name="elsewhere")])
    message = "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    assert answer(cluster, pod(cpu=2, affinity=pinned)).message == message


def test_one_term_without_a_name_opens_all_nodes():
    cluster = cluster_of(node("a"), node("b"))
    terms = [node_term(name="a"), node_term(requirement("disk", "Exists"))]
    message = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector."
    assert answer(cluster, pod(cpu=8, affinity=affinity(nodes=terms))).message == message


def test_a_pod_that_names_a_node_goes_there():
    cluster = cluster_of(node("a", cpu=64), node("b"))
    assert nodes_of(cluster, pod(affinity=affinity(nodes=[node_term(name="b")]))) == ["b"]


def test_names_that_contradict_each_other_are_refused_before_any_node_is_asked():
    both = {"matchFields": [requirement("metadata.name", "In", "a"), requirement("metadata.name", "In", "b")]}
    refusal = answer(cluster_of(node("a"), node("b")), pod(affinity=affinity(nodes=[both])))
    assert refusal.message == "0/2 nodes are available: pod affinity terms conflict."


# --- the best ---


def test_equal_nodes_go_by_name():
    assert nodes_of(cluster_of(node("b"), node("c"), node("a")), pod(cpu=1)) == ["a"]


def test_weights_decide_between_scores():
    """A taint to avoid (weight 3) outweighs a preferred node (weight 2)."""
    cluster = cluster_of(
        node("liked", labels={"disk": "ssd"}, taints=[taint("spot", effect="PreferNoSchedule")]), node("plain")
    )
    declaration = affinity(prefer_nodes=[(100, node_term(requirement("disk", "Exists")))])
    assert nodes_of(cluster, pod(affinity=declaration)) == ["plain"]


def test_the_only_node_is_taken_without_scores(monkeypatch):
    monkeypatch.setattr(fit, "scores", lambda *_: pytest.fail("nobody needs scores here"))
    assert nodes_of(cluster_of(node("only"), node("cordoned", cordoned=True)), pod()) == ["only"]


# --- jobs ---


def test_members_see_those_before_them():
    cluster = cluster_of(node("a", cpu=2), node("b", cpu=2))
    assert sorted(nodes_of(cluster, *(pod(f"m{i}", cpu=1) for i in range(4)))) == ["a", "a", "b", "b"]


def test_members_can_depend_on_each_other():
    """The first goes anywhere, the others must be in its zone and on other nodes."""
    cluster = cluster_of(*(node(f"{zone}{i}", labels={ZONE: zone}) for zone in "ab" for i in range(3)))
    web = selector(app="web")
    together = affinity(near=[pod_term(ZONE, web)], apart=[pod_term(HOSTNAME, web)])
    members = [pod(f"m{i}", labels={"app": "web"}, affinity=together) for i in range(3)]
    assert sorted(nodes_of(cluster, *members)) == ["a0", "a1", "a2"]


def test_a_job_that_does_not_fit_names_its_culprit_and_leaves_no_trace():
    cluster = cluster_of(node(cpu=2))
    members = [pod(f"m{i}", cpu=1, host_ports=[host_port(80 + i)]) for i in range(3)]
    refusal = answer(cluster, *members)
    assert refusal.culprit == members[2].metadata.uid
    assert refusal.message == "0/1 nodes are available: 1 Insufficient cpu."
    assert not cluster.nodes.requested.any()
    assert nodes_of(cluster, pod("other", host_ports=[host_port(80)])) == ["n1"]


def test_planning_twice_gives_the_same_plan():
    cluster = cluster_of(*(node(f"n{i}", cpu=1 + i % 3) for i in range(9)))
    records = tuple(cluster.upsert_pod(pod(f"m{i}", cpu=1)) for i in range(7))
    assert plan(Job("job", records), cluster, PROFILE) == plan(Job("job", records), cluster, PROFILE)
