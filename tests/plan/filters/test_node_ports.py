import pytest

from koordpy.api.pod import Pod
from koordpy.plan.filters.node_ports import NodePorts
from tests.builders import node, pod, pod_json, typed, with_identity
from tests.plan.asking import cluster_of, preemptible, reasons, refused
from tests.plan.constraints import host_port

ANY = "0.0.0.0"


def test_a_host_port_in_use_is_refused():
    cluster = cluster_of(node("busy"), node("idle"), pod("a", node="busy", host_ports=[host_port(80)]))
    expected = {"busy": ["node(s) didn't have free ports for the requested pod ports"]}
    assert reasons(NodePorts(), pod("b", host_ports=[host_port(80)]), cluster) == expected


def test_another_port_and_another_protocol_are_free():
    cluster = cluster_of(node(), pod("a", node="n1", host_ports=[host_port(80)]))
    free = [host_port(81), host_port(80, "UDP")]
    assert refused(NodePorts(), pod("b", host_ports=free), cluster) == set()


@pytest.mark.parametrize(
    ("used", "wanted", "collide"),
    [
        ("", "10.0.0.1", True),  # no address means every address
        ("10.0.0.1", "", True),
        ("10.0.0.1", ANY, True),
        (ANY, "10.0.0.1", True),
        (ANY, "", True),
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
    ],
)
def test_a_wildcard_address_collides_with_every_other(used, wanted, collide):
    cluster = cluster_of(node(), pod("a", node="n1", host_ports=[host_port(80, address=used)]))
    asking = pod("b", host_ports=[host_port(80, address=wanted)])
    assert refused(NodePorts(), asking, cluster) == ({"n1"} if collide else set())


def test_a_container_port_without_a_host_port_is_not_checked():
    inside = {"containerPort": 80, "protocol": "TCP"}
    cluster = cluster_of(node(), pod("a", node="n1", host_ports=[inside]))
    assert refused(NodePorts(), pod("b", host_ports=[inside]), cluster) == set()


@pytest.mark.parametrize(("policy", "keeps_its_port"), [("Always", True), ("", False)])
def test_a_sidecar_keeps_its_port_and_an_init_container_does_not(policy, keeps_its_port):
    body = with_identity(pod_json("a", node="n1"))
    body["spec"]["initContainers"] = [{"name": "init", "restartPolicy": policy, "ports": [host_port(80)]}]
    cluster = cluster_of(node(), typed(body, Pod))
    expected = {"n1"} if keeps_its_port else set()
    assert refused(NodePorts(), pod("b", host_ports=[host_port(80)]), cluster) == expected


def test_a_port_is_free_when_the_last_pod_that_uses_it_has_left():
    first, second = (pod(name, node="n1", host_ports=[host_port(80, address=ip)]) for name, ip in _TWO)
    cluster = cluster_of(node(), first, second)
    asking = pod("c", host_ports=[host_port(80)])
    cluster.remove_pod(first.metadata.uid)
    assert refused(NodePorts(), asking, cluster) == {"n1"}
    cluster.remove_pod(second.metadata.uid)
    assert refused(NodePorts(), asking, cluster) == set()


_TWO = (("a", "10.0.0.1"), ("b", "10.0.0.2"))


def test_evicting_the_pod_that_holds_the_port_would_help():
    cluster = cluster_of(node(), pod("a", node="n1", host_ports=[host_port(80)]))
    assert preemptible(NodePorts(), pod("b", host_ports=[host_port(80)]), cluster) == {"n1"}
