"""`koordpy topology` as a process: the tree with its slots, and one line for every mistake."""

import asyncio
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml

from koordpy.app.crds import definitions
from koordpy.sim.embedded.server import EmbeddedServer
from tests.builders import Json, node_json, pod_json
from tests.cli.commands import koordpy
from tests.controllers.topologies import BROKEN, GOOD, TOPOLOGIES, node, topology

pytestmark = pytest.mark.process

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
EXAMPLES = Path(__file__).parent.parent.parent / "examples"
PODS = "/api/v1/namespaces/default/pods"
NODES = (
    node("n1", "s1", "b1", cpu=8),
    node("n2", "s1", "b1", cpu=8),
    node("n3", "s1", "b2", cpu=8),
    node("n10", "s2", "b3", cpu=8),
    node("n9", "s2", "b3", cpu=8),
)


@asynccontextmanager
async def cluster(
    directory: Path, *nodes: Json, layers: list[Json] | None = GOOD, installed: bool = True, pods: tuple[Json, ...] = ()
) -> AsyncIterator[Path]:
    """An API with these nodes and pods, and a topology unless `layers` is None; its kubeconfig."""
    async with EmbeddedServer(list(nodes)) as server:
        if installed:
            for definition in definitions():
                await server.create(DEFINITIONS, definition)
            if layers is not None:
                await server.create(TOPOLOGIES, topology(layers))
        for pod in pods:
            await server.create(PODS, pod)
        kubeconfig = directory / "kubeconfig"
        kubeconfig.write_text(server.kubeconfig())
        yield kubeconfig


async def run(kubeconfig: Path, *arguments: str, request: str = "cpu=2") -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(koordpy, "topology", "--kubeconfig", kubeconfig, "--request", request, *arguments)


async def printed(kubeconfig: Path, *arguments: str, request: str = "cpu=2") -> list[str]:
    answer = await run(kubeconfig, *arguments, request=request)
    assert answer.returncode == 0, answer.stderr
    return [re.sub(r"(?<=\S)  +", " ", line) for line in answer.stdout.splitlines()]


async def refused(kubeconfig: Path, *arguments: str, request: str = "cpu=2") -> str:
    answer = await run(kubeconfig, *arguments, request=request)
    assert (answer.returncode, answer.stdout) == (1, "")
    (line,) = answer.stderr.splitlines()
    return line


async def test_it_prints_the_tree_with_free_and_used_slots(tmp_path):
    pods = (pod_json("a", cpu=4, node="n1"), pod_json("b", cpu=1, node="n10"), pod_json("pending", cpu=8))
    async with cluster(tmp_path, *NODES, pods=pods) as kubeconfig:
        assert await printed(kubeconfig) == [
            "DOMAIN NODES FREE USED",
            "cluster 5 17 3",
            "  SpineLayer/s1 3 10 2",
            "    BlockLayer/b1 2 6 2",
            "    BlockLayer/b2 1 4 0",
            "  SpineLayer/s2 2 7 1",
            "    BlockLayer/b3 2 7 1",
        ]


async def test_columns_are_aligned(tmp_path):
    async with cluster(tmp_path, *NODES) as kubeconfig:
        lines = (await run(kubeconfig)).stdout.splitlines()
    assert len({len(line) for line in lines}) == 1


async def test_the_depth_is_a_layer_in_any_case(tmp_path):
    async with cluster(tmp_path, *NODES) as kubeconfig:
        lines = await printed(kubeconfig, "--depth", "spinelayer")
    assert lines[1:] == ["cluster 5 20 0", "  SpineLayer/s1 3 12 0", "  SpineLayer/s2 2 8 0"]


async def test_with_the_layer_of_the_nodes_they_are_printed_in_natural_order(tmp_path):
    async with cluster(tmp_path, *NODES) as kubeconfig:
        lines = await printed(kubeconfig, "--depth", "NodeTopologyLayer")
    assert lines[-2:] == ["      n9 1 4 0", "      n10 1 4 0"]


async def test_cordoned_and_tainted_nodes_offer_nothing_and_are_mentioned(tmp_path):
    taint = [{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]
    nodes = (node("n1", "s1", "b1", cordoned=True), node("n2", "s1", "b1", taints=taint), node("n3", "s1", "b1"))
    async with cluster(tmp_path, *nodes) as kubeconfig:
        answer = await run(kubeconfig)
    assert answer.stdout.splitlines()[1].split() == ["cluster", "3", "2", "0"]
    assert answer.stderr.splitlines() == [
        "1 of 3 nodes is cordoned",
        "1 of 3 nodes is tainted, and such a pod tolerates that with --toleration: dedicated=x:NoSchedule on 1",
    ]


async def test_nodes_that_are_too_small_are_mentioned(tmp_path):
    async with cluster(tmp_path, node("n1", "s1", "b1", cpu=8), node("n2", "s1", "b1", cpu=1)) as kubeconfig:
        answer = await run(kubeconfig)
    assert answer.stderr == "1 of 2 nodes is too small for such a pod\n"


GPU_TAINT = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]


@pytest.mark.parametrize(
    ("tolerations", "free"),
    [
        ((), 0),
        (("nvidia.com/gpu",), 2),
        (("nvidia.com/gpu=present",), 2),
        (("nvidia.com/gpu=present:NoSchedule",), 2),
        (("nvidia.com/gpu:NoExecute",), 0),
        (("nvidia.com/gpu=absent",), 0),
        (("other", "nvidia.com/gpu"), 2),
        (("*",), 2),
    ],
    ids=str,
)
async def test_tainted_nodes_count_for_pods_that_tolerate_them(tmp_path, tolerations, free):
    flags = [flag for each in tolerations for flag in ("--toleration", each)]
    async with cluster(tmp_path, node("n1", "s1", "b1", taints=GPU_TAINT)) as kubeconfig:
        lines = await printed(kubeconfig, *flags)
    assert lines[1] == f"cluster 1 {free} 0"


@pytest.mark.parametrize(
    ("toleration", "named"),
    [
        ("=x", "'=x' is not KEY, KEY=VALUE or either with :EFFECT"),
        ("a:Never", "'a:Never': 'Never' is none of NoSchedule, PreferNoSchedule, NoExecute"),
    ],
)
def test_a_toleration_that_is_none_is_wrong_usage_and_named(toleration, named):
    answer = koordpy("topology", "--request", "cpu=1", "--toleration", toleration)
    assert answer.returncode == 2
    assert named in answer.stderr.splitlines()[-1]


async def test_as_json_it_is_one_object_with_the_tree(tmp_path):
    pods = (pod_json("a", cpu=4, node="n1"),)
    async with cluster(tmp_path, *NODES, pods=pods) as kubeconfig:
        answer = await run(kubeconfig, "-o", "json", "--toleration", "x", "--depth", "SpineLayer")
    found = json.loads(answer.stdout)
    assert found["request"] == {"cpu": "2"}
    assert found["tolerations"] == [{"key": "x", "operator": "Exists", "value": "", "effect": ""}]
    assert found["remarks"] == []
    assert found["tree"] == {
        "layer": "ClusterTopologyLayer",
        "name": "",
        "nodes": 5,
        "free": 18,
        "used": 2,
        "children": [
            {"layer": "SpineLayer", "name": "s1", "nodes": 3, "free": 10, "used": 2},
            {"layer": "SpineLayer", "name": "s2", "nodes": 2, "free": 8, "used": 0},
        ],
    }


async def test_yaml_is_the_same_document(tmp_path):
    async with cluster(tmp_path, *NODES) as kubeconfig:
        as_json, as_yaml = await run(kubeconfig, "-o", "json"), await run(kubeconfig, "-o", "yaml")
    assert yaml.safe_load(as_yaml.stdout) == json.loads(as_json.stdout)


async def test_as_json_nodes_are_children_too(tmp_path):
    async with cluster(tmp_path, node("n1", "s1", "b1", cpu=8)) as kubeconfig:
        answer = await run(kubeconfig, "-o", "json", "--depth", "NodeTopologyLayer")
    (spine,) = json.loads(answer.stdout)["tree"]["children"]
    (block,) = spine["children"]
    assert block["children"] == [{"layer": "NodeTopologyLayer", "name": "n1", "nodes": 1, "free": 4, "used": 0}]


# --- without a topology object ---

REGION, ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"
NONE = "there is no ClusterNetworkTopology named default: "


@pytest.mark.parametrize("installed", [True, False])
async def test_without_a_topology_it_is_one_level(tmp_path, installed):
    async with cluster(tmp_path, *NODES, layers=None, installed=installed) as kubeconfig:
        answer = await run(kubeconfig)
    assert answer.returncode == 0
    assert [line.split() for line in answer.stdout.splitlines()[1:]] == [["cluster", "5", "20", "0"]]
    assert answer.stderr.startswith(f"{NONE}this is one level, the cluster; docs/topology.md says how")


async def test_without_a_topology_zones_are_shown_and_regions_if_there_are_several(tmp_path):
    def at(name: str, region: str, zone: str) -> Json:
        return node_json(name, labels={REGION: region, ZONE: zone})

    one = (at("n1", "eu", "a"), at("n2", "eu", "b"), node_json("n3"))
    async with cluster(tmp_path, *one, layers=None) as kubeconfig:
        answer = await run(kubeconfig)
        shown = [line.split()[0] for line in answer.stdout.splitlines()[1:]]
        assert shown == ["cluster", "ZoneLayer/a", "ZoneLayer/b", "ZoneLayer/(no"]
        assert answer.stderr.startswith(f"{NONE}this is the tree of {ZONE}; ")
    async with cluster(tmp_path, *one[:2], at("n4", "us", "a"), layers=None) as kubeconfig:
        lines = await printed(kubeconfig)
    assert [line.split()[0] for line in lines[1:]] == [
        "cluster",
        "RegionLayer/eu",
        "ZoneLayer/a",
        "ZoneLayer/b",
        "RegionLayer/us",
        "ZoneLayer/a",
    ]


async def test_without_a_topology_the_nodes_can_be_printed(tmp_path):
    async with cluster(tmp_path, *NODES, layers=None) as kubeconfig:
        lines = await printed(kubeconfig, "--depth", "NodeTopologyLayer")
    assert [line.split()[0] for line in lines[2:]] == ["n1", "n2", "n3", "n9", "n10"]


async def test_every_resource_of_the_request_counts(tmp_path):
    nodes = (node("n1", "s1", "b1", cpu=64, nvidia__com_gpu=8), node("n2", "s1", "b1", cpu=64))
    async with cluster(tmp_path, *nodes) as kubeconfig:
        lines = await printed(kubeconfig, request="cpu=8,nvidia.com/gpu=4")
    assert lines[1] == "cluster 2 2 0"


async def test_nodes_without_labels_are_shown_as_such(tmp_path):
    async with cluster(tmp_path, node("n1", "s1", "b1"), node("n2", "s1"), node("n3")) as kubeconfig:
        lines = await printed(kubeconfig)
    assert lines[2:] == [
        "  SpineLayer/s1 2 4 0",
        "    BlockLayer/b1 1 2 0",
        "    BlockLayer/(no label) 1 2 0",
        "  SpineLayer/(no label) 1 2 0",
        "    BlockLayer/(no label) 1 2 0",
    ]


async def test_a_resource_that_no_node_has_is_named(tmp_path):
    async with cluster(tmp_path, *NODES) as kubeconfig:
        answer = await run(kubeconfig, request="example.com/x=1")
    assert answer.returncode == 0
    assert "no node has example.com/x\n" in answer.stderr


async def test_finished_pods_hold_nothing(tmp_path):
    async with EmbeddedServer([node("n1", "s1", "b1")]) as server:
        for definition in definitions():
            await server.create(DEFINITIONS, definition)
        await server.create(TOPOLOGIES, topology(GOOD))
        pod = pod_json("done", cpu=4, node="n1")
        pod["metadata"]["annotations"] = {"embedded.koordpy.io/run-seconds": "0"}
        await server.create(PODS, pod)
        (tmp_path / "kubeconfig").write_text(server.kubeconfig())
        async with asyncio.timeout(20):
            while (await printed(tmp_path / "kubeconfig"))[1] != "cluster 1 2 0":  # noqa: ASYNC110 - a kubelet does it
                await asyncio.sleep(0.2)


async def test_on_a_terminal_it_draws_guides(tmp_path):
    async with cluster(tmp_path, *NODES) as kubeconfig:
        text = await asyncio.to_thread(on_a_terminal, kubeconfig)
    assert "└─ SpineLayer/s2" in text
    assert "│  ├─ BlockLayer/b1" in text


def on_a_terminal(kubeconfig: Path) -> str:
    """What is printed to a terminal of a hundred columns, without colours."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "koordpy", "topology", "--kubeconfig", str(kubeconfig), "--request", "cpu=2"]
    environment = {**os.environ, "TERM": "dumb", "COLUMNS": "100"}
    subprocess.run(command, stdout=slave, check=True, timeout=60, env=environment)
    os.close(slave)
    with os.fdopen(master, "rb", buffering=0) as screen:
        return screen.read(65536).decode()


# --- the example ---

NVIDIA, FABRIC, ACCELERATOR = "network.topology.nvidia.com/", "fabric.topograph.run/", "accelerator.topograph.run/"
RELEASES = {  # of topograph, with the labels of a node from the core to the accelerator
    "0.1": [NVIDIA + "datacenter", NVIDIA + "spine", NVIDIA + "block", NVIDIA + "accelerator"],
    "0.5": [NVIDIA + "core", NVIDIA + "spine", NVIDIA + "leaf", NVIDIA + "accelerator"],
    "0.5, with the GPU Operator": [NVIDIA + "core", NVIDIA + "spine", NVIDIA + "leaf", "nvidia.com/gpu.clique"],
    "1.0": [FABRIC + "tier-2", FABRIC + "tier-1", FABRIC + "tier-0", ACCELERATOR + "domain"],
}


@pytest.mark.parametrize("release", RELEASES)
async def test_the_example_reads_the_labels_of_every_release_of_topograph(release, tmp_path):
    labels = dict(zip(RELEASES[release], ("c1", "s1", "l1", "nvl1"), strict=True))
    example = yaml.safe_load((EXAMPLES / "topology.yaml").read_text())
    async with cluster(tmp_path, node_json("n1", labels=labels), layers=spec_of(example)) as kubeconfig:
        lines = await printed(kubeconfig)
    core = "(no label)" if release == "0.1" else "c1"  # its datacenters are none of ours
    layers = (f"CoreLayer/{core}", "SpineLayer/s1", "LeafLayer/l1", "AcceleratorLayer/nvl1")
    assert [line.rsplit(" ", 3)[0].strip() for line in lines[2:]] == list(layers)


def spec_of(example: Json) -> list[Json]:
    assert example["metadata"]["name"] == "default"
    return example["spec"]["networkTopologySpec"]


# --- mistakes ---


@pytest.mark.parametrize(
    ("request_", "named"),
    [
        ("cpu=many", "cpu: 'many' is not a Kubernetes quantity"),
        ("cpu=8,memory=0", "memory: '0' is not above zero"),
        ("cpu", "'cpu' is not RESOURCE=QUANTITY"),
        ("", "'' is not RESOURCE=QUANTITY"),
        ("cpu=1,cpu=2", "cpu is there twice"),
        ("nvidia.com/gpu=500m", "nvidia.com/gpu: '500m' is not a whole number"),
    ],
)
def test_a_request_that_cannot_be_read_is_wrong_usage_and_named(request_, named):
    answer = koordpy("topology", "--request", request_)
    assert answer.returncode == 2
    assert named in answer.stderr.splitlines()[-1]


def test_without_a_request_there_are_no_slots_to_count():
    answer = koordpy("topology")
    assert answer.returncode == 2
    assert "Missing option '--request'" in answer.stderr


async def test_a_layer_that_does_not_exist_is_answered_with_those_that_do(tmp_path):
    async with cluster(tmp_path, *NODES) as kubeconfig:
        line = await refused(kubeconfig, "--depth", "Rack")
    layers = "ClusterTopologyLayer, SpineLayer, BlockLayer, NodeTopologyLayer"
    assert line == f"koordpy: --depth 'Rack' is none of {layers}"


async def test_a_broken_topology_is_said_with_the_field(tmp_path):
    async with cluster(tmp_path, layers=BROKEN["cycle"][0]) as kubeconfig:
        line = await refused(kubeconfig)
    assert line == "koordpy: ClusterNetworkTopology default: parentTopologyLayer: 'BlockLayer' is its own ancestor"


async def test_a_server_that_is_not_there_is_one_line(tmp_path):
    async with cluster(tmp_path) as kubeconfig:
        pass
    assert (await refused(kubeconfig)).startswith("koordpy: the API server cannot be used: ")


@pytest.mark.real
async def test_it_reads_a_real_server(real, tmp_path):
    for definition in definitions():
        assert (await real.client.create("customresourcedefinitions", definition)).status in {201, 409}
    kubeconfig = real.kubeconfig(tmp_path)
    async with asyncio.timeout(30):
        while (await real.client.list(TOPOLOGIES.removeprefix("/"), namespace="")).status != 200:  # noqa: ASYNC110
            await asyncio.sleep(0.2)
    assert "there is no ClusterNetworkTopology" in (await run(kubeconfig)).stderr
    resource = TOPOLOGIES.removeprefix("/")
    try:
        (await real.client.create(resource, topology(GOOD), namespace="")).ok()
        lines = await printed(kubeconfig)
        assert lines[0] == "DOMAIN NODES FREE USED"
        assert lines[1].startswith("cluster ")
    finally:
        await real.client.delete(resource, "default", namespace="")
