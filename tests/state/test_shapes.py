"""Pods that agree in everything that planning reads share one shape; nothing else does."""

import gc

import pytest

from koordpy.state.cluster import Cluster
from tests.builders import node, pod
from tests.plan.constraints import HOSTNAME, ZONE, affinity, host_port, node_term, pod_term, selector, spread_over


def shapes_of(*pods, cluster=None):
    cluster = cluster or Cluster()
    records = [cluster.upsert_pod(each) for each in pods]
    return [record.shape for record in records]


def test_pods_that_differ_in_name_only_share_a_shape():
    one, other = shapes_of(pod("a", cpu=1), pod("b", cpu="1000m"))
    assert one is other


@pytest.mark.parametrize(
    "difference",
    [
        {"cpu": 2},
        {"memory": "1Gi"},
        {"namespace": "other"},
        {"nvidia__com_gpu": 1},
        {"node_selector": {"disk": "ssd"}},
        {"tolerations": [{"operator": "Exists"}]},
        {"affinity": affinity(nodes=[node_term(name="n1")])},
        {"affinity": affinity(near=[pod_term(ZONE, selector(app="web"))])},
        {"affinity": affinity(apart=[pod_term(ZONE, selector(app="web"))])},
        {"spread": [spread_over(ZONE, selector(app="web"))]},
        {"host_ports": [host_port(80)]},
        {"image": "example.com/other:1"},
        {"owner": ("ReplicaSet", "workers")},
        {"terminating": True},
    ],
)
def test_what_a_filter_or_score_reads_makes_a_difference(difference):
    one, other = shapes_of(pod("a", cpu=1), pod("b", **{"cpu": 1} | difference))
    assert one is not other


def test_labels_make_no_difference_until_a_selector_asks_for_them():
    cluster = Cluster()
    one, other = shapes_of(pod("a", labels={"index": "1"}), pod("b", labels={"index": "2"}), cluster=cluster)
    assert one is other
    cluster.upsert_pod(pod("c", affinity=affinity(near=[pod_term(ZONE, selector(index="1"))])))
    first, second, _ = (record.shape for record in cluster.pods.values())
    assert first is not second
    assert (first.labels, second.labels) == ({"index": "1"}, {"index": "2"})


@pytest.mark.parametrize(
    "asking",
    [
        pod("q", spread=[spread_over(ZONE, selector(index="1"))]),
        pod("q", spread=[spread_over(ZONE, {}, matchLabelKeys=["index"])]),
        pod("q", affinity=affinity(prefer_apart=[(1, pod_term(HOSTNAME, selector(index="1")))])),
    ],
)
def test_every_kind_of_selector_of_a_pod_asks_for_its_keys(asking):
    cluster = Cluster()
    cluster.upsert_pod(asking)
    one, other = shapes_of(pod("a", labels={"index": "1"}), pod("b", labels={"index": "2"}), cluster=cluster)
    assert one is not other


def test_a_pod_that_is_reshaped_stays_counted_once():
    cluster = Cluster()
    cluster.upsert_node(node("n1", cpu=4))
    cluster.upsert_pod(pod("a", cpu=1, node="n1", labels={"app": "web"}, host_ports=[host_port(80)]))
    before = cluster.nodes.requested.copy()
    cluster.set_service("default", "web", {"app": "web"})
    assert cluster.changes.take().reshaped == set(cluster.pods)
    assert (cluster.nodes.requested == before).all()
    assert list(next(iter(cluster.pods.values())).shape.on_nodes.values()) == [1]


def test_ten_thousand_pods_of_one_owner_are_one_shape():
    cluster = Cluster()
    for i in range(10_000):
        cluster.upsert_pod(pod(f"p{i}", cpu=1, owner=("ReplicaSet", "workers"), labels={"index": str(i)}))
    assert len({id(record.shape) for record in cluster.pods.values()}) == 1
    assert len(list(cluster.shapes)) == 1


def test_a_shape_is_gone_with_its_last_pod():
    cluster = Cluster()
    only = pod("a", cpu=3)
    cluster.upsert_pod(only)
    cluster.remove_pod(only.metadata.uid)
    gc.collect()
    assert list(cluster.shapes) == []


def test_what_is_remembered_is_computed_again_only_for_another_generation():
    (shape,) = shapes_of(pod())
    computed = []
    for generation in (1, 1, 2, 2):
        shape.remember("what", generation, lambda: computed.append(1))
    assert len(computed) == 2
