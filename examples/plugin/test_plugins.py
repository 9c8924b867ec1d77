"""How to test a plugin: a few nodes, a profile with the plugin, and a pod."""  # noqa: INP001 - a file beside the package

from koordpy.plugin import Plan, PluginSet, ProfileSpec, Refusal, plan_pod

BOTH = ProfileSpec(everywhere=PluginSet(enabled=(("TeamNodes", 0), ("CheapNodes", 5))))


def plan_on(namespace: str, **labels: dict[str, str]) -> Plan | Refusal:
    """Nodes that are equal but for their labels."""
    has = {"cpu": "4", "memory": "8Gi", "pods": "10"}
    nodes = [{"metadata": {"name": n, "labels": own}, "status": {"allocatable": has}} for n, own in labels.items()]
    pod = {"metadata": {"name": "p", "namespace": namespace, "uid": "1"}, "spec": {"containers": [{"name": "main"}]}}
    return plan_pod(pod, nodes=nodes, profile=BOTH)


def test_a_pod_of_another_team_is_refused() -> None:
    answer = plan_on("blue", n1={"example.com/team": "red"})
    assert answer.message == "0/1 nodes are available: 1 node(s) belonged to another team."


def test_the_cheapest_node_is_taken() -> None:
    answer = plan_on("blue", n1={"example.com/price": "9"}, n2={"example.com/price": "3"}, n3={})
    assert answer.placements[0].node == "n2"
