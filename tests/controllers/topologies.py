"""Topologies in shorthand: layers from the top down, and nodes by the labels that they have."""

from __future__ import annotations

from typing import Any

from koordpy.api.topology import GROUP
from tests.builders import Json, node_json
from tests.controllers.world import definition

TOPOLOGIES = f"/apis/{GROUP}/v1alpha1/clusternetworktopologies"
DEFAULT = f"{TOPOLOGIES}/default"
NODES = "/api/v1/nodes"
SPINE, BLOCK = "example.com/spine", "example.com/block"


def layer(name: str, parent: str = "", *keys: str) -> Json:
    found: Json = {"topologyLayer": name}
    found |= {"parentTopologyLayer": parent} if parent else {}
    return found | ({"labelKey": list(keys)} if keys else {})


SPINES = layer("SpineLayer", "", SPINE)
BLOCKS = layer("BlockLayer", "SpineLayer", BLOCK)
NODE_LAYER = layer("NodeTopologyLayer", "BlockLayer")
GOOD = [SPINES, BLOCKS, NODE_LAYER]
BROKEN = {  # layers, and what is said about them
    "cycle": ([layer("SpineLayer", "BlockLayer", SPINE), BLOCKS, NODE_LAYER], "'BlockLayer' is its own ancestor"),
    "two roots": ([SPINES, layer("BlockLayer", "", BLOCK), NODE_LAYER], "topologyLayer: 'SpineLayer' is not above"),
    "unknown parent": ([BLOCKS, NODE_LAYER], "parentTopologyLayer: 'SpineLayer' of BlockLayer is no layer"),
    "duplicate": ([SPINES, *GOOD], "topologyLayer: 'SpineLayer' stands there twice"),
    "no node layer": ([SPINES, BLOCKS], "has no NodeTopologyLayer"),
    "empty": ([], "has no NodeTopologyLayer"),
    "no label": ([layer("SpineLayer"), BLOCKS, NODE_LAYER], "labelKey: 'SpineLayer' has no label"),
}


def topology(layers: list[Json], name: str = "default") -> Json:
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "ClusterNetworkTopology",
        "metadata": {"name": name},
        "spec": {"networkTopologySpec": layers},
    }


def node(name: str, spine: str | None = None, block: str | None = None, **more: Any) -> Json:
    return node_json(name, labels={SPINE: spine, BLOCK: block}, **more)


def koordinators() -> Json:
    """The definition that Koordinator installs: no counts, no conditions."""
    found = definition(GROUP)
    status = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    for field in ("layers", "domains", "nodes", "conditions"):
        del status[field]
    return found


def tree_lines(status: Json) -> list[str]:
    """The tree of a status: one line for each entry, from the top; a nameless one is `-`."""
    return [_line(entry) for entry in status.get("detailStatus", [])]


def _line(entry: Json) -> str:
    parent = _short(entry["parentTopologyInfo"]) + "/" if "parentTopologyInfo" in entry else ""
    children = " ".join(entry.get("childTopologyNames", []))
    below = entry["childTopologyLayer"].removesuffix("Layer").removesuffix("Topology").lower()
    return f"{parent}{_short(entry['topologyInfo'])} {entry['nodeNum']} {below}: {children}".rstrip(" :")


def _short(info: Json) -> str:
    return "cluster" if info["topologyLayer"] == "ClusterTopologyLayer" else info["topologyName"] or "-"


def ready(status: Json) -> Json:
    (found,) = [condition for condition in status.get("conditions", []) if condition["type"] == "Ready"]
    return found
