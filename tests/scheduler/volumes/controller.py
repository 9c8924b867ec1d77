"""What a real cluster has beside the scheduler: the volume controller and a provisioner, played by the test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from tests.builders import Json
from tests.controlplane.client import path
from tests.scheduler.volumes.objects import BIND_COMPLETED, SELECTED_NODE, claim_json, storage_class_json, volume_json

Ask = Callable[[str, str, Json | None], Awaitable[Json]]  # method, path, body; raises unless it succeeds

CLAIMS, VOLUMES, CLASSES = "persistentvolumeclaims", "persistentvolumes", "storageclasses"


class Controller:
    """Works on any API, through one function that asks it."""

    def __init__(self, ask: Ask, namespace: str = "default") -> None:
        self._ask, self.namespace = ask, namespace

    async def add_class(self, name: str = "local", **arguments: Any) -> None:
        await self._ask("POST", path(CLASSES), storage_class_json(name, **arguments))

    async def add_claim(self, name: str = "data", **arguments: Any) -> Json:
        body = claim_json(name, namespace=self.namespace, **arguments)
        return await self._ask("POST", path(CLAIMS, namespace=self.namespace), body)

    async def add_volume(self, name: str = "pv1", **arguments: Any) -> None:
        """A volume that is there for whoever needs it."""
        body = volume_json(name, **arguments)
        await self._ask("POST", path(VOLUMES), body)
        await self._ask("PATCH", path(VOLUMES, name, subresource="status"), {"status": body["status"]})

    async def claim(self, name: str = "data") -> Json:
        return await self._ask("GET", path(CLAIMS, name, self.namespace), None)

    async def volume(self, name: str = "pv1") -> Json:
        return await self._ask("GET", path(VOLUMES, name), None)

    async def owner_of(self, name: str = "pv1") -> str:
        """The name of the claim that a volume was given to."""
        return (await self.volume(name))["spec"].get("claimRef", {}).get("name", "")

    async def selected_node(self, name: str = "data") -> str:
        return (await self.claim(name))["metadata"].get("annotations", {}).get(SELECTED_NODE, "")

    async def finish(self, claim: str = "data", volume: str = "pv1") -> None:
        """Complete the claim's side, as the volume controller does once a volume names the claim."""
        body = {"metadata": {"annotations": {BIND_COMPLETED: "yes"}}, "spec": {"volumeName": volume}}
        await self._ask("PATCH", path(CLAIMS, claim, self.namespace), body)
        for kind, name, where in ((CLAIMS, claim, self.namespace), (VOLUMES, volume, "")):
            await self._ask("PATCH", path(kind, name, where, "status"), {"status": {"phase": "Bound"}})

    async def provision(self, claim: str = "data", volume: str = "made", **arguments: Any) -> None:
        """Make a volume for a claim where its annotation says, and bind them."""
        found = await self.claim(claim)
        chosen = found["metadata"]["annotations"][SELECTED_NODE]
        about = {"claim_uid": found["metadata"]["uid"], "claim_namespace": self.namespace}
        arguments = {"nodes": [chosen], "csi": volume, "storage_class": "fast", **about, **arguments}
        await self.add_volume(volume, claim=claim, **arguments)
        await self.finish(claim, volume)

    async def give_up(self, claim: str = "data") -> None:
        """What a provisioner does that cannot make a volume for the selected node."""
        annotations = {"metadata": {"annotations": {SELECTED_NODE: None}}}
        await self._ask("PATCH", path(CLAIMS, claim, self.namespace), annotations)

    async def delete_claim(self, name: str = "data") -> None:
        await self._ask("DELETE", path(CLAIMS, name, self.namespace), {})

    async def delete_volume(self, name: str = "pv1") -> None:
        await self._ask("DELETE", path(VOLUMES, name), {})

    async def take_volume(self, name: str = "pv1", claim: str = "thief") -> None:
        """Somebody else ties the volume to another claim."""
        reference = {"kind": "PersistentVolumeClaim", "namespace": self.namespace, "name": claim, "uid": "uid-of-thief"}
        await self._ask("PATCH", path(VOLUMES, name), {"spec": {"claimRef": reference}})

    async def untie_volume(self, name: str = "pv1") -> None:
        await self._ask("PATCH", path(VOLUMES, name), {"spec": {"claimRef": None}})
