"""The public interface for filters, scores and groupers of other packages, and the only module that they import.

What is named here keeps its meaning between minor versions; everything else in koordpy may move at any time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec

from koordpy.api.errors import MalformedValue
from koordpy.api.grouping import Gang, Owner, SubGroup, Topology, Workload, WorkloadPod
from koordpy.api.node import Node
from koordpy.api.paths import count_at, text_at, value_at
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
    "Gang",
    "Ints",
    "MalformedValue",
    "Owner",
    "Plan",
    "PluginSet",
    "ProfileSpec",
    "Reason",
    "Refusal",
    "Score",
    "Shape",
    "SubGroup",
    "Topology",
    "Workload",
    "WorkloadGrouper",
    "WorkloadPod",
    "count_at",
    "plan_pod",
    "text_at",
    "value_at",
]

Json = Mapping[str, Any]


@runtime_checkable
class WorkloadGrouper(Protocol):
    """Says what the gangs of one kind of workload need: an entry point of `koordpy.groupers`.

    The entry point is an object of this form, or a class of which one is made without arguments.
    """

    group: str  # the API group of the kind
    kind: str

    def gangs(self, workload: Workload) -> Sequence[Gang]:
        """The gangs of a workload, from its owner and its pods alone: asked again whenever one of them changes.

        Raises MalformedValue, with the field and the value, for a workload that cannot be understood; its pods then
        wait, and their owner is told.
        """


def plan_pod(pod: Json, *, nodes: Iterable[Json], pods: Iterable[Json] = (), profile: ProfileSpec) -> Plan | Refusal:
    """Where a pod would go, or why nowhere: for the tests of a plugin. Objects are those of the Kubernetes API."""
    cluster = Cluster()
    for node in nodes:
        cluster.upsert_node(msgspec.convert(node, Node))
    for other in pods:
        cluster.upsert_pod(msgspec.convert(other, Pod))
    record = cluster.upsert_pod(msgspec.convert(pod, Pod))
    return plan(Job(record.uid, (record,)), cluster, build_profile(record.scheduler, profile))
