"""Nominations: what we decide counts until the API server says so, and no longer than our leadership."""

from __future__ import annotations

from koordpy.api.pod import Pod
from koordpy.state.cluster import Cluster
from tests.builders import node, pod_json, typed, with_identity


def nominated(name: str, on: str) -> Pod:
    obj = with_identity(pod_json(name, cpu=1))
    obj["metadata"]["uid"] = name
    obj["status"] = {"nominatedNodeName": on} if on else {}
    return typed(obj, Pod)


def cluster_of(*pods: Pod) -> Cluster:
    cluster = Cluster()
    for name in ("n1", "n2"):
        cluster.upsert_node(node(name))
    for each in pods:
        cluster.upsert_pod(each)
    return cluster


def nodes(cluster: Cluster) -> dict[str, str]:
    return {each.pod.uid: each.node for each in cluster.nominations}


def test_our_decision_counts_while_the_watch_still_shows_an_older_one():
    cluster = cluster_of(nominated("a", "n2"))
    cluster.nominate("a", "n1")
    cluster.upsert_pod(nominated("a", "n2"))
    assert nodes(cluster) == {"a": "n1"}


def test_the_api_servers_word_counts_once_it_has_said_what_we_decided():
    cluster = cluster_of(nominated("a", ""))
    cluster.nominate("a", "n1")
    cluster.upsert_pod(nominated("a", "n1"))
    cluster.upsert_pod(nominated("a", "n2"))
    assert nodes(cluster) == {"a": "n2"}


def test_a_decision_that_was_never_sent_does_not_survive_the_loss_of_leadership():
    cluster = cluster_of(nominated("a", "n2"), nominated("b", ""))
    cluster.nominate("a", "n1")
    cluster.nominate("b", "n1")
    cluster.start_over()
    assert nodes(cluster) == {"a": "n2"}


def test_they_are_found_by_node_and_by_job():
    cluster = cluster_of(nominated("a", "n1"), nominated("b", "n1"), nominated("c", "n2"))
    assert [each.pod.uid for each in cluster.nominations.on("n1")] == ["a", "b"]
    assert [each.node for each in cluster.nominations.of("c")] == ["n2"]
    cluster.remove_pod("a")
    assert [each.pod.uid for each in cluster.nominations.on("n1")] == ["b"]


def test_a_pod_that_is_assumed_needs_its_nomination_no_more():
    cluster = cluster_of(nominated("a", "n1"))
    cluster.assume("a", "n2")
    assert nodes(cluster) == {}
    cluster.forget("a")
    assert nodes(cluster) == {"a": "n1"}


def test_an_image_pull_leaves_what_is_known_about_nodes_as_it_is():
    cluster = cluster_of()
    before = cluster.version
    cluster.upsert_node(node("n1", images={"registry.example/app:1": 50_000_000}))
    assert cluster.version == before
