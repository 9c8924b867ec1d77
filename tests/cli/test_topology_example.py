"""The two minutes of `docs/topology.md`: on the cluster that they make, the gang gets the spine that it fills."""

import asyncio
import re
from pathlib import Path

import pytest
import yaml

from koordpy.app.crds import definitions
from koordpy.sim.embedded.nodes import simulated_node
from koordpy.sim.embedded.server import EmbeddedServer
from tests.cli.commands import started
from tests.controlplane.client import Client, Json

pytestmark = pytest.mark.process

ROOT = Path(__file__).parent.parent.parent
RESOURCES = {
    "PodGroup": "apis/scheduling.sigs.k8s.io/v1alpha1/podgroups",
    "Pod": "pods",
    "ClusterNetworkTopology": "apis/scheduling.koordinator.sh/v1alpha1/clusternetworktopologies",
}
LABEL = "network.topology.nvidia.com"
PATIENCE_S = 20


def labelled_nodes() -> list[Json]:
    """As the guide tells to: `below spine-1 leaf-1 node-0{1..3}`."""
    guide = (ROOT / "docs" / "topology.md").read_text()
    found = []
    for spine, leaf, stem, first, last in re.findall(
        r"below (spine-\d) (leaf-\d) node-(0?)\{?(\d+)(?:\.\.(\d+)\})?", guide
    ):
        for number in range(int(first), int(last or first) + 1):
            node = simulated_node(f"node-{stem}{number}", cpu="8", memory="32Gi", extended={"nvidia.com/gpu": "8"})
            node["metadata"].setdefault("labels", {}).update({f"{LABEL}/spine": spine, f"{LABEL}/leaf": leaf})
            found.append(node)
    return found


async def apply(api: Client, file: str) -> None:
    for each in yaml.safe_load_all((ROOT / "examples" / file).read_text()):
        place = {"namespace": ""} if each["kind"] == "ClusterNetworkTopology" else {}
        (await api.create(RESOURCES[each["kind"]], each, **place)).ok()


async def nodes_of_pods(api: Client) -> list[str]:
    return sorted(pod["spec"].get("nodeName", "") for pod in (await api.list("pods")).ok()["items"])


async def test_the_gang_of_the_example_gets_the_spine_that_it_fills(tmp_path):
    nodes = labelled_nodes()
    assert len(nodes) == 12
    async with EmbeddedServer(nodes) as server, Client(server.url) as api:
        for definition in definitions():
            (await api.create("customresourcedefinitions", definition)).ok()
        await apply(api, "topology-small.yaml")
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(server.kubeconfig())
        with started("run", "--kubeconfig", kubeconfig, "--bind-address", "127.0.0.1", "--port", "0"):
            await apply(api, "topology-gang.yaml")
            async with asyncio.timeout(PATIENCE_S):
                while await nodes_of_pods(api) != ["node-06", "node-07", "node-08", "node-09"]:  # noqa: ASYNC110 - another process does it
                    await asyncio.sleep(0.05)
