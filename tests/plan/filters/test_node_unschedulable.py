from koordpy.plan.filters.node_unschedulable import NodeUnschedulable
from tests.builders import node, pod
from tests.plan.asking import cluster_of, preemptible, reasons

CORDON = "node.kubernetes.io/unschedulable"


def test_a_cordoned_node_takes_no_pod():
    cluster = cluster_of(node("open"), node("cordoned", cordoned=True))
    assert reasons(NodeUnschedulable(), pod(), cluster) == {"cordoned": ["node(s) were unschedulable"]}


def test_a_pod_that_tolerates_the_cordon_is_accepted():
    cluster = cluster_of(node(cordoned=True))
    tolerant = pod(tolerations=[{"key": CORDON, "operator": "Exists", "effect": "NoSchedule"}])
    assert reasons(NodeUnschedulable(), tolerant, cluster) == {}


def test_a_toleration_of_another_effect_is_not_enough():
    cluster = cluster_of(node(cordoned=True))
    tolerant = pod(tolerations=[{"key": CORDON, "operator": "Exists", "effect": "NoExecute"}])
    assert "n1" in reasons(NodeUnschedulable(), tolerant, cluster)


def test_an_uncordoned_node_is_feasible_again():
    cluster = cluster_of(node(cordoned=True))
    cluster.upsert_node(node())
    assert reasons(NodeUnschedulable(), pod(), cluster) == {}


def test_evicting_pods_does_not_help_on_a_cordoned_node():
    assert preemptible(NodeUnschedulable(), pod(), cluster_of(node(cordoned=True))) == set()
