"""Masks over all nodes say of every node what the naive reference says of it alone; promises are as good as writes."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings

from koordpy.api.node import Node
from koordpy.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from koordpy.plan.constraints.volumes import choice_at
from koordpy.plan.filters.node_volume_limits import NodeVolumeLimits
from koordpy.plan.filters.volume_binding import VolumeBinding
from koordpy.plan.filters.volume_zone import VolumeZone
from koordpy.state.cluster import Cluster
from tests.builders import typed
from tests.plan.asking import reasons, refused
from tests.scheduler.volumes.asking import PROFILE, by_claim, cluster_of, promises
from tests.scheduler.volumes.naive import SELECTED_NODE, Choice, Stored, binding, in_zone, outright, within_limits
from tests.scheduler.volumes.objects import pod_with
from tests.scheduler.volumes.random_storage import some_claims, stored

pytestmark = pytest.mark.random

KINDS = {
    "nodes": Node,
    "claims": PersistentVolumeClaim,
    "volumes": PersistentVolume,
    "classes": StorageClass,
    "drivers": CSIDriver,
    "capacities": CSIStorageCapacity,
    "csi_nodes": CSINode,
    "attachments": VolumeAttachment,
}
Verdict = dict[str, Any]


def picture_of(world: Stored) -> Cluster:
    objects = [typed(obj, kind) for table, kind in KINDS.items() for obj in getattr(world, table).values()]
    users = [pod_with(*claims, name=f"user{i}", node=where) for i, (where, claims) in enumerate(world.users)]
    return cluster_of(*objects, *users)


def expected(claims: list[str], world: Stored) -> Verdict:
    """What the reference says."""
    problem = outright(claims, world)
    if problem:
        return {"outright": problem}
    answers = {name: binding(claims, node, world) for name, node in world.nodes.items()}
    return {
        "outright": "",
        "reasons": {name: against for name, (against, _) in answers.items() if against},
        "choices": {name: choice for name, (against, choice) in answers.items() if not against},
        "out of zone": {name for name, node in world.nodes.items() if not in_zone(claims, node, world)},
        "beyond limits": {name for name, node in world.nodes.items() if not within_limits(claims, node, world)},
    }


def found(claims: list[str], cluster: Cluster, name: str = "asking") -> Verdict:
    """What koordpy says."""
    pod = pod_with(*claims, name=name)
    shape = cluster.upsert_pod(pod).shape
    assert shape is not None
    problem = PROFILE.prefilter(shape, cluster)
    if problem is not None:
        return {"outright": problem.text}
    against = reasons(VolumeBinding(), pod, cluster)
    rows = {name: cluster.nodes.row_of(name) for name in cluster.nodes.names if name and name not in against}
    return {
        "outright": "",
        "reasons": against,
        "choices": {name: by_claim(choice_at(shape, cluster, row)) for name, row in rows.items()},
        "out of zone": refused(VolumeZone(), pod, cluster),
        "beyond limits": refused(NodeVolumeLimits(), pod, cluster),
    }


@settings(max_examples=200, deadline=None)
@given(stored(), some_claims)
def test_every_node_gets_the_reasons_and_volumes_of_the_reference(world: Stored, claims: list[str]):
    assert found(claims, picture_of(world)) == expected(claims, world)


@settings(max_examples=120, deadline=None)
@given(stored(), some_claims, some_claims)
def test_a_promise_is_as_good_as_the_write_it_stands_for(world: Stored, first: list[str], second: list[str]):
    """What the second pod may have after the first was assumed, it may have after the first's writes were seen."""
    cluster = picture_of(world)
    verdict = found(first, cluster)
    if not verdict.get("choices"):
        return
    node, choice = min(verdict["choices"].items())
    record = next(record for record in cluster.pods.values() if record.name == "asking")
    before = found(second, cluster, "second")
    cluster.assume(record.uid, node, choice_at(record.shape, cluster, cluster.nodes.row_of(node)))
    assert found(second, cluster, "second") == expected(second, written(world, node, choice, first))
    cluster.forget(record.uid)
    assert promises(cluster) == []
    assert found(second, cluster, "second") == before


def written(world: Stored, node: str, choice: Choice, claims: list[str]) -> Stored:
    """The world with a choice written into it, and the pod on its node."""
    after = deepcopy(world)
    after.users.append((node, claims))
    for claim, volume in choice.items():
        meta = after.claims[claim]["metadata"]
        if volume:
            after.volumes[volume]["spec"]["claimRef"] = {"namespace": "default", "name": claim, "uid": meta["uid"]}
        else:
            meta.setdefault("annotations", {})[SELECTED_NODE] = node
    return after
