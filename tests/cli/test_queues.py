"""`koordpy queues` as a process: the tree with its numbers, and one line for every mistake."""

import asyncio
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import msgspec
import pytest
import yaml

from koordpy.api.answers import QueueList
from koordpy.sim.embedded.server import EmbeddedServer
from tests.builders import Json, node_json, pod_json
from tests.cli.commands import koordpy
from tests.controllers.queues.actions import (
    PODS,
    QUEUES,
    RUN_AI_POD_GROUPS,
    definition,
    kais_definition,
    pod_in,
    queue_json,
    run_ai_group,
    run_ai_pod_groups,
)
from tests.scheduler.answers.test_queues import answering
from tests.scheduler.queues.rig import QueueRig

pytestmark = pytest.mark.process

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TEAMS = (
    queue_json("lab", resources={"gpu": {"quota": 8}}),
    queue_json("vision", "lab", resources={"gpu": {"quota": 6, "limit": 7}}),
    queue_json("speech", "lab", resources={"gpu": {"quota": 2}, "cpu": {"quota": 1000}}, priority=200),
)


@asynccontextmanager
async def cluster(
    directory: Path, *queues: Json, pods: tuple[Json, ...] = (), nodes: int = 1, kind: Json | None = None
) -> AsyncIterator[Path]:
    """An API with nodes of eight GPUs, these queues and pods; its kubeconfig."""
    made = [node_json(f"n{number}", cpu=32, nvidia__com_gpu=8) for number in range(nodes)]
    async with EmbeddedServer(made) as server:
        for each in (kind or definition(), run_ai_pod_groups()):
            await server.create(DEFINITIONS, each)
        for queue in queues:
            await server.create(QUEUES, queue)
        for pod in pods:
            group = pod["metadata"].get("annotations", {}).get("pod-group-name")
            if group is not None:
                await server.create(RUN_AI_POD_GROUPS, run_ai_group(group, "vision"))
            await server.create(PODS, pod)
        kubeconfig = directory / "kubeconfig"
        kubeconfig.write_text(server.kubeconfig())
        yield kubeconfig


async def run(kubeconfig: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(koordpy, "queues", "--kubeconfig", kubeconfig, *arguments)


async def printed(kubeconfig: Path, *arguments: str) -> list[str]:
    answer = await run(kubeconfig, *arguments)
    assert answer.returncode == 0, answer.stderr
    return [re.sub(r"  +", " ", line) for line in answer.stdout.splitlines()]


async def document(kubeconfig: Path) -> Json:
    answer = await run(kubeconfig, "-o", "json")
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)


PODS_OF_TEAMS = (
    pod_in("vision", "v1", 4, node="n0"),
    pod_in("vision", "v2", 4),
    pod_in("speech", "s1", 1, node="n0"),
    pod_json("outside", cpu=2, node="n0", nvidia__com_gpu=1),
)


async def test_it_prints_the_tree_with_what_queues_have_want_and_are_due(tmp_path):
    async with cluster(tmp_path, *TEAMS, pods=PODS_OF_TEAMS) as kubeconfig:
        assert await printed(kubeconfig) == [
            "QUEUE RESOURCE QUOTA LIMIT FAIR SHARE ALLOCATED ASKED FOR RUNNING WAITING",
            "lab gpu 8 - 8 5 9 2 1",
            " cpu - - - 2 3",
            " speech gpu 2 - 1 1 1 1 0",
            " cpu 1 - 1 1 1",
            " vision gpu 6 7 7 4 8 1 1",
            " cpu - - - 1 2",
        ]


async def test_what_runs_outside_of_queues_and_on_nodes_that_take_no_pods_is_not_divided(tmp_path):
    one = (queue_json("q", resources={"gpu": {}}),)
    pods = (pod_in("q", "p1", 20), pod_json("other", cpu=1, node="n0", scheduler="x", nvidia__com_gpu=3))
    async with cluster(tmp_path, *one, pods=pods, nodes=2) as kubeconfig:
        (item,) = (await document(kubeconfig))["items"]
        assert item["fairShare"]["gpu"] == "13"


async def test_the_document_has_every_field_of_every_queue(tmp_path):
    async with cluster(tmp_path, *TEAMS, pods=PODS_OF_TEAMS) as kubeconfig:
        found = await document(kubeconfig)
    assert (found["apiVersion"], found["kind"]) == ("koordpy.io/v1alpha1", "QueueList")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", found["asOf"])
    assert [(item["name"], item["parent"]) for item in found["items"]] == [
        ("lab", None),
        ("speech", "lab"),
        ("vision", "lab"),
    ]
    assert found["items"][2] == {
        "name": "vision",
        "parent": "lab",
        "priority": 100,
        "state": "Ready",
        "quota": {"cpu": None, "memory": None, "gpu": "6"},
        "limit": {"cpu": None, "memory": None, "gpu": "7"},
        "weight": {"cpu": None, "memory": None, "gpu": "1"},
        "fairShare": {"cpu": None, "memory": None, "gpu": "7"},
        "allocated": {"cpu": "1", "memory": "0", "gpu": "4"},
        "allocatedNonPreemptible": {"cpu": "0", "memory": "0", "gpu": "0"},
        "requested": {"cpu": "2", "memory": "0", "gpu": "8"},
        "jobs": {"running": 1, "waiting": 1},
        "message": "",
    }


async def test_yaml_is_the_same_document(tmp_path):
    async with cluster(tmp_path, *TEAMS) as kubeconfig:
        found = yaml.safe_load((await run(kubeconfig, "-o", "yaml")).stdout)
        assert found["items"] == (await document(kubeconfig))["items"]


async def test_with_a_server_the_scheduler_is_asked(tmp_path):
    rig = QueueRig()
    rig.node("n", cpu=4)
    rig.has_queue("top", cpu=(4, -1))
    rig.has_queue("leaf", parent="top", cpu=(2, 3))
    rig.jobs_of("leaf", 2)
    rig.settle()
    with answers({"/apis/koordpy.io/v1alpha1/queues": await answering(rig).queues()}) as url:
        answer = await asyncio.to_thread(koordpy, "queues", "--server", url)
    assert [line.split() for line in answer.stdout.splitlines()[1:]] == [
        ["top", "cpu", "4", "-", "2", "2", "2", "2", "0"],
        ["leaf", "cpu", "2", "3", "2", "2", "2", "2", "0"],
    ]


@contextmanager
def answers(documents: dict[str, QueueList]) -> Iterator[str]:
    """A scheduler that answers with these; its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(msgspec.json.encode(documents[self.path]))

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


async def test_a_podgroup_names_the_queue_of_its_pods(tmp_path):
    gang = {"pod-group-name": "g"}
    async with cluster(tmp_path, *TEAMS, pods=(pod_in("", "p", annotations=gang),)) as kubeconfig:
        items = {item["name"]: item for item in (await document(kubeconfig))["items"]}
        assert items["vision"]["jobs"] == items["lab"]["jobs"] == {"running": 0, "waiting": 1}


async def test_a_queue_that_is_not_ready_is_printed_last_and_what_is_wrong_with_it_to_standard_error(tmp_path):
    async with cluster(tmp_path, queue_json("a", "gone"), queue_json("b")) as kubeconfig:
        answer = await run(kubeconfig)
        lines = [line.split()[0:2] for line in answer.stdout.splitlines()]
        assert lines[1:] == [["b", "-"], ["a", "(ParentMissing)"]]
        assert answer.stderr == "a: parent queue gone does not exist\n"


async def test_without_queues_it_says_so(tmp_path):
    async with cluster(tmp_path) as kubeconfig:
        answer = await run(kubeconfig)
        assert (answer.returncode, answer.stderr) == (
            0,
            "there are no queues: every job is scheduled as without them\n",
        )
        assert (await document(kubeconfig))["items"] == []


async def test_queues_made_under_kais_definition_are_read(tmp_path):
    kai = queue_json("team", resources={"gpu": {"quota": 2, "limit": -1, "overQuotaWeight": 1.5}, "cpu": {"quota": -1}})
    async with cluster(tmp_path, kai, kind=kais_definition()) as kubeconfig:
        (item,) = (await document(kubeconfig))["items"]
        assert (item["quota"], item["weight"]["gpu"]) == ({"cpu": None, "memory": None, "gpu": "2"}, "1.5")


async def test_on_a_terminal_it_draws_bars_and_guides(tmp_path):
    async with cluster(tmp_path, *TEAMS, pods=PODS_OF_TEAMS) as kubeconfig:
        text = await asyncio.to_thread(_on_a_terminal, kubeconfig)
    assert "└─ vision" in text
    assert "█" in text
    assert "░" in text


def _on_a_terminal(kubeconfig: Path) -> str:
    main, side = pty.openpty()
    command = [sys.executable, "-m", "koordpy", "queues", "--kubeconfig", str(kubeconfig)]
    environment = {**os.environ, "COLUMNS": "160", "TERM": "xterm"}
    with subprocess.Popen(command, stdout=side, stderr=side, env=environment) as process:
        os.close(side)
        chunks: list[bytes] = []
        while True:
            try:
                chunk = os.read(main, 4096)
            except OSError:  # the other side is closed
                break
            if not chunk:
                break
            chunks.append(chunk)
        process.wait()
    os.close(main)
    return re.sub(r"\x1b\[[0-9;]*m", "", b"".join(chunks).decode())


async def test_an_api_server_that_cannot_be_reached_is_one_line(tmp_path):
    async with cluster(tmp_path) as kubeconfig:
        pass
    answer = await run(kubeconfig)
    assert answer.returncode == 1
    assert len(answer.stderr.splitlines()) == 1


async def test_a_config_that_cannot_be_read_is_one_line(tmp_path):
    answer = await run(tmp_path / "kubeconfig", "--config", str(tmp_path / "missing"))
    assert answer.returncode == 1
    assert len(answer.stderr.splitlines()) == 1
