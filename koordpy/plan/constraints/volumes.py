"""The volumes of a pod: on which nodes its bound claims are reachable, and its unbound claims can be bound.

The node affinity of a bound volume decides from where it is reachable. A claim of a class with `WaitForFirstConsumer`
gets, per node, the smallest volume that fits and is reachable there, or is provisioned if its class allows it there.
All nodes are computed at once: a volume is one mask over nodes.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from koordpy.api.affinity import NodeSelectorRequirement, NodeSelectorTerm
from koordpy.api.meta import LabelSelector
from koordpy.api.quantity import units
from koordpy.api.storage import CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim, StorageClass
from koordpy.plan.constraints.in_tree_disks import has_migrated, translated_affinity
from koordpy.plan.constraints.node_terms import selector_mask, term_mask
from koordpy.state.arrays import Bools, Ints
from koordpy.state.cluster import Cluster
from koordpy.state.selectors import compile_selector, is_empty
from koordpy.state.shapes import ClaimUse, Shape
from koordpy.state.storage import VolumeChoice

_NO_PROVISIONER = "kubernetes.io/no-provisioner"


@dataclass(slots=True)
class PodVolumes:
    """What a pod's claims allow on each node. Arrays are `[N]`."""

    reachable: Bools  # bound volumes are reachable
    present: Bools  # bound volumes exist
    satisfiable: Bools  # unbound claims find a volume or can be provisioned
    enough_space: Bools  # and the driver has enough capacity for those to be provisioned
    # Unbound claims, their candidate volumes, and per node the index of the candidate that the claim gets, or -1.
    chosen: list[tuple[PersistentVolumeClaim, Ints, list[PersistentVolume]]] = field(default_factory=list)

    @property
    def passes(self) -> Bools:
        return self.reachable & self.present & self.satisfiable & self.enough_space


def claims_of(shape: Shape, cluster: Cluster) -> list[PersistentVolumeClaim]:
    """The pod's claims that exist, each once, in the order of its volumes."""
    keys = dict.fromkeys(claim.key for claim in shape.traits.claims)
    found = (cluster.storage.claims.get(key) for key in keys)
    return [claim for claim in found if claim is not None]


def problem_with_claims(shape: Shape, cluster: Cluster) -> str:
    """Why its claims make the pod unschedulable on every node; empty when the filter has to ask nodes."""
    problems = (_problem_with(use, shape, cluster) for use in shape.traits.claims)
    first = next((problem for problem in problems if problem), "")
    if first:
        return first
    if any(not cluster.storage.is_bound(c) and not _is_delayed(c, cluster) for c in claims_of(shape, cluster)):
        return "pod has unbound immediate PersistentVolumeClaims"
    return ""


def _problem_with(use: ClaimUse, shape: Shape, cluster: Cluster) -> str:
    claim = cluster.storage.claims.get(use.key)
    name = use.key.partition("/")[2]
    if claim is None and use.ephemeral:
        return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
    if claim is None:
        return f'persistentvolumeclaim "{name}" not found'
    if claim.status.phase == "Lost":
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{claim.spec.volume_name}"'
    if claim.metadata.deletion_timestamp is not None:
        return f'persistentvolumeclaim "{name}" is being deleted'
    if use.ephemeral and not _was_made_for(claim, shape, cluster):
        return f"PVC {use.key} was not created for pod {_pod_of(shape, cluster)} (pod is not owner)"
    return ""


def pod_volumes(shape: Shape, cluster: Cluster) -> PodVolumes:
    """What the pod's claims allow; remembered until storage or nodes change."""
    generation = (cluster.storage.generation, cluster.nodes.static_generation)
    return shape.remember("volumes", generation, lambda: _pod_volumes(shape, cluster))


def choice_at(shape: Shape, cluster: Cluster, row: int) -> VolumeChoice:
    """The volumes that the pod's unbound claims get on a feasible node."""
    static, provisioned = [], []
    for claim, choice, candidates in pod_volumes(shape, cluster).chosen:
        if choice[row] >= 0:
            static.append((claim.metadata.key, candidates[choice[row]].metadata.name))
        else:
            provisioned.append(claim.metadata.key)
    return VolumeChoice(tuple(static), tuple(provisioned))


def _was_made_for(claim: PersistentVolumeClaim, shape: Shape, cluster: Cluster) -> bool:
    """Whether the pod owns its ephemeral claim; the kubelet starts the pod with no other.

    A pod recreated under its old name finds the claim of its predecessor until the garbage collector deletes it. The
    shape identifies the pod: it includes the claim's name, which includes the pod's name.
    """
    controller = next((owner.uid for owner in claim.metadata.owner_references if owner.controller), "")
    pod = cluster.pods.get(controller)
    return pod is not None and pod.shape is shape


def _pod_of(shape: Shape, cluster: Cluster) -> str:
    return next((pod.key for pod in cluster.pods.values() if pod.shape is shape), "")


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
    selected = [claim for claim in delayed if cluster.storage.selected_node(claim)]
    for claim in selected:
        _check_selected(claim, cluster, result)
    # Small claims first, so that they do not take the large volumes; as in kube-scheduler.
    for claim in (*selected, *sorted((c for c in delayed if c not in selected), key=_size)):
        _check_delayed(claim, cluster, result)
    return result


def _check_bound(claim: PersistentVolumeClaim, cluster: Cluster, result: PodVolumes) -> None:
    volume = cluster.storage.volumes.get(claim.spec.volume_name)
    asked = result.present & result.reachable  # the first volume that a node cannot use gives the reason
    if volume is None:
        result.present &= ~asked
    else:
        result.reachable &= ~asked | reachable(volume, cluster)


def reachable(volume: PersistentVolume, cluster: Cluster) -> Bools:
    """`[N]`: nodes that match the volume's node affinity, translated for nodes that have migrated its plugin."""
    mask = _accepted(volume, cluster)
    translated = translated_affinity(volume)
    if translated is not None:
        plugin, selector = translated
        by_driver, names = selector_mask(selector, cluster.nodes), cluster.nodes.names
        for row in np.flatnonzero((by_driver != mask) & cluster.nodes.live).tolist():
            if has_migrated(cluster.storage.csi_nodes.get(names[row]), plugin):
                mask[row] = by_driver[row]
    return mask


def _accepted(volume: PersistentVolume, cluster: Cluster) -> Bools:
    """`[N]`: nodes that match the volume's node affinity, untranslated."""
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return np.ones(cluster.nodes.capacity, dtype=np.bool_)
    return selector_mask(affinity.required, cluster.nodes)


def _check_selected(claim: PersistentVolumeClaim, cluster: Cluster, result: PodVolumes) -> None:
    """A volume that is being provisioned for a selected node is reachable there, and as far as known only there."""
    row = cluster.nodes.row_of(cluster.storage.selected_node(claim))
    for_this = np.arange(cluster.nodes.capacity) == (-1 if row is None else row)
    result.satisfiable &= for_this


def _check_delayed(claim: PersistentVolumeClaim, cluster: Cluster, result: PodVolumes) -> None:
    choice: Ints = np.full(cluster.nodes.capacity, -1, dtype=np.int64)  # [N]: index into candidates, or -1
    own, candidates = _candidates(claim, cluster)
    taken, selected_rows = _taken(result), _SelectedRows(cluster)
    for index, volume in enumerate(candidates):
        rows = selected_rows.of(volume)
        rows = rows[choice[rows] < 0]
        for other, number in taken.get(volume.metadata.name, ()):
            rows = rows[other[rows] != number]
        choice[rows] = index
    result.chosen.append((claim, choice, candidates))
    # The first claim without a volume on a node gives the reason.
    asked = (choice < 0) & result.satisfiable & result.enough_space
    provisionable, enough = _provisionable(claim, cluster)
    # A claim that a volume is reserved for is bound to that one, whatever is provisioned for it elsewhere.
    result.satisfiable &= ~asked | (provisionable & (not own))
    result.enough_space &= ~asked | ~result.satisfiable | enough


class _SelectedRows:
    """The node rows that a term selects, without a mask over all nodes for terms that name values of one label.

    Local volumes and CSIStorageCapacities of local disks have such terms, and there are as many of them as nodes: with
    a mask for each, 5,000 nodes of two volumes cost most of a second per pod.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._rows: dict[str, defaultdict[str, list[int]]] = {}  # label key -> value -> rows

    def of(self, volume: PersistentVolume) -> Ints:
        """Rows from which a volume is reachable; as in kube-scheduler, an unbound volume is not translated."""
        affinity = volume.spec.node_affinity
        if affinity is None or affinity.required is None or len(affinity.required.node_selector_terms) != 1:
            return np.flatnonzero(_accepted(volume, self._cluster))
        return self.selected_by(affinity.required.node_selector_terms[0])

    def selected_by(self, term: NodeSelectorTerm) -> Ints:
        """Rows that match the term."""
        only = term.match_expressions[0] if len(term.match_expressions) == 1 and not term.match_fields else None
        if only is None or only.operator != "In":
            return np.flatnonzero(term_mask(term, self._cluster.nodes))
        rows = self._by_value(only.key)
        return np.array([row for value in set(only.values) for row in rows.get(value, ())], dtype=np.int64)

    def _by_value(self, key: str) -> dict[str, list[int]]:
        if key not in self._rows:
            column, rows = self._cluster.nodes.labels.column(key), defaultdict(list)
            for row in np.flatnonzero(column.codes >= 0).tolist():
                rows[column.values[column.codes[row]]].append(row)
            self._rows[key] = rows
        return self._rows[key]


def _taken(result: PodVolumes) -> dict[str, list[tuple[Ints, int]]]:
    """Volumes that earlier claims of the pod get: by volume, each choice, `[N]`, and the volume's index in it."""
    taken: dict[str, list[tuple[Ints, int]]] = {}
    for _, choice, candidates in result.chosen:
        for index in np.unique(choice[choice >= 0]).tolist():
            taken.setdefault(candidates[index].metadata.name, []).append((choice, index))
    return taken


def _candidates(claim: PersistentVolumeClaim, cluster: Cluster) -> tuple[bool, list[PersistentVolume]]:
    """Whether volumes are reserved for a claim, and the volumes that it can get, the smallest first, then by name.

    A claim that a volume names in `claimRef`, or that a volume is reserved for, gets no other volume. Its selector does
    not matter then, nor the phase of the volume: somebody bound the two on purpose.
    """
    storage = cluster.storage
    if storage.selected_node(claim):
        return False, []
    reserved = storage.reserved_volumes()
    usable = [volume for volume in storage.volumes.values() if _is_usable(volume, claim, cluster)]
    own = [
        volume
        for volume in usable
        if storage.belongs_to(volume, claim)
        or (volume.spec.claim_ref is None and reserved.get(volume.metadata.name) == claim.metadata.key)
    ]
    selects = compile_selector(claim.spec.selector) if claim.spec.selector is not None else lambda _: True
    free = [
        volume
        for volume in usable
        if volume.spec.claim_ref is None
        and volume.metadata.name not in reserved
        and volume.status.phase == "Available"
        and set(claim.spec.access_modes) <= set(volume.spec.access_modes)
        and selects(volume.metadata.labels)
    ]
    return bool(own), sorted(own or free, key=lambda v: (_capacity(v), v.metadata.name))


def _is_usable(volume: PersistentVolume, claim: PersistentVolumeClaim, cluster: Cluster) -> bool:
    """The conditions that hold even for a volume that names the claim."""
    return (
        cluster.storage.class_of(volume) == cluster.storage.class_of(claim)
        and volume.spec.volume_mode == claim.spec.volume_mode
        and volume.spec.volume_attributes_class_name == claim.spec.volume_attributes_class_name
        and volume.metadata.deletion_timestamp is None
        and _capacity(volume) >= _size(claim)
    )


def _provisionable(claim: PersistentVolumeClaim, cluster: Cluster) -> tuple[Bools, Bools]:
    """`[N]`, `[N]`: nodes for which the class can provision a volume, and on which its driver has the capacity."""
    capacity = cluster.nodes.capacity
    storage_class = cluster.storage.classes.get(cluster.storage.class_of(claim))
    if storage_class is None or storage_class.provisioner in ("", _NO_PROVISIONER):
        return np.zeros(capacity, dtype=np.bool_), np.ones(capacity, dtype=np.bool_)
    return _in_allowed_topology(storage_class, cluster), _with_space(claim, storage_class, cluster)


def _in_allowed_topology(storage_class: StorageClass, cluster: Cluster) -> Bools:
    """`[N]`: nodes that match `allowedTopologies`."""
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
    """`[N]`: nodes for which some CSIStorageCapacity is large enough for the claim."""
    driver = cluster.storage.drivers.get(storage_class.provisioner)
    nodes = cluster.nodes
    if driver is None or not driver.spec.storage_capacity or "storage" not in claim.spec.resources.requests:
        return np.ones(nodes.capacity, dtype=np.bool_)
    space = np.zeros(nodes.capacity, dtype=np.bool_)
    selected_rows = _SelectedRows(cluster)
    for report in cluster.storage.capacities.values():
        if report.storage_class_name == storage_class.metadata.name and _offers(report) >= _size(claim):
            topology = report.node_topology
            if topology is not None and is_empty(topology):  # no topology selects no node, an empty one all
                space[:] = True
            elif topology is not None:
                space[selected_rows.selected_by(_term_of(topology))] = True
    return space


def _term_of(selector: LabelSelector) -> NodeSelectorTerm:
    equal = (NodeSelectorRequirement(key, "In", (value,)) for key, value in selector.match_labels.items())
    others = (NodeSelectorRequirement(r.key, r.operator, r.values) for r in selector.match_expressions)
    return NodeSelectorTerm(match_expressions=(*equal, *others))


def _offers(report: CSIStorageCapacity) -> int:
    limit = report.maximum_volume_size if report.maximum_volume_size is not None else report.capacity
    return units(limit) if limit is not None else -1


def _size(claim: PersistentVolumeClaim) -> int:
    return units(claim.spec.resources.requests.get("storage", 0))


def _capacity(volume: PersistentVolume) -> int:
    return units(volume.spec.capacity.get("storage", 0))
