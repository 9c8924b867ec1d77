"""The network as a tree with a gathered gang in it, as both views show it."""

from __future__ import annotations

import msgspec
from rich.text import Text

from koordpy.api.keys import NETWORK_TOPOLOGY_SPEC, PLACEMENT
from koordpy.api.podgroup.coscheduling import PodGroup
from koordpy.sim.demo.network import LEAF, SPINE
from koordpy.sim.demo.seen import Seen, State


def placed(gang: PodGroup) -> str:
    """How well a gang was gathered that asked for it; empty for others."""
    said = gang.metadata.annotations
    if NETWORK_TOPOLOGY_SPEC not in said or PLACEMENT not in said:
        return ""
    rating = msgspec.json.decode(said[PLACEMENT])
    return f"gathered in {rating['layer']} {rating['domain']}, score {rating['score']:g}"


def tree(seen: Seen) -> list[Text]:
    """A line for each spine, a square for each node, full for those of a gathered gang; nothing before there is one.

    A line fits 80 columns behind the name of a paragraph: it says whose the squares are, and the gang's own story where
    it was gathered.
    """
    gathered = {gang.metadata.key for gang in seen.gangs.values() if placed(gang)}
    taken = {p.node: p.gang for p in seen.pods.values() if p.gang in gathered and p.state is not State.DELETED}
    spines: dict[str, dict[str, list[str]]] = {}
    for name, labels in sorted(seen.labels.items()):
        if SPINE in labels:
            spines.setdefault(labels[SPINE], {}).setdefault(labels.get(LEAF, ""), []).append(name)
    if not gathered or not spines:
        return []
    last = max(spines)
    return [
        Text("cluster"),
        *(_line("└─" if s == last else "├─", s, spines[s], taken) for s in sorted(spines)),
    ]


def _line(guide: str, spine: str, leaves: dict[str, list[str]], taken: dict[str, str]) -> Text:
    line = Text.assemble((guide, "bright_black"), f" {spine}  ")
    for leaf, nodes in sorted(leaves.items()):
        line.append(f"{leaf} ", "bright_black")
        for node in nodes:
            line.append(*(("■", "green") if node in taken else ("□", "bright_black")))
        line.append(" " * (7 - len(nodes)))
    for gang in sorted({taken[node] for nodes in leaves.values() for node in nodes if node in taken}):
        line.append(f"■ {gang.partition('/')[2]} ")
    line.rstrip()
    return line
