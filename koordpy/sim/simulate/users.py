"""What users, administrators and another scheduler do, one verb each. A step that cannot be done is not done.

They speak to the API without its faults: a user who is refused tries again, and that is no news. Any step may be left
out of a history, and the others still mean something.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from koordpy.sim.embedded.request import Request
from koordpy.sim.embedded.server import EmbeddedCluster
from koordpy.sim.simulate import objects
from koordpy.sim.simulate.objects import NAMESPACE, POD_GROUPS, Json, path
from koordpy.sim.simulate.reading import OURS

_MERGE = {"content-type": "application/merge-patch+json"}
_OTHER = "other-scheduler"
_COLLECTED_S = 5.0  # after its node is gone, as the collector of orphaned pods takes its time
_TOPOLOGIES = "/apis/scheduling.koordinator.sh/v1alpha1/clusternetworktopologies"
_QUEUES = "/apis/scheduling.run.ai/v2/queues"
_OWNERS = {
    "QueueJob": ("arbitrator.incubator.k8s.io/v1alpha1", "queuejobs"),
    "Job": ("batch/v1", "jobs"),
    "PyTorchJob": ("kubeflow.org/v1", "pytorchjobs"),
}


class Users:
    """The verbs are those of the steps of a history."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self._cluster, self._store = cluster, cluster.store
        self.deleted: set[str] = set()  # UIDs of pods that they delete

    async def ask(self, method: str, target: str, body: Json | None = None, **headers: str) -> int:
        """The status of the answer."""
        content = headers or ({} if method != "PATCH" else _MERGE)
        encoded = msgspec.json.encode(body) if body is not None else b""
        answer = await self._cluster.handle(Request.of_target(method, target, content, encoded))
        return answer.status

    # --- jobs ---

    async def pod(self, name: str, **ask: Any) -> None:
        await self.ask("POST", path("v1", "pods"), objects.pod(name, ask))

    async def gang(self, name: str, **ask: Any) -> None:
        """Its object before the pods or after them; and the pods one after the other."""
        if not ask.get("late"):
            await self.pod_group(name, **ask)
        for number in range(ask["members"]):
            await self.ask("POST", path("v1", "pods"), objects.member(name, number, ask))
            await asyncio.sleep(ask.get("every_s", 0.0))
        if ask.get("late"):
            await self.pod_group(name, **ask)

    async def pod_group(self, name: str, **ask: Any) -> None:
        if ask["frontend"] in POD_GROUPS:
            api_version, _ = POD_GROUPS[ask["frontend"]]
            await self.ask("POST", path(api_version, "podgroups"), objects.pod_group(name, ask))

    async def owner(self, name: str, kind: str, **ask: Any) -> None:
        api_version, plural = _OWNERS[kind]
        make = {"QueueJob": objects.queue_job, "Job": objects.job, "PyTorchJob": objects.pytorch_job}[kind]
        await self.ask("POST", path(api_version, plural), make(name, ask))

    async def delete_owner(self, name: str, kind: str) -> None:
        api_version, plural = _OWNERS[kind]
        self._going(name)
        await self.ask("DELETE", f"{path(api_version, plural)}/{name}")

    async def delete_gang(self, name: str, frontend: str) -> None:
        """Its pods and its object, in this order."""
        await self.delete_pods(name)
        if frontend in POD_GROUPS:
            await self.ask("DELETE", f"{path(POD_GROUPS[frontend][0], 'podgroups')}/{name}")

    async def resubmit(self, name: str, **ask: Any) -> None:
        await self.delete_gang(name, ask["frontend"])
        await asyncio.sleep(ask.get("after_s", 0.0))
        await self.gang(name, **ask)

    async def grow(self, name: str, first: int, count: int, **ask: Any) -> None:
        for number in range(first, first + count):
            await self.ask("POST", path("v1", "pods"), objects.member(name, number, ask))

    async def delete_pods(self, prefix: str) -> None:
        for name in self._going(prefix):
            await self.ask("DELETE", f"{path('v1', 'pods')}/{name}")

    def _going(self, prefix: str) -> list[str]:
        """Names of pods that begin so; from now on users delete them."""
        found = []
        for stored in self._store.items("pods", NAMESPACE):
            if stored.key[1] == prefix or stored.key[1].startswith(f"{prefix}-"):
                found.append(stored.key[1])
                self.deleted.add(stored.obj["metadata"]["uid"])
        return found

    async def require(self, name: str, frontend: str, minimum: int) -> None:
        """Another minimum."""
        spec: Json = {"minMember": minimum}
        if frontend in ("sigs", "kai"):
            await self.ask("PATCH", f"{path(POD_GROUPS[frontend][0], 'podgroups')}/{name}", {"spec": spec})

    # --- queues ---

    async def queue(self, name: str, **ask: Any) -> None:
        body = objects.queue(name, ask)
        if await self.ask("POST", _QUEUES, body) == 409:
            await self.ask("PATCH", f"{_QUEUES}/{name}", {"spec": body["spec"]})

    async def delete_queue(self, name: str) -> None:
        await self.ask("DELETE", f"{_QUEUES}/{name}")

    # --- nodes ---

    async def node(self, name: str, cpu: int, gpu: int, rack: str = "") -> None:
        """It comes, or comes back, or has another size from now on."""
        body = objects.node(name, cpu, gpu, rack)
        if await self.ask("POST", "/api/v1/nodes", body) == 409:
            amounts = {key: body["status"][key] for key in ("capacity", "allocatable")}
            await self.ask("PATCH", f"/api/v1/nodes/{name}/status", {"status": amounts})

    async def move(self, name: str, rack: str | None) -> None:
        """It stands in another rack, or nobody knows where."""
        await self.ask("PATCH", f"/api/v1/nodes/{name}", {"metadata": {"labels": {objects.RACK: rack}}})

    async def topology(self, says: str) -> None:
        """What the cluster's topology object says from now on; "" is none."""
        if not says:
            await self.ask("DELETE", f"{_TOPOLOGIES}/default")
            return
        body = objects.topology(objects.TOPOLOGIES[says])
        if await self.ask("POST", _TOPOLOGIES, body) == 409:
            await self.ask("PATCH", f"{_TOPOLOGIES}/default", {"spec": body["spec"]})

    async def cordon(self, name: str, unschedulable: bool) -> None:
        await self.ask("PATCH", f"/api/v1/nodes/{name}", {"spec": {"unschedulable": unschedulable or None}})

    async def lose_node(self, name: str) -> None:
        """It vanishes; what was on it is collected some seconds later, unless it is back by then."""
        await self.ask("DELETE", f"/api/v1/nodes/{name}")
        await asyncio.sleep(_COLLECTED_S)
        if self._store.get("nodes", "", name) is None:
            for stored in list(self._store.items("pods")):
                if stored.obj["spec"].get("nodeName") == name:
                    self.deleted.add(stored.obj["metadata"]["uid"])
                    target = f"{path('v1', 'pods', stored.key[0])}/{stored.key[1]}"
                    await self.ask("DELETE", target, {"gracePeriodSeconds": 0})

    # --- others ---

    async def foreign(self, name: str, node: str, **ask: Any) -> None:
        """Another scheduler binds a pod of its own, where it has room as it sees it."""
        await self.ask("POST", path("v1", "pods"), objects.pod(name, ask, _OTHER))
        await self.ask("POST", f"{path('v1', 'pods')}/{name}/binding", {"target": {"kind": "Node", "name": node}})

    async def garbage(self, name: str, which: int) -> None:
        """Objects that say nothing sensible about what they are."""
        odd = objects.pod(name, {"cpu": 1})
        meta = odd["metadata"]
        if which == 0:
            meta["annotations"] = {"gang.scheduling.koordinator.sh/name": name}
            meta["annotations"]["gang.scheduling.koordinator.sh/min-available"] = "many"
        elif which == 1:
            meta["annotations"] = {"gang.scheduling.koordinator.sh/name": name}
            meta["annotations"] |= {"gang.scheduling.koordinator.sh/min-available": "1"}
            meta["annotations"] |= {"gang.scheduling.koordinator.sh/groups": '["nowhere", 3, null]'}
        elif which == 2:
            odd["spec"]["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}
        elif which == 3:
            await self.queue(name, parent=name)
            meta["labels"] = {objects.QUEUE: name}
        elif which == 6:
            ask = {"frontend": "sigs", "minimum": 10**9, "members": 1}
            odd = objects.member(name, 0, {"cpu": 1} | ask)
            await self.pod_group(name, **ask)
        elif which == 7:
            ask = {"frontend": "kai", "minimum": 2, "members": 1, "gather": "NobodyGathers"}
            odd = objects.member(name, 0, {"cpu": 1} | ask)
            await self.pod_group(name, **ask)
        elif which == 4:
            odd["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1", "example.com/none": "3"}}
        else:
            meta["labels"] = {"pod-group.scheduling.sigs.k8s.io": "no-such-group"}
        odd["spec"]["schedulerName"] = OURS
        await self.ask("POST", path("v1", "pods"), odd)
