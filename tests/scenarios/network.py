"""Verbs: the network of the cluster: its topology object, nodes by their place in it, and gangs that ask for it."""

from __future__ import annotations

import json
from typing import Any

from tests.builders import node_json
from tests.scenarios import api
from tests.scenarios.api import MERGE
from tests.scenarios.ground import Ground, Json
from tests.scenarios.mirror import GROUPS, NODES, TOPOLOGIES
from tests.scenarios.objects import KOORDINATOR, node_of

SPINE, BLOCK = "example.com/spine", "example.com/block"
SPEC = f"{KOORDINATOR}/network-topology-spec"
INDEX = f"{KOORDINATOR}/network-topology-index"
SELECTOR = "scheduling.koordinator.sh/network-topology-selector"
PLACEMENT = "koordpy.io/placement"


def layer(name: str, parent: str = "", *keys: str) -> Json:
    found: Json = {"topologyLayer": name}
    found |= {"parentTopologyLayer": parent} if parent else {}
    return found | ({"labelKey": list(keys)} if keys else {})


LAYERS = (
    layer("SpineLayer", "", SPINE),
    layer("BlockLayer", "SpineLayer", BLOCK),
    layer("NodeTopologyLayer", "BlockLayer"),
)


def must(name: str = "SpineLayer", multiple: int = 0) -> Json:
    return _strategy(name, "MustGather", multiple)


def prefer(name: str = "SpineLayer", multiple: int = 0) -> Json:
    return _strategy(name, "PreferGather", multiple)


def gathering(*strategies: Json) -> dict[str, str]:
    """The annotation of a PodGroup or a member: `gathering(must("SpineLayer"), prefer("BlockLayer"))`."""
    return {SPEC: json.dumps({"gatherStrategy": strategies})}


def _strategy(name: str, strategy: str, multiple: int) -> Json:
    return {"layer": name, "strategy": strategy, **({"podCountMultiple": multiple} if multiple else {})}


class NetworkVerbs(Ground):
    """Each returns when koordpy knows of it too: a gang that comes next is planned on the network that is told."""

    async def topology(self, *layers: Json, name: str = "default") -> None:
        """Create the topology object: spines, blocks and nodes if nothing else is said."""
        spec = {"networkTopologySpec": list(layers or LAYERS)}
        body = {"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "ClusterNetworkTopology", "spec": spec}
        await self.api.ask("POST", TOPOLOGIES, body | {"metadata": {"name": name}})
        if name == "default":
            await self.layers_are(*(each["topologyLayer"] for each in layers or LAYERS))

    async def change_topology(self, *layers: Json) -> None:
        await self.api.ask("PATCH", f"{TOPOLOGIES}/default", {"spec": {"networkTopologySpec": list(layers)}}, MERGE)

    async def delete_topology(self) -> None:
        await self.api.ask("DELETE", f"{TOPOLOGIES}/default")
        await self.layers_are()

    async def layers_are(self, *names: str) -> None:
        assert self.instance is not None
        known = self.instance.process.built.cluster.topology
        await self.until(lambda: {layer.topology_layer for layer in known.layers} == set(names), f"layers {names}")

    async def fabric(self, places: dict[str, str], *, labels: dict[str, str] | None = None, **given: Any) -> None:
        """`fabric({"s1/b1": "n1 n2", "s2": "n3"}, cpu=1)`: nodes with the labels of their spine and block."""
        for place, names in places.items():
            spine, _, block = place.partition("/")
            own = {key: value for key, value in ((SPINE, spine), (BLOCK, block)) if value}
            for name in names.split():
                await self.api.ask("POST", api.nodes(), node_json(name, labels=own | (labels or {}), **given))
        for name in " ".join(places.values()).split():
            await self.until(lambda name=name: self._is_known(name), f"node {name}")

    async def relabel(self, name: str, *, spine: str | None = None, block: str | None = None) -> None:
        """Move a node to another place; None takes a label away."""
        labels = {SPINE: spine, BLOCK: block}
        await self.api.ask("PATCH", api.nodes(name), {"metadata": {"labels": labels}}, MERGE)

        def moved() -> bool:
            found = self.mirror.find(NODES, "", name)
            has = found["metadata"]["labels"] if found else {}
            return all(has.get(key) == value for key, value in labels.items())

        await self.until(moved, f"{name} in {spine}/{block}")

    def spines(self, *pods: str) -> list[str]:
        """Of the nodes that these pods are on, in their order; empty for a node without the label."""
        return [self._label(pod, SPINE) for pod in pods]

    def blocks(self, *pods: str) -> list[str]:
        return [self._label(pod, BLOCK) for pod in pods]

    async def placement(self, pod_group: str) -> Json:
        """What is published about the placement of a gang."""
        return json.loads(await self.until(lambda: self._published(pod_group), f"placement of {pod_group}"))

    def _published(self, pod_group: str) -> str | None:
        found = self.mirror.find(GROUPS["sigs"], self.namespace, pod_group)
        return (found["metadata"].get("annotations") or {}).get(PLACEMENT) if found else None

    def _label(self, pod: str, key: str) -> str:
        node = self.mirror.find(NODES, "", node_of(self.pod(pod)))
        assert node is not None, f"{pod} is on no node"
        return node["metadata"]["labels"].get(key, "")

    def _is_known(self, node: str) -> bool:
        known = self.instance is None or self.instance.process.built.cluster.nodes.row_of(node) is not None
        return known and self.mirror.find(NODES, "", node) is not None
