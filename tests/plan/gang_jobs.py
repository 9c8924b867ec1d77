"""Jobs of gangs for the planner, without anything around it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from koordpy.api.gangs import Mode
from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.job import Demand, Job
from koordpy.plan.framework.profiles import default_profile
from koordpy.plan.placement.gangs import plan_gangs
from koordpy.state.cluster import Cluster
from koordpy.state.pods import PodRecord
from tests.builders import node, pod

NAME = "koord-scheduler"
PROFILE = default_profile(NAME)


def cluster_of(*nodes: dict[str, Any]) -> Cluster:
    """`cluster_of({"cpu": 4}, {"cpu": 8})` has n1 and n2."""
    cluster = Cluster()
    for number, given in enumerate(nodes, start=1):
        cluster.upsert_node(node(f"n{number}", **given))
    return cluster


def members(cluster: Cluster, count: int, prefix: str = "a", **given: Any) -> list[PodRecord]:
    return [cluster.upsert_pod(pod(f"{prefix}-{number}", **given)) for number in range(1, count + 1)]


def gang(
    name: str, pods: Iterable[PodRecord], minimum: int | None = None, mode: Mode = "Strict", counted: int = 0
) -> Demand:
    pods = tuple(pods)
    return Demand(f"default/{name}", len(pods) if minimum is None else minimum, counted, mode, pods)


def planned(cluster: Cluster, *demands: Demand) -> Plan | Refusal:
    pods = tuple(pod for demand in demands for pod in demand.members)
    return plan_gangs(Job("job", pods, demands), cluster, {NAME: PROFILE})


def where(cluster: Cluster, answer: Plan | Refusal) -> dict[str, str]:
    """The node of each pod that was placed, by name."""
    assert isinstance(answer, Plan), answer
    return {cluster.pods[placement.uid].name: placement.node for placement in answer.placements}
