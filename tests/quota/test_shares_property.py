"""Fair shares beside the same in exact fractions, on random trees."""

from __future__ import annotations

from math import floor
from random import Random

import numpy as np
import pytest

from koordpy.quota.amounts import MEMORY
from koordpy.quota.shares import divide
from tests.quota.random_trees import random_asked, random_tree
from tests.quota.reference import exact_shares


@pytest.mark.random
@pytest.mark.parametrize("block", range(10))
def test_shares_are_those_of_exact_fractions(block: int):
    for seed in range(block * 60, block * 60 + 60):
        dice = Random(seed)
        tree = random_tree(dice)
        asked = random_asked(dice, tree)
        capacity = [dice.randint(0, 60_000), dice.randint(0, 10**13), dice.randint(0, 40) * 1000]
        shares = divide(np.array(capacity), tree, asked)
        exact = exact_shares(capacity, tree, dict(enumerate(asked.tolist())))
        for row, wanted in exact.items():
            for k, share in enumerate(wanted):
                got = float(shares[row, k])
                assert got == pytest.approx(float(share), rel=1e-9, abs=1e-9), (seed, tree.names[row], k)
                # Whether an integer is within the share is no matter of rounding, but for a byte of a terabyte.
                assert abs(floor(got) - floor(share)) <= (k == MEMORY), (seed, tree.names[row], k)


def test_the_same_input_gives_the_same_bits_in_whatever_order_the_queues_come():
    from koordpy.quota.tree import tree_of
    from tests.quota.building import queue

    made = [queue(f"q{number}", weight=1 / (number + 1), quota=number % 3, age=number % 4) for number in range(30)]
    results = []
    for seed in range(5):
        Random(seed).shuffle(made)
        tree = tree_of(made)
        shares = divide(np.array([0, 0, 77_777]), tree, np.full((30, 3), 9_999))
        results.append({name: shares[row].tobytes() for name, row in tree.rows.items()})
    assert all(result == results[0] for result in results)
