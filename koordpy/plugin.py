"""The public interface for filters and scores of other packages, and the only module that they import.

What is named here keeps its meaning between minor versions; everything else in koordpy may move at any time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from koordpy.api.node import Node
from koordpy.api.pod import Pod
from koordpy.plan.framework.answers import Plan, Reason, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.framework.plugins import BatchScore, Filter, Score
from koordpy.plan.framework.profiles import PluginSet, ProfileSpec, build_profile
from koordpy.plan.placement.pods import plan
from koordpy.state.arrays import Bools, Ints
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from koordpy.state.shapes import Shape

__all__ = [
    "BatchScore",
    "Bools",
    "Cluster",
    "EventKind",
    "Filter",
    "Ints",
    "Plan",
    "PluginSet",
    "ProfileSpec",
    "Reason",
    "Refusal",
    "Score",
    "Shape",
    "plan_pod",
]

Json = Mapping[str, Any]


def plan_pod(pod: Json, *, nodes: Iterable[Json], pods: Iterable[Json] = (), profile: ProfileSpec) -> Plan | Refusal:
    """Where a pod would go, or why nowhere: for the tests of a plugin. Objects are those of the Kubernetes API."""
    cluster = Cluster()
    for node in nodes:
        cluster.upsert_node(msgspec.convert(node, Node))
    for other in pods:
        cluster.upsert_pod(msgspec.convert(other, Pod))
    record = cluster.upsert_pod(msgspec.convert(pod, Pod))
    return plan(Job(record.uid, (record,)), cluster, build_profile(record.scheduler, profile))
