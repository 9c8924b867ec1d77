"""A pod network for nodes whose image has none: point-to-point links, addresses of the node's range, static routes.

It stands in for kindnet and knows no NetworkPolicies. A node that was stopped and started again loses its routes.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from e2e.cluster.docker import Docker

PODS = "10.244.0.0/16"


def connect(docker: Docker, kubectl: Callable[..., str]) -> None:
    """Give every node its links to the others; a second time changes nothing."""
    nodes = [_Node(each) for each in json.loads(kubectl("get", "nodes", "-o", "json"))["items"]]
    for node in nodes:
        routes = [f"ip route replace {other.range} via {other.address}" for other in nodes if other is not node]
        rule = f"POSTROUTING -s {node.range} ! -d {PODS} -j MASQUERADE"
        masquerade = f"iptables -t nat -C {rule} 2>/dev/null || iptables -t nat -A {rule}"
        write = "mkdir -p /etc/cni/net.d && cat > /etc/cni/net.d/10-koordpy-e2e.conflist"
        script = " && ".join([*routes, f"({masquerade})", write])
        docker("exec", "--interactive", node.name, "sh", "-c", script, given=json.dumps(_plugins(node)).encode())


class _Node:
    def __init__(self, node: dict[str, Any]) -> None:
        self.name: str = node["metadata"]["name"]
        self.range: str = node["spec"]["podCIDR"]
        (self.address,) = (a["address"] for a in node["status"]["addresses"] if a["type"] == "InternalIP")


def _plugins(node: _Node) -> dict[str, Any]:
    addresses = {
        "type": "host-local",
        "dataDir": "/run/cni-ipam-state",
        "routes": [{"dst": "0.0.0.0/0"}],
        "ranges": [[{"subnet": node.range}]],
    }
    return {
        "cniVersion": "0.4.0",
        "name": "koordpy-e2e",
        "plugins": [
            {"type": "ptp", "ipMasq": False, "mtu": 1400, "ipam": addresses},
            {"type": "portmap", "capabilities": {"portMappings": True}},
        ],
    }
