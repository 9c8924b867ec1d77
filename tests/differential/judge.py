"""The judgement on one case: koordpy is asked what kube-scheduler was asked, and the two answers are compared."""

from dataclasses import dataclass
from typing import Any

from tests.differential import in_koordpy, preempting
from tests.differential.answer import Answer, differences

Json = dict[str, Any]


@dataclass(frozen=True)
class Judgement:
    """koordpy's answer beside kube-scheduler's."""

    koordpy: Answer
    found: list[str]  # one line for each way in which koordpy disagrees; none if it agrees
    preempting: str = ""  # whom the pod would have others leave for


def judge(kube: Answer, surroundings: list[Json], incoming: Json) -> Judgement:
    koordpy = in_koordpy.answer(surroundings, incoming)
    found = differences(kube, koordpy)
    if found or not kube.message:
        return Judgement(koordpy, found)
    verdict = preempting.compare(kube, koordpy, surroundings, incoming)
    return Judgement(koordpy, verdict.found, verdict.outcome)
