"""How good a placement is, beside the best on an empty cluster."""

from __future__ import annotations

from typing import Any

from koordpy.plan.framework.answers import Placement
from koordpy.plan.topology.rating import Rating, rate
from koordpy.state.cluster import Cluster
from tests.builders import pod
from tests.plan.constraints import host_port
from tests.plan.gang_jobs import NAME, PROFILE, members
from tests.plan.trees import BLOCK, EIGHT, ONE, SPINE, tree

NODE = "NodeTopologyLayer"


def rated(cluster: Cluster, nodes: list[str], **given: Any) -> Rating:
    """Of pods of one CPU that go to these nodes."""
    pods = members(cluster, len(nodes), **({"cpu": 1} | given))
    placements = [Placement(each.uid, node) for each, node in zip(pods, nodes, strict=True)]
    found = rate(placements, cluster.pods, cluster, {NAME: PROFILE})
    assert found is not None
    return found


def test_what_fills_a_block_could_not_be_better():
    rating = rated(tree(*EIGHT), ["node-1", "node-8"])
    assert (rating.layer, rating.domain, rating.score) == (BLOCK, "s1/b1", 1.0)


def test_twice_the_domains_that_were_needed_in_two_of_three_layers():
    rating = rated(tree(*EIGHT), ["node-1", "node-3"])
    assert (rating.layer, rating.domain) == ("ClusterTopologyLayer", "")
    assert rating.used == {SPINE: 2, BLOCK: 2, NODE: 2}
    assert rating.least == {SPINE: 1, BLOCK: 1, NODE: 2}
    assert rating.score == round(4 / 6, 3)


def test_who_runs_there_already_does_not_make_it_look_better():
    cluster = tree(*EIGHT)
    for name in ("node-8", "node-6"):
        cluster.upsert_pod(pod(f"on-{name}", node=name, cpu=1))
    assert rated(cluster, ["node-1", "node-3"]).score == round(4 / 6, 3)


def test_a_job_that_no_single_domain_holds_is_measured_by_the_fewest_that_do():
    rating = rated(tree(*EIGHT), [f"node-{number}" for number in range(1, 7)])
    assert rating.least == {SPINE: 2, BLOCK: 3, NODE: 6}
    assert rating.used == {SPINE: 2, BLOCK: 4, NODE: 6}


def test_a_host_port_needs_a_node_for_each_member():
    rating = rated(
        tree(("s1/b1", "n1", {"cpu": 8}), ("s1/b1", "n2", {"cpu": 8})), ["n1", "n2"], host_ports=[host_port(80)]
    )
    assert (rating.least[NODE], rating.score) == (2, 1.0)


def test_nodes_without_labels_are_no_domain():
    rating = rated(tree(("", "n1", ONE), ("", "n2", ONE), ("s1/b1", "n3", ONE)), ["n1", "n2"])
    assert (rating.layer, rating.domain) == ("ClusterTopologyLayer", "")


def test_without_a_topology_there_is_nothing_to_say():
    cluster = tree(*EIGHT)
    cluster.topology.set_layers(())
    (only,) = members(cluster, 1, cpu=1)
    assert rate([Placement(only.uid, "node-1")], cluster.pods, cluster, {NAME: PROFILE}) is None
