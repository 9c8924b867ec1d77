"""Binding the volumes of a pod before the pod itself: write what was chosen, wait until the cluster has made it true.

Right if we die at any point: a volume that was given to its claim keeps the pod to the nodes that reach it, and so does
a node that was selected for provisioning; the next attempt goes on from what it finds.
"""

from __future__ import annotations

import asyncio

from koordpy.api.storage import PersistentVolumeClaim
from koordpy.cluster.picture import Cluster
from koordpy.cluster.storage import VolumeChoice
from koordpy.kube.client import Client
from koordpy.kube.writes import give_volume, provision_for


class VolumesNotBound(Exception):
    """Why the pod cannot be bound yet; it is planned again after a back-off."""


class VolumeBinder:
    """Carries out volume choices."""

    def __init__(self, client: Client, cluster: Cluster, timeout_s: float) -> None:
        self._client, self._cluster, self._timeout_s = client, cluster, timeout_s
        self._news = asyncio.Event()

    def storage_changed(self) -> None:
        """A claim or volume changed: somebody may have been waiting for it."""
        self._news.set()

    async def bind(self, choice: VolumeChoice, node: str) -> None:
        """Returns when all claims are bound; raises VolumesNotBound, or ApiError for a write that failed."""
        storage = self._cluster.storage
        for key, name in choice.static:
            volume = storage.volumes.get(name)
            if volume is None:
                raise VolumesNotBound(f"persistentvolume {name} is gone")
            claim = self._claim(key)
            if not storage.belongs_to(volume, claim):
                await give_volume(self._client, volume, claim)
        for key in choice.provisioned:
            await provision_for(self._client, self._claim(key), node)
        try:
            async with asyncio.timeout(self._timeout_s):
                while not self._all_bound(choice, node):
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise VolumesNotBound(f"volumes were not bound within {self._timeout_s:g} s") from None

    def _all_bound(self, choice: VolumeChoice, node: str) -> bool:
        storage = self._cluster.storage
        for key in choice.provisioned:
            claim = self._claim(key)
            if storage.selected_node(claim) not in ("", node):
                raise VolumesNotBound(f"persistentvolumeclaim {key} is being provisioned for another node")
        return all(storage.is_bound(self._claim(key)) for key in (*dict(choice.static), *choice.provisioned))

    def _claim(self, key: str) -> PersistentVolumeClaim:
        claim = self._cluster.storage.claims.get(key)
        if claim is None:
            raise VolumesNotBound(f"persistentvolumeclaim {key} is gone")
        return claim
