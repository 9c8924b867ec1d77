"""How to test a plugin: a picture of a few nodes, a profile with the plugin, and a question."""  # noqa: INP001 - a file beside the package

import msgspec

from koordpy.api.node import Node
from koordpy.api.pod import Pod
from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.framework.profiles import PluginSet, Wishes, build_profile
from koordpy.plan.placement.pods import plan
from koordpy.state.cluster import Cluster

BOTH = Wishes(everywhere=PluginSet(enabled=(("TeamNodes", 0), ("CheapNodes", 5))))


def cluster_of(**labels: dict[str, str]) -> Cluster:
    """Equal nodes, but for their labels."""
    cluster = Cluster()
    for name, own in labels.items():
        has = {"cpu": "4", "memory": "8Gi", "pods": "10"}
        obj = {"metadata": {"name": name, "labels": own}, "status": {"allocatable": has}}
        cluster.upsert_node(msgspec.convert(obj, Node))
    return cluster


def plan_one(cluster: Cluster, namespace: str) -> Plan | Refusal:
    obj = {"metadata": {"name": "p", "namespace": namespace, "uid": "1"}, "spec": {"containers": [{"name": "main"}]}}
    record, _ = cluster.upsert_pod(msgspec.convert(obj, Pod))
    return plan(Job(record.uid, (record,)), cluster, build_profile("koord-scheduler", BOTH))


def test_a_pod_of_another_team_is_refused() -> None:
    answer = plan_one(cluster_of(n1={"example.com/team": "red"}), namespace="blue")
    assert answer.message == "0/1 nodes are available: 1 node(s) belonged to another team."


def test_the_cheapest_node_is_taken() -> None:
    cluster = cluster_of(n1={"example.com/price": "9"}, n2={"example.com/price": "3"}, n3={})
    assert plan_one(cluster, namespace="blue").placements[0].node == "n2"
