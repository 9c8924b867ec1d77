"""Verbs: gangs by the objects of the other front-ends: KAI's, Kubernetes' own, and kube-arbitrator's."""

from __future__ import annotations

from typing import Any

from koordpy.sim.simulate.reading import SUBGROUP
from tests.scenarios.api import MERGE
from tests.scenarios.ground import Json
from tests.scenarios.mirror import KAI_GROUPS, NATIVE_GROUPS, SPECS
from tests.scenarios.pods import PodVerbs

_KINDS = {KAI_GROUPS: "PodGroup", NATIVE_GROUPS: "PodGroup", SPECS: "SchedulingSpec"}


def subgroup(name: str, minimum: int | None = None, **more: Any) -> Json:
    """`subgroup("worker", 2)`, `subgroup("s0", 2, parent="jobs")`, `subgroup("jobs", minSubGroup=1)`."""
    return {"name": name} | ({"minMember": minimum} if minimum is not None else {}) | more


def owner_of(name: str, uid: str = "", kind: str = "Job") -> Json:
    """The reference to a controller that nobody has to make: no garbage collector runs in a story."""
    group = "arbitrator.incubator.k8s.io/v1alpha1" if kind == "QueueJob" else "batch/v1"
    return {"apiVersion": group, "kind": kind, "name": name, "uid": uid or f"uid-of-{name}", "controller": True}


class FrontEndVerbs(PodVerbs):
    """Each returns when the mirror shows what was done."""

    # --- KAI ---

    async def kai(self, name: str, minimum: int | None = None, *subgroups: Json, **given: Any) -> None:
        """A PodGroup of KAI's; `annotations` and `labels` are its metadata, everything else its spec."""
        spec = {"minMember": minimum} if minimum is not None else {}
        spec |= {"subGroups": list(subgroups)} if subgroups else {}
        await self._make(KAI_GROUPS, name, spec, **given)

    async def change_kai(self, name: str, annotations: dict[str, Any] | None = None, **spec: Any) -> None:
        await self._change(KAI_GROUPS, name, spec, annotations)

    async def delete_kai(self, name: str) -> None:
        await self._delete(KAI_GROUPS, name)

    async def kai_pods(self, *names: str, gang: str, subgroup: str = "", **given: Any) -> None:
        """Pods that name their PodGroup, and their subgroup."""
        annotations = {"pod-group-name": gang} | (given.pop("annotations", None) or {})
        labels = ({SUBGROUP: subgroup} if subgroup else {}) | (given.pop("labels", None) or {})
        await self.pods(*names, annotations=annotations, labels=labels, **({"cpu": 1} | given))

    # --- Kubernetes itself ---

    async def native(self, name: str, minimum: int | None = None, **given: Any) -> None:
        """A PodGroup of Kubernetes itself; without a minimum, of the basic policy."""
        policy = {"gang": {"minCount": minimum}} if minimum is not None else {"basic": {}}
        await self._make(NATIVE_GROUPS, name, {"schedulingPolicy": policy}, **given)

    async def delete_native(self, name: str) -> None:
        await self._delete(NATIVE_GROUPS, name)

    async def native_pods(self, *names: str, gang: str, **given: Any) -> None:
        await self.pods(*names, scheduling_group=gang, **({"cpu": 1} | given))

    # --- kube-arbitrator ---

    async def spec(self, owner: str, minimum: int, *, uid: str = "", name: str = "", **given: Any) -> None:
        """The SchedulingSpec of an owner."""
        kind = given.pop("kind", "Job")
        reference = owner_of(owner, uid, kind)
        await self._make(SPECS, name or owner, {"minAvailable": minimum}, ownerReferences=[reference], **given)

    async def change_spec(self, name: str, **spec: Any) -> None:
        await self._change(SPECS, name, spec)

    async def delete_spec(self, name: str) -> None:
        await self._delete(SPECS, name)

    async def owned_pods(self, *names: str, owner: str, uid: str = "", kind: str = "Job", **given: Any) -> None:
        await self.pods(*names, controller=owner_of(owner, uid, kind), **({"cpu": 1} | given))

    # --- all of them ---

    async def classes(self, **values: int) -> None:
        """PriorityClasses by name, which preempt nobody."""
        for name, value in values.items():
            body = {"metadata": {"name": name}, "value": value, "preemptionPolicy": "Never"}
            await self.api.ask("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", body)

    def status_of(self, path: str, name: str) -> Json:
        found = self.mirror.find(path, self.namespace, name)
        return (found or {}).get("status") or {}

    async def _make(self, path: str, name: str, spec: Json, **given: Any) -> None:
        meta = {key: given.pop(key) for key in ("annotations", "labels", "ownerReferences") if key in given}
        meta["annotations"] = self.filled(meta.get("annotations"))
        group = path.removeprefix("/apis/").rpartition("/")[0]
        obj = {"apiVersion": group, "kind": _KINDS[path], "metadata": meta | {"name": name}, "spec": spec | given}
        made = await self.api.ask("POST", self._path(path), obj)
        await self.until(lambda: self._uid_in(path, name) == made["metadata"]["uid"], f"{path} {name}")

    async def _change(self, path: str, name: str, spec: Json, annotations: dict[str, Any] | None = None) -> None:
        body = {"metadata": {"annotations": self.filled(annotations)}, "spec": spec}
        changed = await self.api.ask("PATCH", self._path(path, name), body, MERGE)
        version = int(changed["metadata"]["resourceVersion"])

        def seen() -> bool:
            found = self.mirror.find(path, self.namespace, name)
            return found is not None and int(found["metadata"]["resourceVersion"]) >= version

        await self.until(seen, f"the change of {name}")

    async def _delete(self, path: str, name: str) -> None:
        await self.api.ask("DELETE", self._path(path, name))
        await self.until(lambda: not self.mirror.find(path, self.namespace, name), f"no {name}")

    def _path(self, collection: str, name: str = "") -> str:
        root, _, plural = collection.rpartition("/")
        path = f"{root}/namespaces/{self.namespace}/{plural}"
        return f"{path}/{name}" if name else path

    def _uid_in(self, path: str, name: str) -> str:
        found = self.mirror.find(path, self.namespace, name)
        return found["metadata"]["uid"] if found else ""
