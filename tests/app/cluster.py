"""Nodes and pods by the hundred on the real server, and what became of them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Self

import yaml

from tests.builders import node_json, pod_json
from tests.controlplane.client import Client, Json
from tests.controlplane.fixtures import Real

AT_ONCE = 40
NODE_CPU = 4000  # thousandths


async def create_all(client: Client, resource: str, objects: Iterable[Json]) -> None:
    gate = asyncio.Semaphore(AT_ONCE)

    async def create(obj: Json) -> None:
        async with gate:
            (await client.create(resource, obj)).ok()

    await asyncio.gather(*(create(obj) for obj in objects))


async def add_nodes(client: Client, count: int) -> None:
    await create_all(client, "nodes", (node_json(f"n{number:03}", cpu=4) for number in range(count)))


async def add_pods(client: Client, count: int, cpu: str, name: str = "p", **arguments: str) -> None:
    pods = (pod_json(f"{name}{number:04}", namespace=client.namespace, cpu=cpu, **arguments) for number in range(count))
    await create_all(client, "pods", pods)


async def pods(client: Client) -> list[Json]:
    return (await client.list("pods")).ok()["items"]


async def bound(client: Client) -> list[Json]:
    return [pod for pod in await pods(client) if pod["spec"].get("nodeName")]


def condition(pod: Json) -> Json:
    found = (c for c in pod["status"].get("conditions", ()) if c["type"] == "PodScheduled")
    return next(found, {})


def overcommitted(all_pods: list[Json]) -> dict[str, int]:
    """Nodes whose pods ask for more CPU than they have."""
    used: defaultdict[str, int] = defaultdict(int)
    for pod in all_pods:
        if node := pod["spec"].get("nodeName"):
            used[node] += sum(
                _milli(c["resources"].get("requests", {}).get("cpu", "0")) for c in pod["spec"]["containers"]
            )
    return {node: cpu for node, cpu in used.items() if cpu > NODE_CPU}


def _milli(quantity: str) -> int:
    return int(quantity[:-1]) if quantity.endswith("m") else int(quantity) * 1000


class Binds:
    """Every node name that a pod was ever seen with, from a watch; a pod that is bound once has one.

    Asking raises what the watch died of: a witness that has fallen asleep must not look like a scheduler that has.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._nodes: defaultdict[str, list[str]] = defaultdict(list)  # by UID

    async def __aenter__(self) -> Self:
        version = (await self._client.list("pods")).ok()["metadata"]["resourceVersion"]
        self._task = asyncio.create_task(self._follow(version))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])

    def count(self) -> int:
        self._check()
        return sum(1 for nodes in self._nodes.values() if nodes)

    def more_than_once(self) -> list[list[str]]:
        self._check()
        return [nodes for nodes in self._nodes.values() if len(nodes) > 1]

    def _check(self) -> None:
        if self._task.done():
            self._task.result()

    async def _follow(self, version: str) -> None:
        """The server ends the watch of a slow reader, as we are on a busy machine: it is resumed where it ended."""
        while True:
            async with self._client.watch("pods", resourceVersion=version, timeoutSeconds=300) as watch:
                while event := await watch.next(timeout=310):
                    assert event["type"] != "ERROR", event
                    self._note(event["object"])
                    version = event["object"]["metadata"]["resourceVersion"]

    def _note(self, pod: Json) -> None:
        node, nodes = pod["spec"].get("nodeName", ""), self._nodes[pod["metadata"]["uid"]]
        assert node or not nodes, f"{pod['metadata']['name']} lost its node"
        if node and nodes[-1:] != [node]:
            nodes.append(node)


def election(directory: Path, real: Real, name: str = "config.yaml") -> Path:
    """A configuration whose lease lives in the test's own namespace and is over soon."""
    path = directory / name
    content = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {
            "leaderElect": True,
            "leaseDuration": "3s",
            "renewDeadline": "2s",
            "retryPeriod": "500ms",
            "resourceNamespace": real.namespace,
        },
    }
    path.write_text(yaml.safe_dump(content))
    return path


async def lease(real: Real) -> Json:
    return (await real.client.get("leases", "koord-scheduler")).ok()["spec"]


async def events(real: Real) -> list[Json]:
    return (await real.client.list("events")).ok()["items"]
