"""The state of koordpy for a world, and its answer for one pod, in the terms of the naive reference."""

from collections import Counter
from typing import Any

import numpy as np

from koordpy.api.meta import LabelSelector
from koordpy.api.node import Node
from koordpy.api.pod import Pod
from koordpy.plan.framework.answers import Plan
from koordpy.plan.framework.job import Job
from koordpy.plan.framework.profiles import default_profile
from koordpy.plan.placement import fit
from koordpy.plan.placement.pods import plan
from koordpy.state.cluster import Cluster
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape
from tests.builders import typed
from tests.plan.naive import Verdict, World

Json = dict[str, Any]

PROFILE = default_profile("koord-scheduler")


def state_of(world: World, cluster: Cluster | None = None) -> Cluster:
    """The state for a world; `cluster`, if given, is brought up to date with it."""
    cluster = cluster or Cluster()
    for name, labels in world.namespaces.items():
        cluster.set_namespace(name, labels)
    for (namespace, name), wanted in world.services.items():
        cluster.set_service(namespace, name, wanted)
    for (kind, namespace, name), wanted in world.owners.items():
        cluster.set_owner(kind, namespace, name, typed(wanted, LabelSelector))
    for node in world.nodes:
        cluster.upsert_node(typed(node, Node))
    for pod in world.pods:
        cluster.upsert_pod(typed(pod, Pod))
    return cluster


def record_of(cluster: Cluster, pod: Json) -> PodRecord:
    record = cluster.upsert_pod(typed(pod, Pod))
    assert record.shape is not None, record.defect
    return record


def judgement(record: PodRecord, cluster: Cluster) -> Verdict:
    """As `naive.judge`, by koordpy's own means."""
    shape = record.shape
    assert shape is not None
    accepted = fit.feasible(shape, cluster, PROFILE)
    candidates = np.flatnonzero(accepted)
    names = [cluster.nodes.names[row] for row in candidates]
    reasons: Counter[str] = Counter()
    for reason, count in fit.explain(shape, cluster, PROFILE).items():
        reasons[reason.text] += count
    by_plugin: dict[str, dict[str, int]] = {}
    totals: dict[str, int] = {}
    chosen = None
    if names:
        by_plugin = _scores(shape, cluster, candidates, names)
        totals = dict(zip(names, fit.scores(shape, cluster, PROFILE, candidates).tolist(), strict=True))
        chosen = cluster.nodes.names[fit.best(shape, cluster, PROFILE, accepted)]
    answer = plan(Job(record.key, (record,)), cluster, PROFILE)
    if isinstance(answer, Plan):
        assert answer.placements[0].node == chosen
        return Verdict(set(names), reasons, "", by_plugin, totals, chosen)
    return Verdict(set(names), reasons, answer.message, by_plugin, totals, chosen)


def _scores(shape: Shape, cluster: Cluster, candidates: Any, names: list[str]) -> dict[str, dict[str, int]]:
    return {
        score.name: dict(zip(names, score.score(shape, cluster, candidates).tolist(), strict=True))
        for score, _ in PROFILE.scores
    }
