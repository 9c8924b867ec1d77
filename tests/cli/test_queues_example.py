"""`examples/queues.yaml` is accepted with our definitions, and makes the tree that its comments tell of."""

import asyncio
import json
from pathlib import Path

import pytest
import yaml

from koordpy.app.crds import definitions
from koordpy.quota.tree import tree_of
from koordpy.sim.embedded.nodes import simulated_node
from koordpy.sim.embedded.server import EmbeddedServer
from tests.builders import typed
from tests.cli.commands import koordpy

ROOT = Path(__file__).parent.parent.parent
PATHS = {
    "Queue": "/apis/scheduling.run.ai/v2/queues",
    "PodGroup": "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/default/podgroups",
    "Job": "/apis/batch/v1/namespaces/default/jobs",
    "Pod": "/api/v1/namespaces/default/pods",
}
OBJECTS = list(yaml.safe_load_all((ROOT / "examples" / "queues.yaml").read_text()))


def test_its_queues_are_ready_and_quotas_of_children_fit_into_their_parents():
    from koordpy.api.queue import Queue

    tree = tree_of(typed(each, Queue) for each in OBJECTS if each["kind"] == "Queue")
    assert all(map(tree.is_ready, range(len(tree))))
    for parent, children in tree.children.items():
        assert parent < 0 or tree.quota[list(children)].min(axis=0)[2] <= tree.quota[parent, 2]


@pytest.mark.process
async def test_its_jobs_are_in_the_queues_that_they_name(tmp_path):
    nodes = [simulated_node(f"n{each}", cpu="32", memory="64Gi", extended={"nvidia.com/gpu": "8"}) for each in range(2)]
    async with EmbeddedServer(nodes) as server:
        for each in definitions():
            await server.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", each)
        for each in OBJECTS:
            await server.create(PATHS[each["kind"]], each)
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(server.kubeconfig())
        for _ in range(40):  # until the Job's pods are there
            answer = await asyncio.to_thread(koordpy, "queues", "--kubeconfig", kubeconfig, "-o", "json")
            asked = {item["name"]: item["requested"]["gpu"] for item in json.loads(answer.stdout)["items"]}
            if asked["vision"] == "8":
                break
    assert asked == {"serving": "1", "research": "8", "vision": "8", "speech": "0"}
