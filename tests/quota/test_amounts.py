"""Amounts: what is counted as what, and how it is written."""

from __future__ import annotations

import pytest

from koordpy.api.quantity import nano_units
from koordpy.quota.amounts import CPU, GPU, MEMORY, MOST, amounts_of, kind_of, quantity


def test_cpu_memory_and_every_gpu_are_counted_and_nothing_else():
    requests = {"cpu": 1500, "memory": 2**30, "nvidia.com/gpu": 2, "amd.com/gpu": 1, "pods": 1, "nvidia.com/mig-1g": 4}
    assert amounts_of(requests).tolist() == [1500, 2**30, 3000]


def test_which_names_are_gpus_can_be_configured():
    gpus = ("nvidia.com/*", "example.com/tpu")
    assert amounts_of({"nvidia.com/mig-1g": 4, "example.com/tpu": 1, "amd.com/gpu": 1}, gpus).tolist() == [0, 0, 5000]
    assert kind_of("amd.com/gpu", gpus) is None


def test_what_no_machine_has_does_not_overflow():
    assert amounts_of({"memory": 2**63, "nvidia.com/gpu": 2**63}).tolist() == [0, MOST, MOST]


@pytest.mark.parametrize(
    ("kind", "amount", "text"),
    [
        (CPU, 1500, "1500m"),
        (CPU, 2000, "2"),
        (GPU, 500, "500m"),
        (GPU, 8000, "8"),
        (MEMORY, 64 * 2**30, "64Gi"),
        (MEMORY, 1_500_000_000, "1500M"),
        (MEMORY, 1_500, "1500"),
        (MEMORY, 0, "0"),
        (GPU, 2666.67, "2667m"),
    ],
)
def test_amounts_are_written_as_kubernetes_quantities(kind: int, amount: float, text: str):
    assert quantity(kind, amount) == text


@pytest.mark.parametrize("amount", [0, 1, 999, 1000, 1024, 123_456_789, 2**40, 10**12, 7 * 2**20])
def test_a_quantity_of_whole_units_is_exact(amount: int):
    assert nano_units(quantity(MEMORY, amount)) == amount * 10**9
    assert nano_units(quantity(CPU, amount)) == amount * 10**6
