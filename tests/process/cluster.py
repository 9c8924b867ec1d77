"""Nodes and pods by the hundred on the real server, and what became of them."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

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


@contextlib.asynccontextmanager
async def watching_binds(client: Client) -> AsyncIterator[defaultdict[str, list[str]]]:
    """Every node name that a pod, by UID, was ever seen with, in order; a pod bound once has one."""
    seen: defaultdict[str, list[str]] = defaultdict(list)
    version = (await client.list("pods")).ok()["metadata"]["resourceVersion"]

    async def follow() -> None:
        async with client.watch("pods", resourceVersion=version, timeoutSeconds=300) as watch:
            while event := await watch.next(timeout=300):
                pod = event["object"]
                node = pod["spec"].get("nodeName", "")
                nodes = seen[pod["metadata"]["uid"]]
                if node and nodes[-1:] != [node]:
                    nodes.append(node)
                assert node or not nodes, "a bound pod lost its node"

    task = asyncio.create_task(follow())
    try:
        yield seen
        if task.done():
            task.result()
    finally:
        task.cancel()
        await asyncio.wait([task])


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
