"""Amounts of the three resources that queues count, as integers: `[K]`, K = CPU, memory, GPU.

CPU is in thousandths, memory in bytes, GPUs in thousandths: a quota of 0.5 GPU is an integer too. A vector of amounts
is an int64 array `[K]`, and columns over queues are `[Q, K]`, a queue's amounts side by side: one job changes all of
them, of a queue and its parents. Sums of integers do not drift, and what is added is removed to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache

import numpy as np

from koordpy.state.arrays import Ints

CPU, MEMORY, GPU = range(3)
RESOURCES = ("cpu", "memory", "gpu")  # their names in a Queue and in answers
K = len(RESOURCES)
MILLI = 1000

# As a quota or limit: none. Above all sums of amounts, and far enough below 2^63 to add a request to it.
UNLIMITED = 2**62
# More than a machine has of anything (128 TiB), and small enough that 32,000 pods that ask for it do not overflow.
MOST = 2**47

ANY_GPU = ("*/gpu",)  # resource names, as shell patterns, that are counted as GPUs unless configured otherwise


@lru_cache(maxsize=4096)
def kind_of(name: str, gpus: tuple[str, ...] = ANY_GPU) -> int | None:
    """Which of the three a resource of pods and nodes counts as; None: queues do not count it."""
    if name == "cpu":
        return CPU
    if name == "memory":
        return MEMORY
    return GPU if any(fnmatchcase(name, pattern) for pattern in gpus) else None


def amounts_of(quantities: Mapping[str, int] | Iterable[tuple[str, int]], gpus: tuple[str, ...] = ANY_GPU) -> Ints:
    """What pods request, or nodes have, as a vector: CPU in thousandths and the rest in whole units, by name.

    This is the form of `koordpy.state.requests.requests_of`, of a shape's `traits.needed` and of a node.
    """
    found = [0] * K
    for name, amount in quantities.items() if isinstance(quantities, Mapping) else quantities:
        kind = kind_of(name, gpus)
        if kind is not None:
            found[kind] += amount * MILLI if kind == GPU else amount
    return np.array([min(amount, MOST) for amount in found], dtype=np.int64)


def quantity(kind: int, amount: float) -> str:
    """An amount as an exact Kubernetes quantity: `1500m`, `2`, `64Gi`, `1500M`; fair shares to the nearest unit."""
    whole = round(amount)
    if kind != MEMORY:
        return f"{whole // MILLI}" if whole % MILLI == 0 else f"{whole}m"
    for suffix, size in _SUFFIXES:
        if whole and whole % size == 0:
            return f"{whole // size}{suffix}"
    return str(whole)


_SUFFIXES = (
    ("Ti", 2**40), ("Gi", 2**30), ("T", 10**12), ("G", 10**9), ("Mi", 2**20), ("M", 10**6), ("Ki", 2**10), ("k", 10**3),
)  # fmt: skip
