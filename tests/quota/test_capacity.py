"""What of the cluster is divided."""

from __future__ import annotations

from koordpy.api.node import Node
from koordpy.quota.capacity import allocatable_of, is_counted
from tests.builders import node, node_json, typed


def test_a_node_counts_unless_it_is_cordoned_or_said_not_to_be_ready():
    assert is_counted(node())
    assert not is_counted(node(cordoned=True))
    for status, counts in (("True", True), ("False", False), ("Unknown", False)):
        obj = node_json()
        obj["status"]["conditions"] = [{"type": "Ready", "status": status}]
        assert is_counted(typed(obj, Node)) is counts


def test_of_a_node_cpu_memory_and_gpus_count():
    assert allocatable_of(node(cpu=4, memory="1Gi", nvidia__com_gpu=8)).tolist() == [4000, 2**30, 8000]


def test_a_quantity_that_cannot_be_read_is_nothing():
    assert allocatable_of(node(cpu="lots", memory="1Gi")).tolist() == [0, 2**30, 0]
