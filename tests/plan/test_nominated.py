"""Nominated pods: which pods must leave their room alone, and which may take it."""

from koordpy.api.pod import Pod
from koordpy.plan.framework.answers import Plan
from koordpy.plan.framework.job import Job
from koordpy.plan.framework.profiles import default_profile
from koordpy.plan.placement.pods import plan
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from tests.builders import node, pod, pod_json, typed, with_identity

PROFILE = default_profile("koord-scheduler")


def nominated(name, to, **arguments):
    body = with_identity(pod_json(name, **arguments))
    body["status"] = {"nominatedNodeName": to}
    return typed(body, Pod)


def cluster_of(*objects):
    cluster = Cluster()
    for each in objects:
        cluster.upsert_node(each) if not isinstance(each, Pod) else cluster.upsert_pod(each)
    return cluster


def node_for(cluster, wanted):
    record = cluster.upsert_pod(wanted)
    answer = plan(Job(record.uid, (record,)), cluster, PROFILE)
    return answer.placements[0].node if isinstance(answer, Plan) else answer.message


def test_a_pod_of_lower_or_equal_priority_does_not_take_the_room_of_a_nominated_pod():
    cluster = cluster_of(node("n1", cpu=4), nominated("nominated", "n1", cpu=3, priority=10))
    for priority in (0, 10):
        assert node_for(cluster, pod(cpu=2, priority=priority)) == "0/1 nodes are available: 1 Insufficient cpu."


def test_a_pod_of_higher_priority_may_take_the_room_of_a_nominated_pod():
    cluster = cluster_of(node("n1", cpu=4), nominated("nominated", "n1", cpu=3, priority=10))
    assert node_for(cluster, pod(cpu=2, priority=11)) == "n1"


def test_room_beside_a_nominated_pod_is_free():
    cluster = cluster_of(node("n1", cpu=4), nominated("nominated", "n1", cpu=3, priority=10))
    assert node_for(cluster, pod(cpu=1)) == "n1"


def test_a_nominated_pod_goes_to_its_node_even_if_another_scores_better():
    cluster = cluster_of(node("empty", cpu=64), node("n1", cpu=4), pod("other", cpu=2, node="n1"))
    assert node_for(cluster, nominated("nominated", "n1", cpu=1)) == "n1"


def test_a_nominated_pod_goes_elsewhere_when_its_node_is_not_feasible_any_more():
    cluster = cluster_of(node("empty", cpu=64), node("n1", cpu=4), pod("other", cpu=4, node="n1"))
    assert node_for(cluster, nominated("nominated", "n1", cpu=1)) == "empty"


def test_a_nominated_pod_does_not_satisfy_the_affinity_of_another():
    """A pod must fit with the nominated pod and without it: the nominated one may never be bound."""
    with_friend = with_identity(pod_json("follower", priority=0))
    friend = with_identity(pod_json("friend", priority=10))
    friend["metadata"]["labels"] = {"app": "friend"}
    friend["status"] = {"nominatedNodeName": "n1"}
    with_friend["spec"]["affinity"] = {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "friend"}}}
            ]
        }
    }
    cluster = cluster_of(node("n1"), typed(friend, Pod))
    message = node_for(cluster, typed(with_friend, Pod))
    assert message == "0/1 nodes are available: 1 node(s) didn't match pod affinity rules."


def test_a_nomination_ends_with_its_pod_and_that_is_a_cluster_event():
    cluster = cluster_of(node("n1", cpu=4))
    record = cluster.upsert_pod(nominated("nominated", "n1", cpu=3, priority=10))
    cluster.changes.take()
    cluster.remove_pod(record.uid)
    [event] = cluster.changes.take().events
    assert (EventKind.ROOM_FREED in event.kind, event.node) == (True, "n1")
    assert node_for(cluster, pod(cpu=4)) == "n1"


def test_planning_with_nominations_leaves_no_trace():
    cluster = cluster_of(node("n1", cpu=4), nominated("nominated", "n1", cpu=3, priority=10))
    before = cluster.nodes.requested.tobytes()
    node_for(cluster, pod(cpu=2))
    assert cluster.nodes.requested.tobytes() == before
