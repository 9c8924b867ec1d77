"""Whether the scheduler did what it was asked: read from the API server afterwards, with nothing of koordpy in it."""

from __future__ import annotations

from collections import Counter, defaultdict

from bench.live.workloads import Json, Workload
from tests.controlplane.client import Client

_UNITS = {"m": 1, "Ki": 2**10 * 1000, "Mi": 2**20 * 1000, "Gi": 2**30 * 1000, "": 1000}

Amounts = dict[str, int]  # in thousandths


async def problems(client: Client, workload: Workload) -> list[str]:
    """No node has more than it can hold, and no pod waits that fits somewhere."""
    nodes = (await client.list("nodes")).ok()["items"]
    pods = (await client.list("pods")).ok()["items"]
    return problems_of(nodes, pods, workload.must_bind)


def problems_of(nodes: list[Json], pods: list[Json], must_bind: int) -> list[str]:
    free = {node["metadata"]["name"]: _amounts(node["status"]["allocatable"]) for node in nodes}
    waiting: list[Json] = []
    placed: defaultdict[str, list[Json]] = defaultdict(list)
    for pod in pods:
        (placed[pod["spec"]["nodeName"]] if pod["spec"].get("nodeName") else waiting).append(pod)
    found = [f"{name} does not exist, and pods are bound to it" for name in placed.keys() - free.keys()]
    for name in placed.keys() & free.keys():
        taken = Counter[str]()
        for pod in placed[name]:
            taken.update(_requests(pod))
        free[name] = {resource: amount - taken[resource] for resource, amount in free[name].items()}
        found += [
            f"{name} is overcommitted: {-left} thousandths of {r} too many"
            for r, left in free[name].items()
            if left < 0
        ]
    fitting = [pod for pod in waiting if any(_fits(pod, left) for left in free.values())]
    found += [f"{len(fitting)} pods wait that fit, {fitting[0]['metadata']['name']} among them"] if fitting else []
    bound = len(pods) - len(waiting)
    found += [f"{bound} pods are bound, of {must_bind} that fit"] if bound != must_bind else []
    return found


def _fits(pod: Json, free: Amounts) -> bool:
    return all(amount <= free.get(resource, 0) for resource, amount in _requests(pod).items())


def _requests(pod: Json) -> Amounts:
    total: Counter[str] = Counter(pods=1000)
    for container in pod["spec"]["containers"]:
        total.update(_amounts(container["resources"].get("requests", {})))
    return total


def _amounts(quantities: dict[str, str]) -> Amounts:
    return {resource: _thousandths(quantity) for resource, quantity in quantities.items()}


def _thousandths(quantity: str) -> int:
    """As the workloads write them: whole numbers with one of a few units."""
    digits = quantity.rstrip("KMGim")
    return int(digits) * _UNITS[quantity.removeprefix(digits)]
