"""Resources have columns because nodes have them; what pods ask for costs nothing before that, and counts then."""

import gc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from koordpy.api.errors import MalformedValue
from koordpy.state.cluster import Cluster
from koordpy.state.trial import Trial
from tests.builders import node, pod
from tests.plan.counts import counts_of

CARDS = ["example__com_a", "example__com_b", "example__com_c"]


def cluster_of(*nodes):
    cluster = Cluster()
    for each in nodes:
        cluster.upsert_node(each)
    return cluster


def used(cluster, resource, name="n1"):
    row = cluster.resources.row(resource)
    cluster.nodes.fit_resources()
    return int(cluster.nodes.requested[row, cluster.nodes.row_of(name)])


def shape_of(cluster, *args, **arguments):
    return cluster.upsert_pod(pod(*args, **arguments)).shape


def test_names_that_pods_invent_cost_no_columns():
    cluster = cluster_of(node())
    before = cluster.nodes.requested.shape, len(cluster.resources)
    for i in range(100):
        cluster.upsert_pod(pod(f"p{i}", node="n1" if i % 2 else "", **{f"example__com_{i}": 1}))
    assert (cluster.nodes.requested.shape, len(cluster.resources)) == before


def test_nothing_is_kept_of_pods_that_asked_for_what_is_nowhere():
    cluster = cluster_of(node())
    records = [cluster.upsert_pod(pod(f"p{i}", **{f"example__com_{i}": 1})) for i in range(3)]
    for uid in [record.uid for record in records]:
        cluster.remove_pod(uid)
    del records
    gc.collect()
    assert list(cluster.shapes) == list(cluster.resources._lacking) == []


def test_nowhere_is_room_for_what_no_node_has():
    cluster = cluster_of(node())
    shape = shape_of(cluster, example__com_card=1)
    assert not cluster.nodes.has_room(cluster.nodes.row_of("n1"), shape)
    assert cluster.nodes.slots(shape) == 0


def test_what_pods_have_of_a_resource_counts_when_a_node_offers_it():
    cluster = cluster_of(node())
    shape_of(cluster, node="n1", example__com_card=3)
    cluster.upsert_node(node(example__com_card=8))
    assert used(cluster, "example.com/card") == 3


def test_a_pod_that_waited_for_a_resource_has_room_where_a_node_offers_it():
    cluster = cluster_of(node("n1"), node("n2"))
    shape = shape_of(cluster, example__com_card=3)
    cluster.upsert_node(node("n2", example__com_card=4))
    rooms = {name: cluster.nodes.has_room(cluster.nodes.row_of(name), shape) for name in ("n1", "n2")}
    assert rooms == {"n1": False, "n2": True}
    assert cluster.nodes.slots(shape) == 1


def test_what_is_still_nowhere_is_still_waited_for():
    cluster = cluster_of(node())
    shapes = shape_of(cluster, "one", example__com_a=1, example__com_b=2), shape_of(cluster, "other", example__com_b=1)
    cluster.upsert_node(node(example__com_a=8))
    assert [cluster.nodes.has_room(0, shape) for shape in shapes] == [False, False]
    cluster.upsert_node(node(example__com_a=8, example__com_b=8))
    assert [cluster.nodes.has_room(0, shape) for shape in shapes] == [True, True]


def test_a_trial_in_which_a_resource_gets_its_columns_leaves_no_trace():
    cluster = cluster_of(node())
    shape = shape_of(cluster, example__com_card=3)
    with Trial(cluster.occupancy) as trial:
        trial.place(0, shape, 2)
        assert used(cluster, "example.com/card") == 6  # as a score does that is told to weigh it
        trial.place(0, shape)
    assert not cluster.nodes.requested.any()


def test_a_node_that_cannot_be_read_gives_its_resources_no_columns():
    cluster = cluster_of(node())
    cluster.upsert_pod(pod("a", node="n1", labels={"app": "a"}, example__com_card=1))
    with pytest.raises(MalformedValue):
        cluster.upsert_node(node("n2", example__com_card=1, example__com_other="lots"))
    cluster.set_service("default", "a", {"app": "a"})  # the pod gets another shape
    assert used(cluster, "example.com/card") == 1


some_cards = st.dictionaries(st.sampled_from(CARDS), st.integers(1, 5), max_size=3)
news = st.one_of(
    st.tuples(st.just("node"), st.integers(0, 2), some_cards),
    st.tuples(st.just("pod"), st.integers(0, 2), some_cards),
    st.tuples(st.just("gone"), st.integers(0, 2), st.just({})),
)


@given(st.lists(news, max_size=12))
def test_it_does_not_matter_whether_nodes_or_pods_come_first(history):
    cluster, nodes, pods = Cluster(), {}, []
    for number, (kind, where, cards) in enumerate(history):
        name = f"n{where}"
        if kind == "node":
            nodes[name] = node(name, **cards)
            cluster.upsert_node(nodes[name])
        elif kind == "pod":
            pods.append(pod(f"p{number}", node=name, **cards))
            cluster.upsert_pod(pods[-1])
        elif nodes.pop(name, None):
            cluster.remove_node(name)
    afresh = cluster_of(*nodes.values())
    for each in pods:
        afresh.upsert_pod(each)
    assert counts_of(cluster)["requested"] == counts_of(afresh)["requested"]
    for uid, record in cluster.pods.items():
        names = {name: cluster.nodes.has_room(cluster.nodes.row_of(name), record.shape) for name in nodes}
        shape = afresh.pods[uid].shape
        assert names == {name: afresh.nodes.has_room(afresh.nodes.row_of(name), shape) for name in nodes}
    for uid in list(cluster.pods):
        cluster.remove_pod(uid)
    assert not np.any(cluster.nodes.requested)
