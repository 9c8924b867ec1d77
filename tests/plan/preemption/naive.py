"""Section 7.5 of the contract once more, naively: what a set of victims costs, and the cheapest set there is."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy, deepcopy
from itertools import combinations
from typing import NamedTuple

from tests.builders import Json
from tests.plan.constraints import HOSTNAME
from tests.plan.preemption.stage import JOB_KEY, MODE, POD_GROUP_LABEL, SCHEDULER, Stage

_LOWEST = -(2**31)
_HOUR = 1767225600.0  # 2026-01-01T00:00:00Z


class Price(NamedTuple):
    """Compared field by field; the smaller, the better."""

    violations: int
    highest: int
    broken: int
    touched: int
    priorities: int
    victims: int
    earliest: float


def price(stage: Stage, victims: frozenset[str]) -> Price:
    pods = [pod for pod in stage.pods if pod["metadata"]["name"] in victims]
    highest = max((_priority(pod) for pod in pods), default=_LOWEST - 1)
    return Price(
        violations=_violations(stage, pods),
        highest=highest,
        broken=_broken(stage, pods),
        touched=len({_job(pod) for pod in pods}),
        priorities=sum(_priority(pod) - _LOWEST for pod in pods),
        victims=len(pods),
        earliest=-min((_started(pod) for pod in pods if _priority(pod) == highest), default=0.0),
    )


def cheapest(stage: Stage, below: int) -> tuple[frozenset[str], Price] | None:
    """Of all sets of pods that may be evicted for a job of this priority and let it in, the one that costs least.

    A single pod makes room on the node it goes to and nowhere else, as in kube-scheduler; but a gang that falls below
    its minimum by that goes as a whole.
    """
    names = [pod["metadata"]["name"] for pod in stage.pods if may_go(stage, pod, below)]
    if stage.demands:
        return _cheapest_of(stage, names, below)
    found = []
    for node in stage.nodes:
        name = node["metadata"]["name"]
        there = {pod["metadata"]["name"] for pod in stage.pods if pod["spec"].get("nodeName") == name}
        best = _cheapest_of(_pinned(stage, name), [each for each in names if each in there], below)
        found += [best] if best is not None else []
    return min(found, key=lambda each: each[1], default=None)


def _cheapest_of(stage: Stage, names: list[str], below: int) -> tuple[frozenset[str], Price] | None:
    some = (frozenset(each) for size in range(len(names) + 1) for each in combinations(names, size))
    sets = {victims for victims in (closed(stage, each) for each in some) if all_may_go(stage, victims, below)}
    for cost, victims in sorted((price(stage, each), sorted(each)) for each in sets):
        if stage.fits_without(victims):
            return frozenset(victims), cost
    return None


def _pinned(stage: Stage, node: str) -> Stage:
    """The same, with its single pod bound to fit on one node."""
    copied = copy(stage)
    copied.pods = deepcopy(stage.pods)
    for pod in copied.pods:
        if pod["metadata"]["name"] in stage.wanted:
            pod["spec"]["nodeSelector"] = {HOSTNAME: node}
    return copied


def closed(stage: Stage, victims: frozenset[str]) -> frozenset[str]:
    """These, and the rest of each gang of which more than it can spare are among them."""
    for members, expendable in _gangs(stage):
        if len(members & victims) > expendable:
            victims |= members
    return victims


def reprieves(stage: Stage, victims: frozenset[str]) -> Iterator[frozenset[str]]:
    """Fewer victims: without one, and if its gang still goes as a whole then, without all of that."""
    for victim in victims:
        fewer = victims - {victim}
        for members, expendable in _gangs(stage):
            if victim in members and len(members & fewer) > expendable:
                fewer -= members
        yield fewer


def _gangs(stage: Stage) -> Iterator[tuple[frozenset[str], int]]:
    """The members of each gang that run, and how many of them may go one by one."""
    for group in stage.pod_groups:
        pods = [pod for pod in stage.pods if _gang(pod) == group["metadata"]["name"] and _runs(pod)]
        members = frozenset(pod["metadata"]["name"] for pod in pods if not _is_foreign(pod))
        spare = {"All": 0, "Single": len(members)}
        surplus = max(0, len(members) - group["spec"]["minMember"])
        yield members, spare.get(group["metadata"]["annotations"].get(MODE), surplus)


def all_may_go(stage: Stage, names: frozenset[str], below: int) -> bool:
    return all(may_go(stage, pod, below) for pod in stage.pods if pod["metadata"]["name"] in names)


def may_go(stage: Stage, pod: Json, below: int) -> bool:
    meta = pod["metadata"]
    labels = meta.get("labels") or {}
    return (
        _runs(pod)
        and _priority(pod) < below
        and labels.get("scheduling.koordinator.sh/disable-preemptible") != "true"
        and labels.get("quota.scheduling.koordinator.sh/preemptible") != "false"
        and meta["namespace"] not in stage.protected_namespaces
    )


def _runs(pod: Json) -> bool:
    return bool(pod["spec"].get("nodeName")) and "deletionTimestamp" not in pod["metadata"]


def _violations(stage: Stage, pods: list[Json]) -> int:
    """Each budget serves the most important ones first; whoever comes later violates it."""
    left = {budget["metadata"]["name"]: budget["status"]["disruptionsAllowed"] for budget in stage.budgets}
    count = 0
    for pod in sorted(pods, key=lambda pod: (-_priority(pod), _started(pod), _key(pod))):
        violates = False
        for budget in stage.budgets:
            wanted = budget["spec"]["selector"]["matchLabels"].items()
            if wanted <= (pod["metadata"].get("labels") or {}).items() and pod["metadata"]["namespace"] == "default":
                left[budget["metadata"]["name"]] -= 1
                violates |= left[budget["metadata"]["name"]] < 0
        count += violates
    return count


def _broken(stage: Stage, pods: list[Json]) -> int:
    """Gangs that had their minimum and have it no more, and jobs that are no gangs."""
    minimums = {group["metadata"]["name"]: group["spec"]["minMember"] for group in stage.pod_groups}
    others = {_job(pod) for pod in pods if _gang(pod) not in minimums or _is_foreign(pod)}
    broken = len(others)
    for gang in {_gang(pod) for pod in pods if _gang(pod) in minimums and not _is_foreign(pod)}:
        running = sum(1 for pod in stage.pods if _gang(pod) == gang and _runs(pod) and not _is_foreign(pod))
        lost = sum(1 for pod in pods if _gang(pod) == gang and not _is_foreign(pod))
        broken += running >= minimums[gang] > running - lost
    return broken


def _job(pod: Json) -> str:
    labels = pod["metadata"].get("labels") or {}
    return labels.get(JOB_KEY) or _gang(pod) or pod["metadata"]["uid"]


def _gang(pod: Json) -> str:
    return (pod["metadata"].get("labels") or {}).get(POD_GROUP_LABEL, "")


def _priority(pod: Json) -> int:
    return pod["spec"]["priority"]


def _started(pod: Json) -> float:
    """Minutes past the hour; whoever has not begun is the youngest of all."""
    text = pod["status"].get("startTime")
    return _HOUR + 60 * float(text[14:16]) if text else float("inf")


def _key(pod: Json) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _is_foreign(pod: Json) -> bool:
    """Of another scheduler: no member of a gang, whatever it says."""
    return pod["spec"]["schedulerName"] != SCHEDULER
