"""A simulated GPU cluster with a network of spines and leaves, and the pods of traces, with nothing else in them."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from bench.traces import GPUS_PER_NODE, Role
from koordpy.api.meta import ObjectMeta
from koordpy.api.node import Node, NodeSpec, NodeStatus
from koordpy.api.pod import Container, Pod, PodSpec, Resources
from koordpy.api.topology import Layer
from koordpy.plan.framework.profiles import ProfileSpec, build_profile

SCHEDULER = "koord-scheduler"
GPU = "nvidia.com/gpu"
CPU_M_PER_NODE = 128_000
NODES_PER_LEAF, LEAVES_PER_SPINE, SPINES_PER_CORE = 16, 8, 8
LAYERS = (
    Layer("SpineLayer", "", ("spine",)),
    Layer("LeafLayer", "SpineLayer", ("leaf",)),
    Layer("NodeTopologyLayer", "LeafLayer"),
)
_TIGHTLY = {"type": "MostAllocated", "resources": [{"name": GPU, "weight": 4}, {"name": "cpu", "weight": 1}]}
PROFILES = {SCHEDULER: build_profile(SCHEDULER, ProfileSpec(args={"NodeResourcesFit": {"scoringStrategy": _TIGHTLY}}))}


def nodes_of(count: int, random: Random) -> Iterator[Node]:
    """Nodes of 8 GPUs; which name is where is left to chance."""
    places = list(range(count))
    random.shuffle(places)
    amounts = {"cpu": f"{CPU_M_PER_NODE}m", "memory": "1Ti", "pods": "256", GPU: str(GPUS_PER_NODE)}
    for number, place in enumerate(places):
        leaf = place // NODES_PER_LEAF
        spine = leaf // LEAVES_PER_SPINE
        labels = {"leaf": f"leaf-{leaf}", "spine": f"spine-{spine}", "core": f"core-{spine // SPINES_PER_CORE}"}
        meta = ObjectMeta(f"node-{number:04d}", uid=f"node-{number}", labels=labels)
        yield Node(meta, NodeSpec(), NodeStatus(allocatable=dict(amounts)))


def members_of(name: str, role: Role) -> Iterator[Pod]:
    requests = {"cpu": f"{role.cpu_m}m", "memory": f"{role.memory_mib}Mi"}
    requests |= {GPU: str(role.gpus)} if role.gpus else {}
    for number in range(role.pods):
        meta = ObjectMeta(f"{name}-{number}", namespace="default", uid=f"{name}-{number}")
        container = Container(name="main", resources=Resources(requests=dict(requests)))
        yield Pod(meta, PodSpec(scheduler_name=SCHEDULER, containers=(container,)))
