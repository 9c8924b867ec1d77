"""A naive kube-scheduler: every filter and score, node by node and pod by pod, on plain API JSON.

The reference for property tests. Written from kube-scheduler's rules and without a look at koordpy's code; slow and
obvious. Where kube-scheduler throws a die between equal nodes, the first name wins, as koordpy promises.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from tests.plan.naive.filters import FILTERS, reasons_against
from tests.plan.naive.scores import SCORES
from tests.plan.naive.world import World

__all__ = ["FILTERS", "SCORES", "WEIGHTS", "Verdict", "World", "judge"]

Json = dict[str, Any]

WEIGHTS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
    "NetworkTopology": 1,
}


@dataclass
class Verdict:
    """What is said about one pod."""

    feasible: set[str]
    reasons: Counter[str]
    message: str  # empty when it fits somewhere
    scores: dict[str, dict[str, int]]  # plugin -> node -> 0..100, over the feasible nodes
    totals: dict[str, int]
    chosen: str | None


def judge(pod: Json, world: World) -> Verdict:
    reasons: Counter[str] = Counter()
    feasible = []
    for node in world.nodes:
        against = reasons_against(pod, node, world)
        reasons.update(against)
        if not against:
            feasible.append(node)
    by_plugin = {name: score(pod, feasible, world) for name, score in SCORES.items()} if feasible else {}
    names = [node["metadata"]["name"] for node in feasible]
    totals = {name: sum(WEIGHTS[plugin] * values[name] for plugin, values in by_plugin.items()) for name in names}
    chosen = min(names, key=lambda name: (-totals[name], name)) if names else None
    message = "" if names else _message(len(world.nodes), reasons)
    return Verdict(set(names), reasons, message, by_plugin, totals, chosen)


def _message(nodes: int, reasons: Counter[str]) -> str:
    if not nodes:
        return "no nodes available to schedule pods"
    return f"0/{nodes} nodes are available: {', '.join(sorted(f'{n} {text}' for text, n in reasons.items()))}."
