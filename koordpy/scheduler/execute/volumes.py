"""Binding the volumes of a pod before the pod itself: write what was chosen, wait until the cluster has made it true.

Right if we die at any point: a volume that was given to its claim keeps the pod to the nodes that reach it, and so does
a node that was selected for provisioning; the next attempt goes on from what it finds.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from koordpy.api.keys import SELECTED_NODE
from koordpy.api.storage import PersistentVolume, PersistentVolumeClaim
from koordpy.kube.client import Client
from koordpy.kube.writes import give_volume, provision_for
from koordpy.plan.constraints.volumes import reachable
from koordpy.state.cluster import Cluster
from koordpy.state.storage import VolumeChoice


class VolumesNotBound(Exception):
    """Why the pod cannot be bound yet; it is planned again after a back-off."""


class VolumeBinder:
    """Carries out volume choices."""

    def __init__(self, client: Client, cluster: Cluster, timeout_s: float) -> None:
        self._client, self._cluster, self._timeout_s = client, cluster, timeout_s
        self._news = asyncio.Event()
        self._in_hand: set[str] = set()  # keys of claims that some pod is just writing for

    def storage_changed(self) -> None:
        """A claim or volume changed: a pod may have been waiting for it."""
        self._news.set()

    def pod_gone(self, uid: str) -> None:  # noqa: ARG002
        """Its volumes need not be waited for any more."""
        self._news.set()

    async def bind(self, choice: VolumeChoice, node: str) -> None:
        """Returns when all claims are bound; raises VolumesNotBound, or ApiError for a write that failed."""
        try:
            async with asyncio.timeout(self._timeout_s):
                self._check_wanted(choice)
                for key, name in choice.static:
                    await self._give(key, name)
                for key in choice.provisioned:
                    await self._select(key, node)
                while not self._all_bound(choice, node):
                    await self._something_new()
        except TimeoutError:
            raise VolumesNotBound(f"volumes were not bound within {self._timeout_s:g} s") from None

    # --- writing, until the watch shows it ---

    async def _give(self, key: str, name: str) -> None:
        async with self._alone_with(key):
            if not self._is_given(key, name):
                await give_volume(self._client, self._volume(name), self._claim(key))
            while not self._is_given(key, name):
                await self._something_new()

    async def _select(self, key: str, node: str) -> None:
        async with self._alone_with(key):
            if not self._is_selected(key, node):
                await provision_for(self._client, self._claim(key), node)
            while not self._is_selected(key, node):
                await self._something_new()

    @asynccontextmanager
    async def _alone_with(self, key: str) -> AsyncIterator[None]:
        """Of pods that share a claim one writes and the others find it written; together they would only collide."""
        while key in self._in_hand:
            await self._something_new()
        self._in_hand.add(key)
        try:
            yield
        finally:
            self._in_hand.remove(key)
            self._news.set()

    async def _something_new(self) -> None:
        """Nothing can happen between a look at the state and this, as long as nobody awaits between them."""
        self._news.clear()
        await self._news.wait()

    # --- what the watch shows ---

    def _is_given(self, key: str, name: str) -> bool:
        volume, claim = self._volume(name), self._claim(key)
        if volume.spec.claim_ref is None:
            return False
        if not self._cluster.storage.belongs_to(volume, claim):
            raise VolumesNotBound(f"persistentvolume {name} went to another claim than {key}")
        return True

    def _is_selected(self, key: str, node: str) -> bool:
        selected = self._claim(key).metadata.annotations.get(SELECTED_NODE)
        if selected and selected != node:
            raise VolumesNotBound(f"persistentvolumeclaim {key} is being provisioned for another node, {selected}")
        return selected == node

    def _all_bound(self, choice: VolumeChoice, node: str) -> bool:
        """Raises VolumesNotBound when waiting has become pointless."""
        self._check_wanted(choice)
        for key, name in choice.static:
            if not self._is_given(key, name):
                raise VolumesNotBound(f"persistentvolume {name} was taken away from {key}")
        for key in choice.provisioned:
            if not self._is_selected(key, node):  # this is how a provisioner says that it cannot
                raise VolumesNotBound(f"provisioning of persistentvolumeclaim {key} for node {node} failed")
        return all(self._is_usable(key, node) for key in (*dict(choice.static), *choice.provisioned))

    def _check_wanted(self, choice: VolumeChoice) -> None:
        if not self._cluster.storage.is_reserved(choice):
            raise VolumesNotBound("the pod that they were reserved for is gone")

    def _is_usable(self, key: str, node: str) -> bool:
        """Bound, and to a volume that the node can reach, which may be another one than we chose."""
        storage, claim = self._cluster.storage, self._claim(key)
        volume = storage.volumes.get(claim.spec.volume_name)
        if not storage.is_bound(claim) or volume is None or not storage.belongs_to(volume, claim):
            return False
        row = self._cluster.nodes.row_of(node)
        if row is None or not reachable(volume, self._cluster)[row]:
            raise VolumesNotBound(f"persistentvolume {volume.metadata.name} of {key} cannot be reached from {node}")
        return True

    def _volume(self, name: str) -> PersistentVolume:
        volume = self._cluster.storage.volumes.get(name)
        if volume is None:
            raise VolumesNotBound(f"persistentvolume {name} is gone")
        return volume

    def _claim(self, key: str) -> PersistentVolumeClaim:
        claim = self._cluster.storage.claims.get(key)
        if claim is None:
            raise VolumesNotBound(f"persistentvolumeclaim {key} is gone")
        return claim
