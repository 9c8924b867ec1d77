"""Whether pods would fit, read naively: by what they ask for, and by the racks that a gang has to stay in."""

from __future__ import annotations

from typing import Any

from koordpy.sim.simulate.objects import RACK
from koordpy.sim.simulate.reading import KOORDINATOR, Gang
from koordpy.sim.simulate.truth import Amounts, Truth, asked, fits, is_finished, node_of

Json = dict[str, Any]


def needed(gang: Gang, waiting: list[Json]) -> list[Json]:
    """The next pods that have to start together; none if the gang is not ready, or nobody can say."""
    if gang.minimum is None or not gang.is_declared or gang.spec.get("subGroups") or gang.partners:
        return []
    if any((pod["metadata"].get("annotations") or {}).get(f"{KOORDINATOR}/timeout") for pod in waiting):
        return []
    there = sum(bool(node_of(pod)) for pod in gang.members if pod["status"].get("phase") != "Failed")
    need = max(gang.minimum - there, 1)
    return waiting[:need] if len(waiting) >= need and len({str(asked(pod)) for pod in waiting}) == 1 else []


def fit_in(truth: Truth, pods: list[Json], free: dict[str, Amounts]) -> bool:
    """All of them, in one rack if that is what they have to."""
    asks = [asked(pod) for pod in pods]
    if not must_gather(pods[0]):
        return fits(asks, free)
    gang = truth.gang_of(pods[0])
    racks = racks_of(truth)
    used = {racks.get(node_of(pod), "") for pod in members_there(truth, gang)}
    return any(
        fits(asks, {node: has for node, has in free.items() if racks.get(node) == rack})
        for rack in set(racks.values())
        if rack and used <= {rack}
    )


def must_gather(pod: Json) -> bool:
    said = (pod["metadata"].get("annotations") or {}).get(f"{KOORDINATOR}/network-topology-spec", "")
    return "MustGather" in said


def racks_of(truth: Truth) -> dict[str, str]:
    """By node."""
    nodes = ((node["metadata"]["name"], node["metadata"].get("labels") or {}) for node in truth.nodes)
    return {name: labels.get(RACK, "") for name, labels in nodes}


def members_there(truth: Truth, gang: str | None) -> list[Json]:
    """Those on a node that have not ended."""
    found = truth.gangs().get(gang or "")
    return [pod for pod in found.members if node_of(pod) and not is_finished(pod)] if found else []
