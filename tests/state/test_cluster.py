import numpy as np
import pytest

from koordpy.api.errors import MalformedValue
from koordpy.api.pod import Pod
from koordpy.state.cluster import Cluster
from koordpy.state.events import NO_EVENT, ClusterEvent, EventKind
from koordpy.state.nodes.resources import CPU, PODS
from tests.builders import node, pod, pod_json, typed, with_identity


def cluster_of(*nodes):
    cluster = Cluster()
    for each in nodes:
        cluster.upsert_node(each)
    return cluster


def event(cluster):
    """What happened since the last look, as one event."""
    found = NO_EVENT
    for each in cluster.changes.take().events:
        found = found.merged_with(each)
    return found


def used(cluster, name="n1"):
    row = cluster.nodes.row_of(name)
    return int(cluster.nodes.requested[CPU, row])


def test_a_bound_pod_counts_on_its_node():
    cluster = cluster_of(node())
    cluster.upsert_pod(pod(cpu=2, node="n1"))
    assert used(cluster) == 2000


def test_a_pod_that_arrives_before_its_node_counts_when_the_node_comes():
    cluster = cluster_of()
    cluster.upsert_pod(pod(cpu=2, node="n1"))
    cluster.upsert_node(node())
    assert used(cluster) == 2000


def test_a_node_that_returns_still_carries_its_pods():
    cluster = cluster_of(node())
    cluster.upsert_pod(pod(cpu=2, node="n1"))
    cluster.remove_node("n1")
    cluster.upsert_node(node("other"))
    cluster.upsert_node(node())
    assert (used(cluster), used(cluster, "other")) == (2000, 0)


def test_an_assumed_pod_counts_at_once_and_only_once_when_confirmed():
    cluster = cluster_of(node())
    pending = with_identity(pod_json(cpu=2))
    record = cluster.upsert_pod(typed(pending, Pod))
    cluster.assume(record.uid, "n1")
    assert used(cluster) == 2000
    pending["spec"]["nodeName"] = "n1"
    cluster.changes.take()
    cluster.upsert_pod(typed(pending, Pod))
    assert event(cluster) == ClusterEvent(EventKind.VICTIMS, "n1")  # a pod that runs can be evicted
    cluster.upsert_pod(typed(pending, Pod))
    assert event(cluster) is NO_EVENT
    assert used(cluster) == 2000


def test_the_watch_wins_when_a_pod_is_bound_elsewhere():
    cluster = cluster_of(node("n1"), node("n2"))
    pending = with_identity(pod_json(cpu=2))
    record = cluster.upsert_pod(typed(pending, Pod))
    cluster.assume(record.uid, "n1")
    pending["spec"]["nodeName"] = "n2"
    cluster.changes.take()
    cluster.upsert_pod(typed(pending, Pod))
    happened = event(cluster)
    assert (used(cluster, "n1"), used(cluster, "n2")) == (0, 2000)
    assert EventKind.ROOM_FREED in happened.kind
    assert happened.node == "n1"


def test_an_update_of_a_pending_pod_does_not_take_back_its_assumption():
    cluster = cluster_of(node())
    pending = with_identity(pod_json(cpu=2))
    record = cluster.upsert_pod(typed(pending, Pod))
    cluster.assume(record.uid, "n1")
    pending["metadata"]["labels"] = {"new": "label"}
    cluster.upsert_pod(typed(pending, Pod))
    assert used(cluster) == 2000


def test_forgetting_frees_the_room():
    cluster = cluster_of(node())
    record = cluster.upsert_pod(pod(cpu=2))
    cluster.assume(record.uid, "n1")
    cluster.forget(record.uid)
    assert EventKind.ROOM_FREED in event(cluster).kind
    assert used(cluster) == 0


def test_what_the_api_server_confirmed_is_not_forgotten():
    cluster = cluster_of(node())
    record = cluster.upsert_pod(pod(cpu=2, node="n1"))
    cluster.changes.take()
    cluster.forget(record.uid)
    assert event(cluster) is NO_EVENT
    assert used(cluster) == 2000


def test_a_removed_pod_frees_its_room():
    cluster = cluster_of(node())
    record = cluster.upsert_pod(pod(cpu=2, node="n1"))
    cluster.changes.take()
    cluster.remove_pod(record.uid)
    happened = event(cluster)
    assert EventKind.ROOM_FREED in happened.kind
    assert used(cluster) == 0


def test_a_resized_pod_counts_what_it_asks_for_now():
    cluster = cluster_of(node())
    running = with_identity(pod_json(cpu=2, node="n1"))
    cluster.upsert_pod(typed(running, Pod))
    running["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "500m"
    cluster.changes.take()
    cluster.upsert_pod(typed(running, Pod))
    happened = event(cluster)
    assert EventKind.ROOM_FREED in happened.kind
    assert used(cluster) == 500


def test_a_pod_resized_as_a_whole_counts_what_its_node_has_given_it():
    cluster = cluster_of(node())
    running = with_identity(pod_json(node="n1"))
    running["spec"]["resources"] = {"requests": {"cpu": "1"}}
    cluster.upsert_pod(typed(running, Pod))
    running["status"] = {"resources": {"requests": {"cpu": "2"}}}
    cluster.upsert_pod(typed(running, Pod))
    assert used(cluster) == 2000
    running["status"]["allocatedResources"] = {"cpu": "3"}
    cluster.upsert_pod(typed(running, Pod))
    assert used(cluster) == 3000


def test_a_node_with_an_unreadable_quantity_is_refused_and_changes_nothing():
    cluster = cluster_of(node(cpu=4))
    with pytest.raises(MalformedValue, match=r"status.allocatable\[cpu\]: 'lots'"):
        cluster.upsert_node(node(cpu="lots"))
    assert cluster.nodes.allocatable[CPU, cluster.nodes.row_of("n1")] == 4000


def test_rows_are_reused_and_empty():
    cluster = cluster_of(node("a", nvidia__com_gpu=8))
    cluster.upsert_pod(pod(cpu=2, node="a"))
    row = cluster.nodes.row_of("a")
    cluster.remove_node("a")
    cluster.upsert_node(node("b"))
    assert cluster.nodes.row_of("b") == row
    assert (used(cluster, "b"), cluster.nodes.requested[PODS, row]) == (0, 0)


def test_columns_grow_past_their_first_size():
    cluster = cluster_of(*(node(f"n{i}", cpu=i + 1) for i in range(300)))
    rows = [cluster.nodes.row_of(f"n{i}") for i in range(300)]
    assert [int(v) for v in cluster.nodes.allocatable[CPU, rows]] == [1000 * (i + 1) for i in range(300)]
    assert np.count_nonzero(cluster.nodes.live) == len(cluster.nodes) == 300


def test_more_allocatable_is_news_and_less_is_not():
    cluster = cluster_of(node(cpu=4))
    cluster.changes.take()
    cluster.upsert_node(node(cpu=8))
    assert EventKind.NODE_GREW in event(cluster).kind
    cluster.upsert_node(node(cpu=2))
    assert event(cluster) is NO_EVENT


def test_a_pod_that_begins_to_terminate_frees_no_room():
    cluster = cluster_of(node())
    running, leaving = (pod_json("a", cpu=1, node="n1", terminating=leaves) for leaves in (False, True))
    for obj in (running, leaving):
        obj["metadata"]["uid"] = "a"
    cluster.upsert_pod(typed(with_identity(running), Pod))
    cluster.changes.take()
    cluster.upsert_pod(typed(with_identity(leaving), Pod))
    happened = event(cluster)
    assert not happened.kind & EventKind.ROOM_FREED
    assert happened.kind & EventKind.POD_LEFT  # whoever is spread does not count it any more
    cluster.remove_pod("a")
    assert event(cluster).kind & EventKind.ROOM_FREED
