"""A copy of the state is one: equal in what it counts, and nothing that happens to either is seen by the other."""

from __future__ import annotations

import enum
import gc
import types

import numpy as np
import pytest

from koordpy.plan.framework.job import Job
from koordpy.plan.framework.profiles import default_profile
from koordpy.plan.placement.jobs import plan_job
from koordpy.state.changes import ChangeLog
from koordpy.state.cluster import Cluster
from koordpy.state.copying import copy_of
from tests.builders import node, pod

_STATE = ("koordpy.state", "koordpy.quota")
_VALUES = ("koordpy.api", "koordpy.plan")


def filled() -> Cluster:
    cluster = Cluster()
    for number in range(3):
        cluster.upsert_node(node(f"n{number}", cpu=8, nvidia__com_gpu=4, labels={"zone": f"z{number}"}))
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}}
            ]
        }
    }
    cluster.upsert_pod(pod("p1", cpu=2, node="n0", labels={"app": "a"}, affinity=apart))
    cluster.upsert_pod(pod("p2", cpu=1, node="n1", host_ports=[{"containerPort": 80, "hostPort": 80}]))
    gang = {"gang.scheduling.koordinator.sh/name": "g", "gang.scheduling.koordinator.sh/min-available": "2"}
    cluster.upsert_pod(pod("g-1", nvidia__com_gpu=1, annotations=gang))
    cluster.upsert_pod(pod("g-2", nvidia__com_gpu=1, annotations=gang))
    return cluster


def picture(cluster: Cluster) -> tuple[object, ...]:
    """What is counted, byte for byte."""
    nodes = cluster.nodes
    gangs = {
        gang.id: (sorted(gang.pending), sorted(gang.bound), sorted(gang.assumed), gang.spec) for gang in cluster.gangs
    }
    pods = {uid: (record.node, record.shape.traits, record.priority) for uid, record in cluster.pods.items()}
    columns = (nodes.requested, nodes.allocatable, nodes.scored, nodes.live, nodes.taint_code, nodes.unschedulable)
    return (*(column.tobytes() for column in columns), nodes.names, pods, gangs, cluster.version)


def test_a_copy_counts_what_the_original_counts():
    cluster = filled()
    assert picture(copy_of(cluster)) == picture(cluster)


def test_what_happens_to_a_copy_is_not_seen_by_the_original():
    cluster = filled()
    before = picture(cluster)
    copied = copy_of(cluster)
    copied.upsert_node(node("n9", cpu=4))
    copied.remove_node("n0")
    gang = {"gang.scheduling.koordinator.sh/name": "g", "gang.scheduling.koordinator.sh/min-available": "7"}
    copied.upsert_pod(pod("g-3", nvidia__com_gpu=1, annotations=gang))
    for uid in list(copied.pods)[:2]:
        copied.remove_pod(uid)
    assert picture(cluster) == before
    assert cluster.gangs.get("default/g").minimum == 2


def test_what_happens_to_the_original_is_not_seen_by_a_copy():
    cluster = filled()
    copied = copy_of(cluster)
    before = picture(copied)
    cluster.remove_node("n1")
    cluster.upsert_pod(pod("p9", cpu=1, node="n0"))
    assert picture(copied) == before


def test_nobody_is_woken_by_what_happens_to_a_copy():
    woken: list[bool] = []
    cluster = Cluster(changes=ChangeLog(lambda: woken.append(True)))
    cluster.upsert_node(node("n1"))
    woken.clear()
    copy_of(cluster).remove_node("n1")
    assert not woken


def test_a_copy_gives_the_plan_that_the_original_gives():
    cluster = filled()
    record = cluster.upsert_pod(pod("new", cpu=2, labels={"app": "a"}))
    copied = copy_of(cluster)
    profile = default_profile("koord-scheduler")
    answers = [
        plan_job(Job(record.uid, (each.pods[record.uid],)), each, {"koord-scheduler": profile})
        for each in (cluster, copied, cluster, copied)
    ]
    assert all(answer == answers[0] for answer in answers)


def test_a_copy_refers_to_nothing_of_the_original_that_can_change():
    cluster = filled()
    mine = {id(each): each for each in _reachable(cluster)}
    shared = [each for each in _reachable(copy_of(cluster)) if id(each) in mine]
    assert not [each for each in shared if type(each).__module__.startswith(_STATE) and not _is_value(each)]
    assert not [each for each in shared if isinstance(each, np.ndarray) and each.flags.writeable and each.size]


def _reachable(root: object) -> list[object]:
    """Everything that can change and that the root leads to, but for functions and classes."""
    found: dict[int, object] = {}
    ahead = [root]
    while ahead:
        each = ahead.pop()
        if id(each) in found or isinstance(each, type | types.ModuleType | types.FunctionType | types.MethodType):
            continue
        if type(each).__module__.startswith(_VALUES):
            continue
        found[id(each)] = each
        ahead += gc.get_referents(each)
    return list(found.values())


def _is_value(each: object) -> bool:
    """An enumeration, a tuple, or frozen."""
    config = getattr(type(each), "__struct_config__", None)
    return isinstance(each, tuple | enum.Enum) or (config is not None and config.frozen)


@pytest.mark.parametrize("kind", [dict, list, set])
def test_an_alias_stays_one(kind):
    shared = kind()
    one, other = copy_of([shared, shared])
    assert one is other
