"""What of the cluster queues divide: allocatable of nodes that take pods, less what is there outside of queues."""

from __future__ import annotations

from koordpy.api.errors import MalformedValue
from koordpy.api.node import Node
from koordpy.quota.amounts import ANY_GPU, amounts_of, kind_of
from koordpy.state.arrays import Ints
from koordpy.state.nodes.resources import amount


def is_counted(node: Node) -> bool:
    """Whether a node counts: it is not cordoned, and nobody says that it is not ready."""
    ready = next((each.status for each in node.status.conditions if each.type == "Ready"), "True")
    return ready == "True" and not node.spec.unschedulable


def allocatable_of(node: Node, gpus: tuple[str, ...] = ANY_GPU) -> Ints:
    """What a node has, `[K]`; a quantity that cannot be read is nothing."""
    counted = {name: text for name, text in node.status.allocatable.items() if kind_of(name, gpus) is not None}
    return amounts_of({name: _amount(name, text) for name, text in counted.items()}, gpus)


def _amount(name: str, quantity: str | int) -> int:
    try:
        return amount(name, quantity, "status.allocatable")
    except MalformedValue:
        return 0
