"""CheapNodes: prefer nodes with a lower price on their label; nodes without a price come last."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from koordpy.plugin import Cluster, Ints, Score, Shape


class CheapNodes(Score):
    name = "CheapNodes"

    def __init__(self, label: str = "example.com/price") -> None:
        self._label = label

    def score(self, shape: Shape, cluster: Cluster, candidates: Ints) -> Ints:  # noqa: ARG002
        column = cluster.nodes.labels.column(self._label)
        of_value = np.array([*map(_price, column.values), np.nan])  # code -1, a node without the label, finds the last
        prices = of_value[column.codes[candidates]]  # [C]
        priced = ~np.isnan(prices)
        scores = np.zeros(len(candidates), dtype=np.int64)
        if priced.any():
            cheapest, dearest = prices[priced].min(), prices[priced].max()
            scores[priced] = 100 - 100 * (prices[priced] - cheapest) / ((dearest - cheapest) or 1)
        return scores

    def steady(self, shape: Shape, cluster: Cluster) -> bool:  # noqa: ARG002
        return True  # it looks at nodes alone: pods that are placed change nothing


def _price(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def cheap_nodes(args: Mapping[str, Any]) -> CheapNodes:
    return CheapNodes(**args)
