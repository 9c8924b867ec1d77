from koordpy.plan.scores.network_topology import NetworkTopology
from tests.builders import pod
from tests.plan.asking import scores
from tests.plan.trees import EIGHT, SELECTOR, tree


def app(name, value, **given):
    return pod(name, annotations={SELECTOR: value}, **given)


def test_the_same_node_is_best_then_the_block_then_the_spine():
    cluster = tree(*EIGHT)
    cluster.upsert_pod(app("old", "x", node="node-1"))
    found = scores(NetworkTopology(), app("new", "x"), cluster)
    assert (found["node-1"], found["node-8"], found["node-2"], found["node-3"]) == (100, 66, 33, 0)


def test_one_pod_in_the_block_counts_for_more_than_many_in_the_spine():
    cluster = tree(*EIGHT)
    for name, where in (("a", "node-8"), ("b", "node-3"), ("c", "node-3")):
        cluster.upsert_pod(app(name, "x", node=where))
    found = scores(NetworkTopology(), app("new", "x"), cluster)
    assert found["node-1"] > found["node-4"] > found["node-2"] - 1
    assert found["node-3"] == 100


def test_pods_with_another_selector_or_none_do_not_attract():
    cluster = tree(*EIGHT)
    cluster.upsert_pod(app("other", "y", node="node-1"))
    cluster.upsert_pod(pod("silent", node="node-2"))
    assert set(scores(NetworkTopology(), app("new", "x"), cluster).values()) == {0}


def test_without_a_topology_all_nodes_score_nothing():
    cluster = tree(*EIGHT)
    cluster.topology.set_layers(())
    cluster.upsert_pod(app("old", "x", node="node-1"))
    assert set(scores(NetworkTopology(), app("new", "x"), cluster).values()) == {0}
