"""Node selectors and node affinity terms as masks over all nodes."""

from __future__ import annotations

import re

import numpy as np

from koordpy.api.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from koordpy.api.errors import MalformedValue
from koordpy.state.arrays import Bools
from koordpy.state.nodes.columns import NodeColumns
from koordpy.state.nodes.labels import LabelColumn
from koordpy.state.shapes import Shape

_DIGITS = re.compile(r"[0-9]{1,63}")  # as long as a label may be
_MOST = 2**63 - 1
_NAME_FIELD = "metadata.name"


def matches_required(shape: Shape, nodes: NodeColumns) -> Bools | None:
    """`[N]`: nodes that match the pod's nodeSelector and required node affinity; None when it has neither."""
    traits = shape.traits
    required = traits.node_affinity.required if traits.node_affinity is not None else None
    if not traits.node_selector and required is None:
        return None
    return shape.remember("required nodes", nodes.static_generation, lambda: _required(shape, nodes))


def pinned_names(shape: Shape) -> frozenset[str] | None:
    """The names of the only feasible nodes, when every term requires `metadata.name`; None when some term does not."""
    affinity = shape.traits.node_affinity
    if affinity is None or affinity.required is None or not affinity.required.node_selector_terms:
        return None
    names: set[str] = set()
    for term in affinity.required.node_selector_terms:
        pins = [frozenset(f.values) for f in term.match_fields if f.key == _NAME_FIELD and f.operator == "In"]
        if not pins:
            return None
        names |= frozenset.intersection(*pins)
    return frozenset(names)


def check_preferences(shape: Shape, nodes: NodeColumns) -> None:
    """Raises MalformedValue if a preferred term cannot be read."""
    if shape.traits.node_affinity is not None:
        for preferred in shape.traits.node_affinity.preferred:
            term_mask(preferred.preference, nodes)


def selector_mask(selector: NodeSelector, nodes: NodeColumns) -> Bools:
    """`[N]`: nodes that satisfy one of the selector's terms; without any, none."""
    mask: Bools = np.zeros(nodes.capacity, dtype=np.bool_)
    for term in selector.node_selector_terms:
        mask |= term_mask(term, nodes)
    return mask


def term_mask(term: NodeSelectorTerm, nodes: NodeColumns) -> Bools:
    """`[N]`: nodes that satisfy every requirement of a term; a term without any matches no node."""
    mask: Bools = np.full(nodes.capacity, bool(term.match_expressions or term.match_fields))
    for requirement in term.match_expressions:
        mask &= _requirement_mask(requirement, nodes.labels.column(requirement.key))
    for requirement in term.match_fields:
        mask &= _field_mask(requirement, nodes)
    return mask


def _required(shape: Shape, nodes: NodeColumns) -> Bools:
    """`[N]`, computed anew."""
    mask = nodes.live.copy()
    for key, value in shape.traits.node_selector:
        column = nodes.labels.column(key)
        mask &= column.codes == column.code_of(value)
    affinity = shape.traits.node_affinity
    if affinity is not None and affinity.required is not None:
        mask &= selector_mask(affinity.required, nodes)
    return mask


def _requirement_mask(requirement: NodeSelectorRequirement, column: LabelColumn) -> Bools:
    """`[N]`: nodes whose label satisfies the requirement."""
    match requirement.operator:
        case "In":
            return np.isin(column.codes, [column.code_of(value) for value in requirement.values])
        case "NotIn":
            return ~np.isin(column.codes, [column.code_of(value) for value in requirement.values])
        case "Exists":
            return column.codes >= 0
        case "DoesNotExist":
            return column.codes < 0
        case "Gt" | "Lt":
            return _compared(requirement, column)
        case _:
            raise MalformedValue(
                f"node affinity operator of {requirement.key}",
                requirement.operator,
                "is none of In, NotIn, Exists, DoesNotExist, Gt, Lt",
            )


def _compared(requirement: NodeSelectorRequirement, column: LabelColumn) -> Bools:
    """`[N]`: nodes whose label satisfies `Gt` or `Lt`; a value that is no integer satisfies neither."""
    bound = integer(requirement.values[0]) if len(requirement.values) == 1 else None
    if bound is None:
        return np.zeros(len(column.codes), dtype=np.bool_)
    numbers = [integer(value) for value in column.values]
    greater = requirement.operator == "Gt"
    good = [n is not None and (n > bound if greater else n < bound) for n in numbers]
    return np.array([*good, False])[column.codes]  # code -1, a node without the label, indexes the last


def integer(value: str) -> int | None:
    """An integer that fits 64 bits; without a sign, since no label value may begin with one."""
    number = int(value) if _DIGITS.fullmatch(value) else None
    return number if number is not None and number <= _MOST else None


def _field_mask(requirement: NodeSelectorRequirement, nodes: NodeColumns) -> Bools:
    """`[N]`: nodes that satisfy a requirement of `matchFields`."""
    if requirement.key != _NAME_FIELD or requirement.operator not in ("In", "NotIn"):
        raise MalformedValue(
            "node affinity matchFields",
            f"{requirement.key} {requirement.operator}",
            f"is not {_NAME_FIELD} In or NotIn",
        )
    mask = np.zeros(nodes.capacity, dtype=np.bool_)
    for name in requirement.values:
        row = nodes.row_of(name)
        if row is not None:
            mask[row] = True
    return mask if requirement.operator == "In" else ~mask
