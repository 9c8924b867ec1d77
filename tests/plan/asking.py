"""Asking one filter or one score about one pod, with answers by node name."""

import numpy as np

from koordpy.api.node import Node
from koordpy.api.pod import Pod
from koordpy.plan.framework.profile import Filter, Score
from koordpy.state.cluster import Cluster


def cluster_of(*objects: Node | Pod) -> Cluster:
    """The state of a cluster with these nodes and pods."""
    cluster = Cluster()
    for each in objects:
        if isinstance(each, Node):
            cluster.upsert_node(each)
        else:
            cluster.upsert_pod(each)
    return cluster


def reasons(node_filter: Filter, pod: Pod, cluster: Cluster) -> dict[str, list[str]]:
    """The reasons against each node that the filter refuses; a node that is missing here can take the pod."""
    shape = cluster.upsert_pod(pod).shape
    passed = node_filter.passes(shape, cluster)
    refused = cluster.nodes.live & ~passed if passed is not None else np.zeros_like(cluster.nodes.live)
    answers: dict[str, list[str]] = {cluster.nodes.names[row]: [] for row in np.flatnonzero(refused)}
    for reason, nodes in node_filter.explain(shape, cluster, refused):
        for row in np.flatnonzero(nodes):
            answers[cluster.nodes.names[row]].append(reason.text)
    assert all(answers.values()), "refused without a reason"
    return answers


def refused(node_filter: Filter, pod: Pod, cluster: Cluster) -> set[str]:
    return set(reasons(node_filter, pod, cluster))


def preemptible(node_filter: Filter, pod: Pod, cluster: Cluster) -> set[str]:
    """The nodes on which evicting pods may help."""
    shape = cluster.upsert_pod(pod).shape
    passed = node_filter.passes(shape, cluster)
    helped: set[str] = set()
    hopeless: set[str] = set()
    for reason, nodes in node_filter.explain(shape, cluster, cluster.nodes.live & ~passed):
        names = {cluster.nodes.names[row] for row in np.flatnonzero(nodes)}
        (helped if reason.preemption_helps else hopeless).update(names)
    return helped - hopeless


def scores(score: Score, pod: Pod, cluster: Cluster, among: set[str] | None = None) -> dict[str, int]:
    """Over all nodes, or `among` these, as if they were the feasible ones."""
    shape = cluster.upsert_pod(pod).shape
    rows = (cluster.nodes.row_of(name) for name in among or cluster.nodes.names)
    candidates = np.array(sorted(row for row in rows if row is not None))
    values = score.score(shape, cluster, candidates).tolist()
    return {cluster.nodes.names[row]: value for row, value in zip(candidates, values, strict=True)}
