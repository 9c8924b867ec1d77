"""Verbs: nodes and PodGroups, as administrators and users make, change and delete them."""

from __future__ import annotations

from typing import Any

from tests.builders import node_json
from tests.scenarios import api
from tests.scenarios.api import MERGE
from tests.scenarios.ground import Ground
from tests.scenarios.mirror import GROUPS, NODES, PODS
from tests.scenarios.objects import POD_GROUP_APIS, node_of, pod_group_json


class ClusterVerbs(Ground):
    """Each returns when the API server shows what was done."""

    async def nodes(self, count: int, **arguments: Any) -> None:
        """Nodes n1, n2, ..."""
        for number in range(1, count + 1):
            await self.node(f"n{number}", **arguments)

    async def node(self, name: str, **arguments: Any) -> None:
        await self.api.ask("POST", api.nodes(), node_json(name, **arguments))
        await self.until(lambda: self.mirror.find(NODES, "", name), f"node {name}")

    async def caught_up(self) -> None:
        """The scheduler has seen what the API server shows: questions about it are answered from its own view."""

        def seen() -> bool:
            assert self.instance is not None
            cluster = self.instance.process.built.cluster
            nodes = {node["metadata"]["name"] for node in self.mirror.all(NODES)}
            living = [
                pod
                for pod in self.mirror.all(PODS)
                if pod.get("status", {}).get("phase") not in ("Succeeded", "Failed")
            ]
            places = {pod["metadata"]["uid"]: node_of(pod) for pod in living}
            known = {uid: record.node or "" for uid, record in cluster.pods.items()}
            if not (nodes <= set(cluster.nodes.names) and known.keys() >= places.keys()):
                return False
            return all(known[uid] == place for uid, place in places.items() if place)  # others may wait at Permit

        await self.until(seen, "the scheduler has seen all nodes and pods")

    async def busy_node(self) -> None:
        """A node that another scheduler's pod fills: gangs may hope for it, and wait."""
        await self.node("busy", cpu=16)
        await self.bind_elsewhere("filler", "busy", cpu=16)

    async def resize_node(self, name: str, *, cpu: int) -> None:
        self.observer.may_be_full.add(name)
        amounts = {"cpu": str(cpu)}
        body = {"status": {"allocatable": amounts, "capacity": amounts}}
        await self.api.ask("PATCH", api.nodes(name, "status"), body, MERGE)

    async def change_node(self, name: str, *, labels: dict[str, str | None] | None = None, **spec: Any) -> None:
        """`change_node("n1", unschedulable=True)`, `change_node("n1", labels={"zone": "z1"})`."""
        await self.api.ask("PATCH", api.nodes(name), {"metadata": {"labels": labels or {}}, "spec": spec}, MERGE)

    async def delete_node(self, name: str) -> None:
        await self.api.ask("DELETE", api.nodes(name))

    async def pod_group(
        self,
        name: str,
        minimum: int | None = None,
        *,
        api_group: str = "sigs",
        annotations: dict[str, str] | None = None,
        timeout_s: int | None = None,
        resources: dict[str, str] | None = None,
        namespace: str = "",
    ) -> None:
        """Create a PodGroup; `api_group` is `sigs` or `x-k8s`."""
        namespace = namespace or self.namespace
        obj = pod_group_json(
            name,
            namespace,
            minimum=minimum,
            api=api_group,
            annotations=self.filled(annotations),
            timeout_s=timeout_s,
            resources=resources,
        )
        await self.api.ask("POST", api.pod_groups(POD_GROUP_APIS[api_group], namespace), obj)
        await self.until(lambda: self.mirror.find(GROUPS[api_group], namespace, name), f"PodGroup {name}")

    async def change_pod_group(
        self, name: str, *, api_group: str = "sigs", annotations: dict[str, Any] | None = None, **spec: Any
    ) -> None:
        """`change_pod_group("a", minMember=2)`."""
        body = {"metadata": {"annotations": self.filled(annotations)}, "spec": spec}
        await self.api.ask("PATCH", api.pod_groups(POD_GROUP_APIS[api_group], self.namespace, name), body, MERGE)

    async def delete_pod_group(self, name: str, *, api_group: str = "sigs") -> None:
        await self.api.ask("DELETE", api.pod_groups(POD_GROUP_APIS[api_group], self.namespace, name))
        await self.until(lambda: not self.mirror.find(GROUPS[api_group], self.namespace, name), f"no PodGroup {name}")
