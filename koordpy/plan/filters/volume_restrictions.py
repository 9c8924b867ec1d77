"""VolumeRestrictions: a ReadWriteOncePod claim has one pod, and pods of a node share in-tree disks only read-only."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from koordpy.api.pod import GCEDisk, ISCSIDisk, RBDImage, Volume
from koordpy.plan.constraints.volumes import claims_of
from koordpy.plan.framework.answers import Reason
from koordpy.plan.framework.plugins import Filter
from koordpy.state.arrays import Bools
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from koordpy.state.shapes import Shape

_IN_USE = Reason(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
    preemption_helps=True,
    wake_on=EventKind.POD_LEFT | EventKind.STORAGE,
)
_DISK = Reason(
    "node(s) had no available disk", preemption_helps=True, wake_on=EventKind.NODE_ADDED | EventKind.ROOM_FREED
)


class VolumeRestrictions(Filter):
    """In-tree disks conflict per node; a ReadWriteOncePod claim that is in use makes every node infeasible."""

    name = "VolumeRestrictions"
    static = False

    def passes(self, shape: Shape, cluster: Cluster) -> Bools | None:
        if not shape.traits.claims and not shape.traits.disks:
            return None
        mask = _disks_free(shape, cluster)
        if _claim_in_use(shape, cluster):
            mask[:] = False
        return mask

    def explain(self, shape: Shape, cluster: Cluster, refused: Bools) -> Iterable[tuple[Reason, Bools]]:
        free = _disks_free(shape, cluster)
        yield _DISK, refused & ~free
        yield _IN_USE, refused & free


def _claim_in_use(shape: Shape, cluster: Cluster) -> bool:
    exclusive = [c.metadata.key for c in claims_of(shape, cluster) if "ReadWriteOncePod" in c.spec.access_modes]
    return any(cluster.storage.users.get(key) for key in exclusive)


def _disks_free(shape: Shape, cluster: Cluster) -> Bools:
    """`[N]`: nodes without a pod that uses one of the same disks and cannot share it."""
    free = np.ones(cluster.nodes.capacity, dtype=np.bool_)
    for other in cluster.shapes if shape.traits.disks else ():
        if other.on_nodes and any(_conflict(a, b) for a in shape.traits.disks for b in other.traits.disks):
            free[list(other.on_nodes)] = False
    return free


def _conflict(mine: Volume, theirs: Volume) -> bool:
    if mine.aws_elastic_block_store is not None and theirs.aws_elastic_block_store is not None:
        return mine.aws_elastic_block_store == theirs.aws_elastic_block_store
    a, b = mine.disk, theirs.disk
    match a, b:
        case GCEDisk(), GCEDisk():
            same = a.pd_name == b.pd_name
        case ISCSIDisk(), ISCSIDisk():
            same = a.iqn == b.iqn
        case RBDImage(), RBDImage():
            same = (a.pool, a.image) == (b.pool, b.image) and not set(a.monitors).isdisjoint(b.monitors)
        case _:
            return False
    return same and not (a.read_only and b.read_only)
