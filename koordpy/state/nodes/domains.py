"""Sums over topology domains: nodes that agree in a label."""

from __future__ import annotations

import numpy as np

from koordpy.state.arrays import Bools, Ints
from koordpy.state.nodes.labels import LabelColumn


def per_domain(column: LabelColumn, counts: Ints, among: Bools | None = None) -> Ints:
    """`[D]`: the sum of `counts`, `[N]`, over the nodes of each domain; only `among` these nodes, `[N]`, if given."""
    members = column.codes >= 0
    if among is not None:
        members &= among
    sums = np.bincount(column.codes[members], weights=counts[members], minlength=len(column.values))
    return sums.astype(np.int64)


def at_nodes(column: LabelColumn, of_domain: Ints) -> Ints:
    """`[N]`: for each node what `of_domain`, `[D]`, says about its domain; 0 for a node in none."""
    if not len(of_domain):
        return np.zeros(len(column.codes), dtype=np.int64)
    return np.where(column.codes >= 0, of_domain[column.codes], 0)
