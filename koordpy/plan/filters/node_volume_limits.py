"""NodeVolumeLimits: a node attaches no more volumes of a CSI driver than its CSINode allows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from koordpy.api.storage import CSISource, PersistentVolumeClaim
from koordpy.plan.constraints.in_tree_disks import as_csi, driver_of
from koordpy.plan.constraints.volumes import claims_of
from koordpy.plan.framework.answers import Reason
from koordpy.plan.framework.plugins import Filter
from koordpy.state.arrays import Bools
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from koordpy.state.shapes import Shape

_REASON = Reason(
    "node(s) exceed max volume count",
    preemption_helps=True,
    wake_on=EventKind.STORAGE | EventKind.NODE_ADDED | EventKind.ROOM_FREED,
)

Attached = dict[str, set[str]]  # driver -> volume handles


class NodeVolumeLimits(Filter):
    """Counts volumes of pods on the node, volumes attached to it without a pod, and new ones, each once.

    Disks of in-tree plugins count for the CSI drivers that replace these.
    """

    name = "NodeVolumeLimits"
    static = False

    def passes(self, shape: Shape, cluster: Cluster) -> Bools | None:
        new = _volumes(claims_of(shape, cluster), cluster) if shape.traits.claims else {}
        _add(new, map(as_csi, shape.traits.disks))
        limits = _limits(cluster, new)
        if not limits:
            return None
        mask = np.ones(cluster.nodes.capacity, dtype=np.bool_)
        attached = _attached(cluster, limits)
        for row, allowed in limits.items():
            mask[row] = all(_fits(new[driver], attached[row].get(driver, set()), allowed[driver]) for driver in allowed)
        return mask

    def explain(self, shape: Shape, cluster: Cluster, refused: Bools) -> Iterable[tuple[Reason, Bools]]:  # noqa: ARG002
        yield _REASON, refused


def _fits(new: set[str], attached: set[str], limit: int) -> bool:
    """A pod without new volumes fits even where more volumes are attached than the limit allows."""
    return new <= attached or len(new | attached) <= limit


def _limits(cluster: Cluster, new: Attached) -> dict[int, dict[str, int]]:
    """By node row: the limit of each driver of the new volumes; only nodes that limit one of them."""
    limits: dict[int, dict[str, int]] = {}
    for name, csi_node in cluster.storage.csi_nodes.items() if new else ():
        row = cluster.nodes.row_of(name)
        if row is not None:
            counts = {d.name: d.allocatable.count for d in csi_node.spec.drivers or () if d.allocatable is not None}
            relevant = {driver: count for driver, count in counts.items() if count is not None and driver in new}
            if relevant:
                limits[row] = relevant
    return limits


def _attached(cluster: Cluster, rows: Iterable[int]) -> dict[int, Attached]:
    """By node row: the volumes in use, by the pods there or by attachments that outlive their pods."""
    wanted = set(rows)
    attached: dict[int, Attached] = {row: {} for row in wanted}
    for key, users in cluster.storage.users.items():
        claim = cluster.storage.claims.get(key)
        if claim is not None and not wanted.isdisjoint(users):
            for driver, volumes in _volumes([claim], cluster).items():
                for row in wanted & users.keys():
                    attached[row].setdefault(driver, set()).update(volumes)
    for shape in cluster.shapes.with_disks:
        for row in wanted & shape.on_nodes.keys():
            _add(attached[row], map(as_csi, shape.traits.disks))
    for attachment in cluster.storage.attachments.values():
        at = cluster.nodes.row_of(attachment.spec.node_name)
        volume = cluster.storage.volumes.get(attachment.spec.source.persistent_volume_name)
        if at in wanted and at is not None and volume is not None:
            _add(attached[at], [volume.spec.csi])
    return attached


def _volumes(claims: Iterable[PersistentVolumeClaim], cluster: Cluster) -> Attached:
    """The volumes of claims, by driver; an unbound claim counts as a volume of its class's driver."""
    found: Attached = {}
    for claim in claims:
        volume = cluster.storage.volumes.get(claim.spec.volume_name)
        storage_class = cluster.storage.classes.get(cluster.storage.class_of(claim))
        if volume is not None:
            _add(found, [volume.spec.csi or as_csi(volume.spec, volume.metadata.labels)])
        elif storage_class is not None:
            _add(found, [CSISource(driver_of(storage_class.provisioner), f"to be made for {claim.metadata.key}")])
    return found


def _add(attached: Attached, sources: Iterable[CSISource | None]) -> None:
    for source in sources:
        if source is not None:
            attached.setdefault(source.driver, set()).add(source.volume_handle)
