"""Claims and volumes: what the API server says about them, and what the scheduler has reserved of them.

Between choosing a volume for a claim and the API server showing them bound, the choice is assumed here, so that no
other pod gets the same volume. `generation` is raised by every change: what is derived is void from then on.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import NamedTuple

from koordpy.api.keys import BETA_STORAGE_CLASS, BIND_COMPLETED, SELECTED_NODE
from koordpy.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from koordpy.state.shapes import Shape


class VolumeChoice(NamedTuple):
    """For one pod on one node: which volume each unbound claim gets, and which claims are to be provisioned there."""

    static: tuple[tuple[str, str], ...] = ()  # claim key, volume name
    provisioned: tuple[str, ...] = ()  # claim keys


NO_VOLUMES = VolumeChoice()


class Storage:
    """Everything that decides where a pod with volumes can run."""

    def __init__(self) -> None:
        self.claims: dict[str, PersistentVolumeClaim] = {}  # namespace/name
        self.volumes: dict[str, PersistentVolume] = {}
        self.classes: dict[str, StorageClass] = {}
        self.csi_nodes: dict[str, CSINode] = {}
        self.drivers: dict[str, CSIDriver] = {}
        self.capacities: dict[str, CSIStorageCapacity] = {}
        self.attachments: dict[str, VolumeAttachment] = {}
        self.users: defaultdict[str, dict[int, int]] = defaultdict(dict)  # claim key -> node row -> pods
        # How many pods hold each reservation: pods that share a claim hold what was reserved for it together.
        self._reserved_volumes: Counter[tuple[str, str]] = Counter()  # claim key, volume name
        self._reserved_nodes: dict[str, tuple[str, int]] = {}  # claim key -> node name, pods
        self.generation = 0

    def changed(self) -> None:
        """Whatever was derived from claims and volumes is void."""
        self.generation += 1

    # --- what pods hold ---

    def move(self, row: int, shape: Shape, count: int) -> None:
        """Pods that use claims came to a node, or left it."""
        for claim in shape.traits.claims:
            rows = self.users[claim.key]
            rows[row] = rows.get(row, 0) + count
            if not rows[row]:
                del rows[row]
            if not rows:
                del self.users[claim.key]
        self.generation += 1

    def clear_users(self) -> None:
        """No pod uses or reserves anything, until it is counted anew."""
        self.users.clear()
        self._reserved_volumes.clear()
        self._reserved_nodes.clear()
        self.generation += 1

    def reserve(self, choice: VolumeChoice, node: str) -> None:
        """Reserve what was chosen for a pod on a node."""
        self._reserved_volumes.update(choice.static)
        for claim in choice.provisioned:
            _, pods = self._reserved_nodes.get(claim, ("", 0))
            self._reserved_nodes[claim] = node, pods + 1
        self.generation += 1

    def unreserve(self, choice: VolumeChoice) -> None:
        """Take a reservation back; others that share the claim keep theirs."""
        for pair in choice.static:
            self._reserved_volumes[pair] -= 1
            if not self._reserved_volumes[pair]:
                del self._reserved_volumes[pair]
        for claim in choice.provisioned:
            node, pods = self._reserved_nodes.pop(claim)
            if pods > 1:
                self._reserved_nodes[claim] = node, pods - 1
        self.generation += 1

    # --- questions ---

    def is_bound(self, claim: PersistentVolumeClaim) -> bool:
        """The volume controller has finished with it."""
        return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations

    def class_of(self, obj: PersistentVolumeClaim | PersistentVolume) -> str:
        return obj.metadata.annotations.get(BETA_STORAGE_CLASS, obj.spec.storage_class_name)

    def selected_node(self, claim: PersistentVolumeClaim) -> str:
        """Where the claim is being provisioned, by its annotation or by our own reservation."""
        reserved, _ = self._reserved_nodes.get(claim.metadata.key, ("", 0))
        return claim.metadata.annotations.get(SELECTED_NODE) or reserved

    def reserved_volumes(self) -> dict[str, str]:
        """The claim, by key, for which each volume, by name, was reserved."""
        return {volume: claim for claim, volume in self._reserved_volumes}

    def is_reserved(self, choice: VolumeChoice) -> bool:
        """Some pod still holds it; a pod that is gone or forgotten does not."""
        return self._reserved_volumes.keys() >= set(choice.static) and (
            self._reserved_nodes.keys() >= set(choice.provisioned)
        )

    def belongs_to(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
        """The volume names this claim, by UID if it gives one."""
        ref = volume.spec.claim_ref
        meta = claim.metadata
        return (
            ref is not None and (ref.namespace, ref.name) == (meta.namespace, meta.name) and ref.uid in ("", meta.uid)
        )
