"""Random selectors of labels, and terms of node affinity, over the values that nodes and pods carry."""

from random import Random
from typing import Any

from tests.differential.nodes import HOSTNAME, ZONE

Json = dict[str, Any]

POD_LABELS = {"app": ["web", "db", "cache"], "tier": ["front", "back"], "version": ["v1", "v2"]}
NODE_LABELS = {
    ZONE: ["a", "b", "c", "d"],
    "rack": ["r1", "r2", "r3", "r4"],
    "disk": ["ssd", "hdd", ""],
    "generation": ["1", "4", "9", "many"],
}
NAMESPACE_LABELS = {"team": ["red", "blue"], "env": ["prod", "test"]}
OPERATORS = ["In", "In", "NotIn", "Exists", "DoesNotExist"]
NUMBERS = ["0", "4", "5"]
POSITIVE = ["In", "In", "Exists"]


def pod_labels(rng: Random) -> dict[str, str]:
    """The first value of a key is carried by most, so that pods of a kind are in every domain."""
    weights = {key: [4, *(1 for _ in values[1:])] for key, values in POD_LABELS.items()}
    return {key: rng.choices(values, weights[key])[0] for key, values in POD_LABELS.items() if rng.random() < 0.8}


def label_selector(rng: Random, labels: dict[str, list[str]], operators: list[str] = OPERATORS) -> Json:
    """Mostly one condition; now and then the empty selector, which matches everything."""
    chance = rng.random()
    if chance < 0.06:
        return {}
    key = rng.choice(sorted(labels))
    if chance < 0.55:
        return {"matchLabels": {key: rng.choice(labels[key])}}
    return {"matchExpressions": [label_requirement(rng, labels, operators) for _ in range(rng.choice([1, 1, 2]))]}


def label_requirement(rng: Random, labels: dict[str, list[str]], operators: list[str] = OPERATORS) -> Json:
    key = rng.choice(sorted(labels))
    operator = rng.choice(operators)
    requirement: Json = {"key": key, "operator": operator}
    if operator in {"In", "NotIn"}:
        requirement["values"] = rng.sample(labels[key], k=rng.randint(1, min(2, len(labels[key]))))
    return requirement


def node_selector(rng: Random) -> dict[str, str]:
    keys = rng.sample(sorted(NODE_LABELS), k=rng.choice([1, 1, 2]))
    return {key: rng.choice(NODE_LABELS[key]) for key in keys}


def node_term(rng: Random, nodes: list[str], *, by_field: bool, numbers: list[str] = NUMBERS) -> Json:
    """A term; one in twenty is empty, which as a requirement matches no node and as a preference is no wish at all."""
    if rng.random() < 0.05:
        return {}
    term: Json = {}
    if by_field:
        term["matchFields"] = [_field_requirement(rng, nodes)]
    if not by_field or rng.random() < 0.5:
        term["matchExpressions"] = [_node_requirement(rng, nodes, numbers) for _ in range(rng.choice([1, 1, 2]))]
    return term


def _field_requirement(rng: Random, nodes: list[str]) -> Json:
    name = rng.choice([*nodes, "no-such-node"])
    return {"key": "metadata.name", "operator": rng.choice(["In", "In", "NotIn"]), "values": [name]}


def _node_requirement(rng: Random, nodes: list[str], numbers: list[str]) -> Json:
    chance = rng.random()
    if chance < 0.25:
        operator = rng.choice(["Gt", "Lt"])
        return {"key": "generation", "operator": operator, "values": [rng.choice(numbers)]}
    if chance < 0.35:
        some = rng.sample(nodes, k=min(len(nodes), rng.randint(1, 3)))
        return {"key": HOSTNAME, "operator": rng.choice(["In", "NotIn"]), "values": some}
    return label_requirement(rng, NODE_LABELS)
