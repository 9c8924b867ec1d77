"""ClusterNetworkTopology, and the gather rules of gangs."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from koordpy.api.decode import UNREADABLE
from koordpy.api.errors import MalformedValue
from koordpy.api.meta import ObjectMeta, Struct

GROUP, VERSION, KIND = "scheduling.koordinator.sh", "v1alpha1", "ClusterNetworkTopology"
NAME = "default"  # the only one that is read
CLUSTER_LAYER = "ClusterTopologyLayer"  # the implicit root
NODE_LAYER = "NodeTopologyLayer"

BY_LABEL = "label:"  # begins the name of a layer that is meant by the label key of its nodes

_STRATEGIES = ("mustgather", "prefergather")


class Layer(Struct, frozen=True):
    topology_layer: str = ""
    parent_topology_layer: str = ""
    label_key: tuple[str, ...] = ()


class TopologySpec(Struct, frozen=True):
    network_topology_spec: tuple[Layer, ...] = ()


class ClusterNetworkTopology(Struct, frozen=True):
    metadata: ObjectMeta
    spec: TopologySpec = TopologySpec()


class _Rule(Struct, frozen=True):
    layer: str
    strategy: str = "PreferGather"
    pod_count_multiple: int = 0


class _Gather(Struct, frozen=True):
    gather_strategy: tuple[_Rule, ...] = ()


class GatherRule(NamedTuple):
    """The rule of a gang for one layer; names of layers and strategies match regardless of case."""

    layer: str  # as it was written: messages quote it
    must: bool
    multiple: int  # pods in each domain of the layer are a multiple of this; 1 for any number
    unknown: str = ""  # the strategy that it names, if there is none of that name: a hard wish may be misspelt


def gather_rules(text: str) -> tuple[GatherRule, ...]:
    """The rules of a `network-topology-spec`; raises MalformedValue."""
    try:
        rules = msgspec.json.decode(text, type=_Gather).gather_strategy
        keys = list(msgspec.json.decode(text)) if not rules else []
    except UNREADABLE as error:
        raise MalformedValue("network-topology-spec", text, f"cannot be read: {error}") from None
    if keys and "gatherStrategy" not in keys:  # a key that is misspelt would drop a wish in silence
        raise MalformedValue("network-topology-spec", text, f"has {keys[0]!r:.40} and no gatherStrategy")
    return tuple(map(_rule, rules))


def _rule(rule: _Rule) -> GatherRule:
    strategy = rule.strategy.lower()
    unknown = rule.strategy if strategy not in _STRATEGIES else ""
    return GatherRule(rule.layer, strategy == "mustgather", max(rule.pod_count_multiple, 1), unknown)


def gather_text(required: str, preferred: str) -> str:
    """A `network-topology-spec` for layers that are named by label keys, as KAI and Kubernetes itself name them."""
    wishes = (("MustGather", required), ("PreferGather", preferred))
    rules = [{"layer": f"{BY_LABEL}{key}", "strategy": strategy} for strategy, key in wishes if key]
    return msgspec.json.encode({"gatherStrategy": rules}).decode()


def chain(spec: TopologySpec) -> tuple[Layer, ...]:
    """The layers from the top to the nodes, without the implicit root; raises MalformedValue for an invalid spec."""
    layers = _by_name(spec)
    found: list[Layer] = []
    name = NODE_LAYER
    while name and name != CLUSTER_LAYER:
        if name not in layers:
            raise MalformedValue("parentTopologyLayer", name, f"of {found[-1].topology_layer} is no layer of the list")
        layer = layers[name]
        if layer in found:
            raise MalformedValue("parentTopologyLayer", name, "is its own ancestor")
        found.append(layer)
        name = layer.parent_topology_layer
    stray = sorted(layers.keys() - {layer.topology_layer for layer in found} - {CLUSTER_LAYER})
    if stray:
        raise MalformedValue("topologyLayer", stray[0], f"is not above {NODE_LAYER}: there must be one chain of layers")
    for layer in found[1:]:
        if not layer.label_key:
            raise MalformedValue("labelKey", layer.topology_layer, "has no label to tell its domains by")
    return tuple(reversed(found))


def _by_name(spec: TopologySpec) -> dict[str, Layer]:
    layers: dict[str, Layer] = {}
    for layer in spec.network_topology_spec:
        if not layer.topology_layer or layer.topology_layer in layers:
            problem = "stands there twice" if layer.topology_layer else "is empty"
            raise MalformedValue("topologyLayer", layer.topology_layer, problem)
        layers[layer.topology_layer] = layer
    if NODE_LAYER not in layers:
        raise MalformedValue("networkTopologySpec", ", ".join(layers), f"has no {NODE_LAYER}")
    return layers
