"""Whether pods could be placed: an exhaustive search over CPUs and pools, without any of koordpy's planning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from tests.builders import Json
from tests.scheduler.gangs.model.oracle import cpu_of


class Need(NamedTuple):
    """So many of these pods, whichever."""

    count: int
    pods: tuple[Json, ...]


def can_place(needs: Iterable[Need], free: Mapping[str, int], nodes: Mapping[str, Json]) -> bool:
    """Every need at once; `free` are the CPUs that are left on each node."""
    pools = {name: str(node["metadata"]["labels"].get("pool", "")) for name, node in nodes.items()}
    usable = sorted(name for name, node in nodes.items() if not node["spec"].get("unschedulable"))
    in_pool = [pools[name] for name in usable]
    steps = [(need.count, tuple(sorted(Counter(map(_kind, need.pods)).items()))) for need in needs]

    @cache
    def search(step: int, left: int, kinds: tuple[tuple[tuple[int, str], int], ...], room: tuple[int, ...]) -> bool:
        if not left:
            if step + 1 == len(steps):
                return True
            return search(step + 1, *steps[step + 1], room)
        if sum(count for _, count in kinds) < left:
            return False
        ((cpu, pool), count), *others = kinds
        fewer = (((cpu, pool), count - 1), *others) if count > 1 else tuple(others)
        for index in [index for index, has in enumerate(room) if has >= cpu and pool in ("", in_pool[index])]:
            if search(step, left - 1, fewer, (*room[:index], room[index] - cpu, *room[index + 1 :])):
                return True
        return search(step, left, tuple(others), room)  # without any more of this kind

    return not steps or search(0, *steps[0], tuple(free[name] for name in usable))


def _kind(pod: Json) -> tuple[int, str]:
    """Pods that are alike are one choice."""
    return cpu_of(pod), (pod["spec"].get("nodeSelector") or {}).get("pool", "")
