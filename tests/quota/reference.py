"""The division of shares in exact fractions, queue by queue, as the rule is told; slow, and nothing is clever."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from koordpy.quota.amounts import K
from koordpy.quota.levels import ROOT
from koordpy.quota.tree import QueueTree

Exact = dict[int, list[Fraction]]


def exact_shares(capacity: list[int], tree: QueueTree, asked: Mapping[int, list[int]]) -> Exact:
    """By row; `asked` is what the jobs of each queue itself ask for."""
    shares: Exact = {row: [Fraction(0)] * K for row in range(len(tree))}
    for k in range(K):
        one = _Resource(tree, k, {row: Fraction(amounts[k]) for row, amounts in asked.items()})
        one.divide(ROOT, Fraction(max(capacity[k], 0)))
        for row, share in one.shares.items():
            shares[row][k] = share
    return shares


class _Resource:
    def __init__(self, tree: QueueTree, k: int, asked: dict[int, Fraction]) -> None:
        self.tree, self.k, self.asked = tree, k, asked
        self.shares: dict[int, Fraction] = {}

    def wanted(self, row: int) -> Fraction:
        total = self.asked[row] + sum(self.wanted(child) for child in self.tree.children.get(row, ()))
        return min(total, Fraction(int(self.tree.limit[row, self.k])))

    def divide(self, parent: int, capacity: Fraction) -> None:
        children = self.tree.children.get(parent, ())
        siblings = [row for row in children if self.tree.counted[row, self.k]]
        for row in siblings:
            self.shares[row] = min(self.wanted(row), Fraction(int(self.tree.quota[row, self.k])))
        left = max(capacity - sum(self.shares[row] for row in siblings), Fraction(0))
        for priority in sorted({self.tree.priority[row] for row in siblings}, reverse=True):
            left = self.pour([row for row in siblings if self.tree.priority[row] == priority], left)
        for row in children:
            below = self.shares[row] - self.asked[row] if row in self.shares else capacity
            self.divide(row, max(below, Fraction(0)))

    def pour(self, rows: list[int], left: Fraction) -> Fraction:
        """Raise the water until the first queue is full; then go on without it."""
        weight = {row: Fraction(str(float(self.tree.weight[row, self.k]))) for row in rows}
        thirsty = [row for row in rows if weight[row] > 0 and self.wanted(row) > self.shares[row]]
        while thirsty and left > 0:
            total = sum(weight[row] for row in thirsty)
            rise = min([left / total, *((self.wanted(row) - self.shares[row]) / weight[row] for row in thirsty)])
            for row in thirsty:
                self.shares[row] += rise * weight[row]
            left -= rise * total
            thirsty = [row for row in thirsty if self.wanted(row) > self.shares[row]]
        return left
