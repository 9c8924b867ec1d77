"""Verbs: pods, as users, controllers, kubelets and other schedulers treat them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from koordpy.api.times import instant_of_seconds
from tests.builders import pod_json
from tests.scenarios import api
from tests.scenarios.api import MERGE, STRATEGIC, Refused
from tests.scenarios.ground import Ground, Json
from tests.scenarios.objects import KOORDINATOR, SIGS, node_of, priority_class, priority_class_json

_GATE = {"name": "example.com/gate"}
_FINALIZER = "example.com/held"
_ADMISSION_TRIES = 40


class PodVerbs(Ground):
    """Each returns when the API server shows what was done."""

    _wall: Callable[[], float]

    async def pods(
        self,
        *names: str,
        gang: str = "",
        labels: dict[str, str] | None = None,
        annotations: dict[str, str] | None = None,
        priority: int | None = None,
        preempts: bool = False,
        gated: bool = False,
        held: bool = False,
        claim: str = "",
        namespace: str = "",
        scheduling_group: str = "",
        controller: Json | None = None,
        **arguments: Any,
    ) -> None:
        """Create pods, in this order; `gang` names their PodGroup, `scheduling_group` one of Kubernetes itself.

        `held` ones stay terminating when deleted; `controller` is the owner reference of all.
        """
        if priority is not None:
            await self._priority_class(priority, preempts=preempts)
        all_labels = {**({SIGS: gang} if gang else {}), **(labels or {})}
        for name in names:
            obj = pod_json(name, namespace=namespace or self.namespace, labels=all_labels, **arguments)
            obj["metadata"] |= {"annotations": self.filled(annotations)}
            obj["metadata"] |= {"finalizers": [_FINALIZER]} if held else {}
            obj["spec"] |= {"schedulingGates": [_GATE]} if gated else {}
            obj["spec"] |= {"schedulingGroup": {"podGroupName": scheduling_group}} if scheduling_group else {}
            obj["metadata"] |= {"ownerReferences": [controller]} if controller else {}
            if claim:
                obj["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
            if priority is not None:
                obj["spec"]["priorityClassName"] = priority_class(priority, preempts=preempts)
            await self._create(obj)

    async def bind_elsewhere(self, name: str, node: str, **arguments: Any) -> None:
        """A pod of another scheduler, on its node already."""
        await self.pods(name, scheduler="default-scheduler", **arguments)
        await self.bind(name, node)

    async def bind(self, name: str, node: str) -> None:
        """Bind a pod by hand, as somebody else would."""
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
        await self.api.ask("POST", api.pods(self.namespace, name, "binding"), binding)
        await self.until(lambda: node_of(self.pod(name)) == node, f"{name} on {node}")

    async def delete(self, *names: str) -> None:
        """Delete pods, and do their kubelets' part: they are gone afterwards."""
        for name in names:
            uid = self._may_go(name)
            await self.api.ask("DELETE", api.pods(self.namespace, name), {"gracePeriodSeconds": 0})
            await self.until(lambda name=name, uid=uid: self._uid(name) != uid, f"{name} is gone")

    async def terminate(self, *names: str) -> None:
        """Delete pods whose kubelet does not answer, or that are `held`: they stay, terminating."""
        for name in names:
            self._may_go(name)
            await self.api.ask("DELETE", api.pods(self.namespace, name))
            await self.until(lambda name=name: "deletionTimestamp" in self.pod(name)["metadata"], f"{name} terminates")

    async def unreserve(self, *names: str) -> None:
        """The kubelet or the finalizer of a terminating pod is done."""
        for name in names:
            if node_of(self.pod(name)):
                await self.api.ask("DELETE", api.pods(self.namespace, name), {"gracePeriodSeconds": 0})
            else:
                await self._patch(name, {"metadata": {"finalizers": None}})

    async def finish(self, *names: str, phase: str = "Succeeded") -> None:
        for name in names:
            ended = {"terminated": {"exitCode": 0, "finishedAt": instant_of_seconds(self._wall())}}
            container = {"name": "main", "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": ended}
            status = {"status": {"phase": phase, "containerStatuses": [container]}}
            await self.api.ask("PATCH", api.pods(self.namespace, name, "status"), status, STRATEGIC)
            await self.until(lambda name=name: self.pod(name)["status"].get("phase") == phase, f"{name} is {phase}")

    async def ungate(self, *names: str) -> None:
        for name in names:
            await self._patch(name, {"spec": {"schedulingGates": None}})

    async def annotate(self, *names: str, **annotations: str | None) -> None:
        """Set annotations of Koordinator's, by the end of their key: `annotate("a", mode="Strict", timeout=None)`."""
        said = {f"{KOORDINATOR}/{key.replace('_', '-')}": value for key, value in annotations.items()}
        for name in names:
            await self._patch(name, {"metadata": {"annotations": self.filled(said)}})

    async def label(self, *names: str, labels: dict[str, str | None]) -> None:
        for name in names:
            await self._patch(name, {"metadata": {"labels": labels}})

    async def _create(self, obj: Json) -> None:
        meta = obj["metadata"]
        for attempt in range(1, _ADMISSION_TRIES + 1):
            try:
                uid = (await self.api.ask("POST", api.pods(meta["namespace"]), obj))["metadata"]["uid"]
                break
            except Refused as refusal:  # admission hears of a new PriorityClass a moment late
                if "PriorityClass" not in str(refusal) or attempt == _ADMISSION_TRIES:
                    raise
                await asyncio.sleep(0.05)
        await self.until(lambda: self._uid(meta["name"], meta["namespace"]) == uid, f"pod {meta['name']}")

    async def _priority_class(self, value: int, *, preempts: bool) -> None:
        obj = priority_class_json(value, preempts=preempts)
        try:
            await self.api.ask("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", obj)
        except Refused as refusal:
            if refusal.status != 409:
                raise

    async def _patch(self, name: str, body: Json) -> None:
        answer = await self.api.ask("PATCH", api.pods(self.namespace, name), body, MERGE)
        version = int(answer["metadata"]["resourceVersion"])

        def seen() -> bool:
            found = self.mirror.pod(self.namespace, name)
            return found is None or int(found["metadata"]["resourceVersion"]) >= version

        await self.until(seen, f"the change of {name}")

    def _may_go(self, name: str) -> str:
        uid = self.pod(name)["metadata"]["uid"]
        self.observer.may_go.add(uid)
        return uid

    def _uid(self, name: str, namespace: str = "") -> str:
        found = self.mirror.pod(namespace or self.namespace, name)
        return found["metadata"]["uid"] if found else ""
