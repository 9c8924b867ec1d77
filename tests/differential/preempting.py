"""Whether two schedulers let the right pods go for an incoming one: the same, or others that cost no more.

What a set of victims costs is worked out here from the API objects, in the order of koordpy's contract. For single pods
it is kube-scheduler's order, too, but for three things. kube-scheduler counts the violations of budgets among all whom
it could evict from a node, and the contract among those who have to go. To kube-scheduler a pod that is leaving already
costs as much as any other victim, and to the contract it is none. And kube-scheduler gives a node up where the pod does
not fit without all whom it could evict there, even if some of these are what the pod wants beside it.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from tests.differential.answer import Answer

Json = dict[str, Any]

SAME, AS_CHEAP, CHEAPER = "same victims", "others that cost the same", "others that cost less"
LEAVING, HELPED = "those who leave anyway", "some where kube-scheduler has none"
OF_ITS_OWN = (AS_CHEAP, CHEAPER, LEAVING, HELPED)
IN_VAIN = "none helps"


class Cost(NamedTuple):
    """The smaller, the better. A single pod is a job of its own, so each victim is a job touched and broken."""

    violations: int
    highest: int
    victims: int
    priorities: int
    latest: float  # start of the longest running victim of the highest priority, negated


class Verdict(NamedTuple):
    """What is to be said about a case in which no node is free."""

    outcome: str  # whom kube-scheduler lets go, and koordpy in comparison
    found: list[str]  # one line for each way in which koordpy disagrees


def compare(kube: Answer, koordpy: Answer, surroundings: list[Json], incoming: Json) -> Verdict:
    """Of two refusals."""
    pods = {_key(each): each for each in surroundings if each["kind"] == "Pod"}
    leaving = leaving_for(pods.values(), incoming)
    if koordpy.victims & leaving:
        return Verdict(LEAVING, [f"victims: koordpy evicts pods that are leaving already, {_listed(koordpy)}"])
    theirs, ours = ([pods[key] for key in answer.victims - leaving] for answer in (kube, koordpy))
    if theirs and ours:
        budgets = [each for each in surroundings if each["kind"] == "PodDisruptionBudget"]
        return _compare_costs(kube, koordpy, cost(theirs, budgets), cost(ours, budgets))
    if not ours and _waits(koordpy):
        return Verdict(LEAVING, [])
    if ours and not _waits(kube) and _needs_others(incoming):
        return Verdict(HELPED, [])
    if kube.victims or ours:
        return Verdict(SAME, [f"preemption: kube-scheduler evicts {_listed(kube)}, koordpy {_listed(koordpy)}"])
    return Verdict(IN_VAIN, [] if leaving else _tail_differences(kube, koordpy))


def leaving_for(pods: Iterable[Json], incoming: Json) -> set[str]:
    """Those whose room the incoming pod may have as soon as they have left."""
    lower = (pod for pod in pods if pod["spec"]["priority"] < incoming["spec"]["priority"])
    return {_key(pod) for pod in lower if "deletionTimestamp" in pod["metadata"]}


def _waits(answer: Answer) -> bool:
    """For pods that are leaving, without evicting anybody else."""
    return bool(answer.promised) or "due to a terminating pod" in answer.message


def _compare_costs(kube: Answer, koordpy: Answer, theirs: Cost, ours: Cost) -> Verdict:
    if kube.victims == koordpy.victims:
        return Verdict(SAME, [])
    if ours <= theirs:
        return Verdict(AS_CHEAP if ours == theirs else CHEAPER, [])
    told = f"kube-scheduler {_listed(kube)} for {theirs}, koordpy {_listed(koordpy)} for {ours}"
    return Verdict(SAME, [f"victims: {told}"])


def cost(victims: list[Json], budgets: list[Json]) -> Cost:
    """What it costs to evict these pods."""
    ordered = sorted(victims, key=lambda pod: (-pod["spec"]["priority"], pod["status"]["startTime"]))
    highest = ordered[0]["spec"]["priority"]
    return Cost(
        violations=_violations(ordered, budgets),
        highest=highest,
        victims=len(ordered),
        priorities=sum(pod["spec"]["priority"] for pod in ordered),
        latest=-datetime.fromisoformat(ordered[0]["status"]["startTime"]).timestamp(),
    )


def _tail_differences(kube: Answer, koordpy: Answer) -> list[str]:
    """What preemption has to say at the end of a refusal."""
    if kube.message == koordpy.message:
        return []
    return [f"tail: kube-scheduler says {kube.message!r}, koordpy {koordpy.message!r}"]


def _violations(victims: list[Json], budgets: list[Json]) -> int:
    """Victims that some budget has no room for, if they go in this order."""
    left = Counter({_key(budget): budget["status"]["disruptionsAllowed"] for budget in budgets})
    count = 0
    for victim in victims:
        covering = [_key(budget) for budget in budgets if _covers(budget, victim)]
        count += any(left[key] <= 0 for key in covering)
        left.subtract(covering)
    return count


def _covers(budget: Json, pod: Json) -> bool:
    """As far as the budgets of this world go; one that selects everybody covers nobody, as in kube-scheduler."""
    labels, selector = pod["metadata"].get("labels", {}), budget["spec"]["selector"]
    wanted = {key: [value] for key, value in selector.get("matchLabels", {}).items()}
    wanted |= {each["key"]: each["values"] for each in selector.get("matchExpressions", ())}
    same_namespace = budget["metadata"]["namespace"] == pod["metadata"]["namespace"]
    return same_namespace and bool(wanted) and all(labels.get(key) in values for key, values in wanted.items())


def _needs_others(incoming: Json) -> bool:
    """Whether there can be too few pods for it: it wants some near it, or as many everywhere."""
    spec = incoming["spec"]
    near = spec.get("affinity", {}).get("podAffinity", {})
    return "requiredDuringSchedulingIgnoredDuringExecution" in near or "topologySpreadConstraints" in spec


def _key(obj: Json) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def _listed(answer: Answer) -> str:
    return f"{', '.join(sorted(answer.victims))} on {answer.promised}" if answer.victims else "nobody"
