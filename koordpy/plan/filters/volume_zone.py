"""VolumeZone: the node is in the zone or region that a bound volume is labelled with."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from koordpy.api.keys import BETA_REGION, BETA_ZONE, REGION, ZONE
from koordpy.plan.constraints.volumes import claims_of
from koordpy.plan.framework.answers import Reason
from koordpy.plan.framework.plugins import Filter
from koordpy.state.arrays import Bools
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from koordpy.state.shapes import Shape

_WELL_KNOWN = {BETA_ZONE: ZONE, BETA_REGION: REGION, ZONE: ZONE, REGION: REGION}
_REASON = Reason(
    "node(s) had no available volume zone",
    preemption_helps=False,
    wake_on=EventKind.STORAGE | EventKind.NODE_ADDED | EventKind.NODE_RELABELLED,
)


class VolumeZone(Filter):
    """Nodes without any zone or region label pass: the cluster has no zones."""

    name = "VolumeZone"
    static = False

    def prefilter(self, shape: Shape, cluster: Cluster) -> Reason | None:
        """Refuses a pod whose bound volume does not exist; like kube-scheduler, not for ephemeral claims."""
        storage = cluster.storage
        claims = (storage.claims.get(use.key) for use in shape.traits.claims if not use.ephemeral)
        named = (claim.spec.volume_name for claim in claims if claim is not None)
        missing = next((name for name in named if name and name not in storage.volumes), "")
        if not missing:
            return None
        return Reason(f'persistentvolume "{missing}" not found', preemption_helps=False, wake_on=EventKind.STORAGE)

    def passes(self, shape: Shape, cluster: Cluster) -> Bools | None:
        wanted = list(_topologies(shape, cluster)) if shape.traits.claims else []
        if not wanted:
            return None
        labels = cluster.nodes.labels
        zoned: Bools = np.logical_or.reduce([labels.column(key).codes >= 0 for key in _WELL_KNOWN])
        mask = np.ones(cluster.nodes.capacity, dtype=np.bool_)
        for key, values in wanted:
            mask &= _labelled(cluster, key, values)
        return mask | ~zoned

    def explain(self, shape: Shape, cluster: Cluster, refused: Bools) -> Iterable[tuple[Reason, Bools]]:  # noqa: ARG002
        yield _REASON, refused


def _topologies(shape: Shape, cluster: Cluster) -> Iterable[tuple[str, frozenset[str]]]:
    """The zones and regions of the pod's bound volumes; a volume can have several, joined by `__`."""
    for claim in claims_of(shape, cluster):
        volume = cluster.storage.volumes.get(claim.spec.volume_name)
        if volume is not None:
            for key in _WELL_KNOWN:
                zones = frozenset(volume.metadata.labels.get(key, "").split("__"))
                if "" not in zones:  # like kube-scheduler, ignore a label with an empty zone
                    yield key, zones


def _labelled(cluster: Cluster, key: str, values: frozenset[str]) -> Bools:
    """`[N]`: nodes whose label has one of the values; the well-known label counts where a beta label is missing."""
    own = cluster.nodes.labels.column(key)
    well_known = cluster.nodes.labels.column(_WELL_KNOWN[key])
    by_own = np.isin(own.codes, [own.code_of(value) for value in values])
    by_well_known = np.isin(well_known.codes, [well_known.code_of(value) for value in values])
    return np.where(own.codes >= 0, by_own, by_well_known)
