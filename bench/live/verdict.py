"""The verdict: whether the scheduler was right, read from the API server afterwards, without code of koordpy."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from bench.live.objects import Json
from bench.live.workload import PROBE, Workload
from tests.controlplane.client import Client

_UNITS = {"m": 1, "": 1000} | {f"{unit}i": 2 ** (10 * power) * 1000 for power, unit in enumerate("KMGT", 1)}

Amounts = dict[str, int]  # in thousandths


@dataclass(frozen=True)
class Seen:
    """Observations that the API server does not have afterwards."""

    evicted: int
    done: frozenset[str]  # pods that have completed
    node_of: dict[str, str]  # of every pod that was bound
    events: list[tuple[str, str]]  # ("+" or "-", pod): bound, gone, in that order


@dataclass(frozen=True)
class Outcome:
    """The state of the cluster after a run."""

    node_of: dict[str, str]  # pod -> node, of all pods that have or had one
    evicted: int
    finished: bool  # every pod that fits has a node
    problems: list[str]


async def outcome_of(client: Client, workload: Workload, knows_gangs: bool, seen: Seen) -> Outcome:
    nodes = (await client.list("nodes")).ok()["items"]
    pods = (await client.list("pods")).ok()["items"]
    now = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")}
    node_of = {name: seen.node_of[name] for name in seen.done} | now
    problems = [
        *overcommitted(nodes, pods),
        *overcommitted_once(workload, seen.events, seen.node_of),
        *missing(workload, node_of),
        *(partial(workload, node_of) if knows_gangs else ()),
        *broken(workload, {name for sign, name in seen.events if sign == "-"} - seen.done),
        *needless(workload, seen.evicted),
    ]
    return Outcome(node_of, seen.evicted, workload.must_bind <= node_of.keys(), problems)


def overcommitted(nodes: list[Json], pods: list[Json]) -> list[str]:
    """Nodes whose pods request more than is allocatable."""
    capacity = {node["metadata"]["name"]: _amounts(node["status"]["allocatable"]) for node in nodes}
    taken: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for pod in pods:
        if pod["spec"].get("nodeName"):
            taken[pod["spec"]["nodeName"]].update(_requests(pod))
    found = [f"{name} does not exist, and pods are bound to it" for name in taken.keys() - capacity.keys()]
    for name in sorted(taken.keys() & capacity.keys()):
        too_many = {r: amount - capacity[name].get(r, 0) for r, amount in taken[name].items()}
        found += [f"{name} is overcommitted: {n} thousandths of {r} too many" for r, n in too_many.items() if n > 0]
    return found


def overcommitted_once(workload: Workload, events: list[tuple[str, str]], node_of: dict[str, str]) -> list[str]:
    """The first node that was overcommitted at any moment; a pod counts from its bind until it is gone."""
    gangs = (PROBE, *workload.running, *workload.gangs)
    asks = {name: _amounts(gang.requests) | {"pods": 1000} for gang in gangs for name in gang.member_names()}
    free = {node["metadata"]["name"]: Counter(_amounts(node["status"]["allocatable"])) for node in workload.nodes}
    for gang in workload.running:
        for name, node in zip(gang.member_names(), gang.on, strict=True):
            free[node].subtract(asks[name])
    for sign, name in events:
        left = free.setdefault(node_of[name], Counter())
        (left.subtract if sign == "+" else left.update)(asks[name])
        if sign == "+" and min(left.values()) < 0:
            return [f"{node_of[name]} held more than it has when {name} was bound to it"]
    return []


def missing(workload: Workload, node_of: dict[str, str]) -> list[str]:
    """Pods that fit and have no node, and pods that have one and should not (the probe and running ones aside)."""
    due = workload.must_bind
    waiting = due - node_of.keys()
    found = (
        [f"{len(waiting):,} of {len(due):,} pods that fit have no node, {min(waiting)} among them"] if waiting else []
    )
    before = {name for gang in (PROBE, *workload.running) for name in gang.member_names()}
    if surplus := node_of.keys() - due - before:
        found.append(f"{len(surplus):,} pods have a node that should not, {min(surplus)} among them")
    return found


def partial(workload: Workload, node_of: dict[str, str]) -> list[str]:
    """Gangs that are bound in part."""
    found = []
    for gang in workload.gangs:
        bound = sum(name in node_of for name in gang.member_names())
        if gang.all_or_nothing and 0 < bound < gang.size:
            found.append(f"{gang.name} has {bound} of {gang.size}")
    return [f"{len(found):,} gangs are bound in part: {found[0]}"] if found else []


def broken(workload: Workload, gone: Collection[str]) -> list[str]:
    """Running gangs of which some members were evicted and others left: too few to work, and they hold their nodes."""
    found = []
    for gang in workload.running:
        left = sum(name not in gone for name in gang.member_names())
        if gang.all_or_nothing and 0 < left < gang.size:
            found.append(f"{gang.name} has {left} of {gang.size} left")
    return [f"{len(found):,} running gangs are left in part: {found[0]}"] if found else []


def needless(workload: Workload, evicted: int) -> list[str]:
    """Evictions beyond the necessary ones. Too few are impossible: the pods would not fit."""
    if evicted <= workload.least_evictions:
        return []
    return [f"{evicted:,} pods were evicted, of {workload.least_evictions:,} that had to be"]


def _requests(pod: Json) -> Amounts:
    total: Counter[str] = Counter(pods=1000)
    for container in pod["spec"]["containers"]:
        total.update(_amounts(container["resources"].get("requests", {})))
    return total


def _amounts(quantities: dict[str, str]) -> Amounts:
    return {resource: _thousandths(quantity) for resource, quantity in quantities.items()}


def _thousandths(quantity: str) -> int:
    """Whole numbers with one of a few suffixes, as the workloads have them and as the API server normalises them."""
    digits = quantity.rstrip("KMGTim")
    return int(digits) * _UNITS[quantity.removeprefix(digits)]
