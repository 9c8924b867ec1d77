"""What koordpy says about a case: its picture is fed with the API server's own objects, as by its watches."""

import json
from collections.abc import Iterable
from dataclasses import replace
from random import Random
from typing import Any, cast

import numpy as np

from koordpy.api.decode import Decoder
from koordpy.api.node import Node
from koordpy.api.pod import Pod
from koordpy.api.policy import PodDisruptionBudget
from koordpy.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from koordpy.api.workload import Namespace, ReplicaSet, Service
from koordpy.app.build import build_scheduler
from koordpy.app.settings import Settings
from koordpy.kube.client import Client
from koordpy.plan.framework.answers import Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.framework.profiles import PluginSet, ProfileSpec, build_profile
from koordpy.plan.placement import fit
from koordpy.plan.placement.pods import place_nominated, plan
from koordpy.plan.preemption.eligibility import find_preemption
from koordpy.state.arrays import Bools
from koordpy.state.cluster import Cluster
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape
from koordpy.state.trial import Trial
from tests.differential.answer import Answer, Scores
from tests.differential.pods import KUBE_SCHEDULER

Json = dict[str, Any]

# Without the score that kube-scheduler does not have; on pods that say nothing about the network it is 0.
PROFILE = build_profile(KUBE_SCHEDULER, ProfileSpec(scores=PluginSet(disabled=("NetworkTopology",))))
STRUCTS = {
    "Namespace": Namespace,
    "Node": Node,
    "Pod": Pod,
    "PodDisruptionBudget": PodDisruptionBudget,
    "ReplicaSet": ReplicaSet,
    "ReplicationController": Service,  # its selector is of the same form
    "Service": Service,
    "StatefulSet": ReplicaSet,
    **{struct.__name__: struct for struct in (CSIDriver, CSINode, CSIStorageCapacity, StorageClass)},
    **{struct.__name__: struct for struct in (PersistentVolume, PersistentVolumeClaim)},
}
DECODERS = {kind: Decoder(kind, struct) for kind, struct in STRUCTS.items()}


def answer(surroundings: Iterable[Json], incoming: Json) -> Answer:
    """koordpy's decision on the incoming pod in a cluster of these objects."""
    cluster, record = _picture(surroundings, incoming)
    assert record.shape is not None, record.defect
    decision = plan(Job(record.key, (record,)), cluster, PROFILE)
    if isinstance(decision, Refusal):
        return _refused(record, decision, cluster)
    accepted = np.flatnonzero(_feasible(record, record.shape, cluster))
    names = [cluster.nodes.names[row] for row in accepted]
    node = decision.placements[0].node
    if node == record.nominated_node:  # it is taken without a look at the others
        return Answer(node, frozenset([node]))
    if len(names) == 1:  # it is taken without being scored
        return Answer(node, frozenset(names))
    by_plugin = _scores(record.shape, cluster, accepted.tolist())
    totals = fit.scores(record.shape, cluster, PROFILE, accepted).tolist()
    return Answer(node, frozenset(names), "", dict(zip(names, totals, strict=True)), by_plugin)


def _refused(record: PodRecord, refusal: Refusal, cluster: Cluster) -> Answer:
    """No node is free: somebody may have to leave."""
    if not len(cluster.nodes) or not refusal.wake_on:
        return Answer(message=refusal.message)
    found = find_preemption(Job(record.key, (record,)), cluster, {KUBE_SCHEDULER: PROFILE})
    message = f"{refusal.message} preemption: {found}"
    if isinstance(found, str):
        return Answer(message=message)
    victims = frozenset(victim.key for victim in found.victims)
    return Answer(message=message, promised=found.nominations[0].node, victims=victims)


def _feasible(record: PodRecord, shape: Shape, cluster: Cluster) -> Bools:
    """`[N]`: with those who were promised room as well as without them."""
    accepted = fit.feasible(shape, cluster, PROFILE)
    with Trial(cluster.occupancy) as trial:
        place_nominated(record, Job(record.key, (record,)), cluster, trial)
        return accepted & fit.feasible(shape, cluster, PROFILE)


def _scores(shape: Shape, cluster: Cluster, rows: list[int]) -> dict[str, Scores]:
    names = [cluster.nodes.names[row] for row in rows]
    parts = {score.name: weight * score.score(shape, cluster, np.array(rows)) for score, weight in PROFILE.scores}
    return {plugin: dict(zip(names, values.tolist(), strict=True)) for plugin, values in parts.items()}


def _picture(surroundings: Iterable[Json], incoming: Json) -> tuple[Cluster, PodRecord]:
    built = build_scheduler(Settings(profiles=(replace(PROFILE, scheduler_name=KUBE_SCHEDULER),)), cast("Client", None))
    cluster, own = built.cluster, built.sinks
    sinks: dict[str, Any] = {
        "Namespace": own.namespaces,
        "Node": own.nodes,
        "Pod": own.pods,
        "PodDisruptionBudget": own.budgets,
        "Service": own.services,
        **own.owners,
        **own.storage,
    }
    objects = [each for each in [*surroundings, incoming] if each["kind"] in sinks]
    # Watches are not in step with each other: what is learned first must make no difference.
    Random(incoming["metadata"]["uid"]).shuffle(objects)
    for each in objects:
        sinks[each["kind"]].upsert(DECODERS[each["kind"]](json.dumps(each).encode()))
        own.settle_pods()
    return cluster, cluster.pods[incoming["metadata"]["uid"]]
