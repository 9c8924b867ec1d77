"""The volumes of a pod: which are bound, which are to be bound where the pod goes, and where that is possible.

Bound volumes say on which nodes they can be reached. Claims that wait for their first consumer get, per node, the
smallest volume that fits and is reachable there, or are provisioned if their class allows it there. All of it is worked
out for all nodes at once: a volume is one mask over nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from koordpy.api.quantity import units
from koordpy.api.storage import CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim, StorageClass
from koordpy.cluster.arrays import Bools, Ints
from koordpy.cluster.picture import Cluster
from koordpy.cluster.selectors import compile_selector
from koordpy.cluster.shapes import Shape
from koordpy.cluster.storage import VolumeChoice
from koordpy.plan.node_terms import term_mask

_NO_PROVISIONER = "kubernetes.io/no-provisioner"


@dataclass(slots=True)
class PodVolumes:
    """What a pod's claims allow, over all nodes. Arrays are `[N]`."""

    reachable: Bools  # bound volumes can be reached
    present: Bools  # bound volumes exist
    satisfiable: Bools  # unbound claims find a volume or can be provisioned
    enough_space: Bools  # and the driver has room for those to be provisioned
    chosen: list[tuple[PersistentVolumeClaim, Ints, list[PersistentVolume]]] = field(default_factory=list)

    @property
    def passes(self) -> Bools:
        return self.reachable & self.present & self.satisfiable & self.enough_space


def claims_of(shape: Shape, cluster: Cluster) -> list[PersistentVolumeClaim]:
    """The pod's claims that exist, in the order of its volumes."""
    found = (cluster.storage.claims.get(claim.key) for claim in shape.traits.claims)
    return [claim for claim in found if claim is not None]


def problem_with_claims(shape: Shape, cluster: Cluster) -> str:
    """Why no node can take the pod, as far as its claims go; empty when nodes should be asked."""
    storage = cluster.storage
    for wanted in shape.traits.claims:
        claim = storage.claims.get(wanted.key)
        name = wanted.key.partition("/")[2]
        if claim is None and wanted.ephemeral:
            return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if claim.status.phase == "Lost":
            volume = claim.spec.volume_name
            return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
        if claim.metadata.deletion_timestamp is not None:
            return f'persistentvolumeclaim "{name}" is being deleted'
    if any(not storage.is_bound(c) and not _is_delayed(c, cluster) for c in claims_of(shape, cluster)):
        return "pod has unbound immediate PersistentVolumeClaims"
    return ""


def pod_volumes(shape: Shape, cluster: Cluster) -> PodVolumes:
    """Where the pod's volumes let it go; remembered until storage or nodes change."""
    generation = (cluster.storage.generation, cluster.nodes.static_generation)
    return shape.remember("volumes", generation, lambda: _pod_volumes(shape, cluster))


def choice_at(shape: Shape, cluster: Cluster, row: int) -> VolumeChoice:
    """What the pod's unbound claims get on a node that was accepted."""
    static, provisioned = [], []
    for claim, choice, candidates in pod_volumes(shape, cluster).chosen:
        if choice[row] >= 0:
            static.append((claim.metadata.key, candidates[choice[row]].metadata.name))
        else:
            provisioned.append(claim.metadata.key)
    return VolumeChoice(tuple(static), tuple(provisioned))


def _is_delayed(claim: PersistentVolumeClaim, cluster: Cluster) -> bool:
    storage_class = cluster.storage.classes.get(cluster.storage.class_of(claim))
    waits = storage_class is not None and storage_class.volume_binding_mode == "WaitForFirstConsumer"
    return waits and not claim.spec.volume_name


def _pod_volumes(shape: Shape, cluster: Cluster) -> PodVolumes:
    everywhere = np.ones(cluster.nodes.capacity, dtype=np.bool_)
    result = PodVolumes(everywhere.copy(), everywhere.copy(), everywhere.copy(), everywhere.copy())
    delayed = []
    for claim in claims_of(shape, cluster):
        if cluster.storage.is_bound(claim):
            _check_bound(claim, cluster, result)
        else:
            delayed.append(claim)
    # Small claims first, so that they do not take the large volumes; as kube-scheduler.
    for claim in sorted(delayed, key=_size):
        _check_delayed(claim, cluster, result)
    return result


def _check_bound(claim: PersistentVolumeClaim, cluster: Cluster, result: PodVolumes) -> None:
    volume = cluster.storage.volumes.get(claim.spec.volume_name)
    if volume is None:
        result.present[:] = False
    else:
        result.reachable &= reachable(volume, cluster)


def reachable(volume: PersistentVolume, cluster: Cluster) -> Bools:
    """`[N]`: nodes that the volume's node affinity accepts."""
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return np.ones(cluster.nodes.capacity, dtype=np.bool_)
    masks = [term_mask(term, cluster.nodes) for term in affinity.required.node_selector_terms]
    return np.logical_or.reduce(masks) if masks else np.zeros(cluster.nodes.capacity, dtype=np.bool_)


def _check_delayed(claim: PersistentVolumeClaim, cluster: Cluster, result: PodVolumes) -> None:
    capacity = cluster.nodes.capacity
    choice: Ints = np.full(capacity, -1, dtype=np.int64)  # index into candidates, or -1
    selected = cluster.storage.selected_node(claim)
    candidates = [] if selected else _candidates(claim, cluster)
    for index, volume in enumerate(candidates):
        here = reachable(volume, cluster) & (choice < 0) & ~_taken(volume, result)
        choice[here] = index
    provisionable, enough = _provisionable(claim, cluster)
    if selected:
        row = cluster.nodes.row_of(selected)
        at_selected = np.zeros(capacity, dtype=np.bool_)
        if row is not None:
            at_selected[row] = True
        provisionable &= at_selected
    unmatched = choice < 0
    result.satisfiable &= ~unmatched | provisionable
    result.enough_space &= ~unmatched | ~provisionable | enough
    result.chosen.append((claim, choice, candidates))


def _taken(volume: PersistentVolume, result: PodVolumes) -> Bools:
    """`[N]`: nodes on which an earlier claim of the same pod gets this volume."""
    taken = np.zeros(len(result.present), dtype=np.bool_)
    for _, choice, candidates in result.chosen:
        for index, other in enumerate(candidates):
            if other is volume:
                taken |= choice == index
    return taken


def _candidates(claim: PersistentVolumeClaim, cluster: Cluster) -> list[PersistentVolume]:
    """Volumes that would do for a claim, its own first, then the smallest; ties by name."""
    storage = cluster.storage
    wanted = storage.class_of(claim)
    selects = compile_selector(claim.spec.selector) if claim.spec.selector is not None else lambda _: True
    size = _size(claim)
    good = [
        volume
        for volume in storage.volumes.values()
        if volume.spec.storage_class_name == wanted
        and volume.spec.volume_mode == claim.spec.volume_mode
        and volume.metadata.deletion_timestamp is None
        and _capacity(volume) >= size
        and set(claim.spec.access_modes) <= set(volume.spec.access_modes)
        and selects(volume.metadata.labels)
        and storage.free_for(volume, claim)
    ]
    return sorted(good, key=lambda v: (not storage.belongs_to(v, claim), _capacity(v), v.metadata.name))


def _provisionable(claim: PersistentVolumeClaim, cluster: Cluster) -> tuple[Bools, Bools]:
    """`[N]`, `[N]`: nodes for which the class can make a volume, and on which its driver has room for it."""
    capacity = cluster.nodes.capacity
    storage_class = cluster.storage.classes.get(cluster.storage.class_of(claim))
    if storage_class is None or storage_class.provisioner in ("", _NO_PROVISIONER):
        return np.zeros(capacity, dtype=np.bool_), np.ones(capacity, dtype=np.bool_)
    return _in_allowed_topology(storage_class, cluster), _with_space(claim, storage_class, cluster)


def _in_allowed_topology(storage_class: StorageClass, cluster: Cluster) -> Bools:
    if not storage_class.allowed_topologies:
        return np.ones(cluster.nodes.capacity, dtype=np.bool_)
    allowed = np.zeros(cluster.nodes.capacity, dtype=np.bool_)
    for term in storage_class.allowed_topologies:
        mask = np.full(cluster.nodes.capacity, bool(term.match_label_expressions))
        for requirement in term.match_label_expressions:
            column = cluster.nodes.labels.column(requirement.key)
            mask &= np.isin(column.codes, [column.code_of(value) for value in requirement.values])
        allowed |= mask
    return allowed


def _with_space(claim: PersistentVolumeClaim, storage_class: StorageClass, cluster: Cluster) -> Bools:
    driver = cluster.storage.drivers.get(storage_class.provisioner)
    nodes = cluster.nodes
    if driver is None or not driver.spec.storage_capacity or "storage" not in claim.spec.resources.requests:
        return np.ones(nodes.capacity, dtype=np.bool_)
    space = np.zeros(nodes.capacity, dtype=np.bool_)
    for report in cluster.storage.capacities.values():
        if report.storage_class_name == storage_class.metadata.name and _offers(report) >= _size(claim):
            selects = compile_selector(report.node_topology)
            space |= np.array([selects(nodes.labels.of(row)) for row in range(nodes.capacity)])
    return space


def _offers(report: CSIStorageCapacity) -> int:
    limit = report.maximum_volume_size if report.maximum_volume_size is not None else report.capacity
    return units(limit) if limit is not None else -1


def _size(claim: PersistentVolumeClaim) -> int:
    return units(claim.spec.resources.requests.get("storage", 0))


def _capacity(volume: PersistentVolume) -> int:
    return units(volume.spec.capacity.get("storage", 0))
