"""Makes a disagreement small: takes away whatever it does not need, asking kube-scheduler again each time.

Only what leaves a legal case is taken away: whole objects, and parts of them that the API server can do without.
"""

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from tests.differential.cases import Case
from tests.differential.judge import judge
from tests.differential.report import Disagreement
from tests.differential.stage import Stage

Reduction = Callable[[Case], Case]

PARTS = [
    *(("spec", part) for part in ("affinity", "tolerations", "nodeSelector", "topologySpreadConstraints")),
    *(
        ("spec", part)
        for part in ("initContainers", "resources", "runtimeClassName", "volumes", "taints", "unschedulable")
    ),
    ("status", "images"),
    ("metadata", "ownerReferences"),
    ("metadata", "labels"),
]


async def shrink(stage: Stage, large: Disagreement) -> Disagreement:
    """The smallest case that is found by taking away one thing after the other and differs in the same way."""
    smallest = large
    for reduction in _reductions(large.asked.case):
        reduced = reduction(smallest.asked.case)
        if reduced != smallest.asked.case:
            still = await _disagreement(stage, reduced)
            smallest = still if still is not None and _kinds(still) == _kinds(large) else smallest
    return smallest


async def _disagreement(stage: Stage, case: Case) -> Disagreement | None:
    (asked,) = [asked async for asked in stage.play(case.scene, [case])]
    found = judge(asked.answer, asked.surroundings, asked.incoming).found
    return Disagreement(asked, found) if found else None


def _kinds(disagreement: Disagreement) -> set[str]:
    """What differs, whichever nodes it is about: `score ImageLocality`."""
    return {line.partition(":")[0] for line in disagreement.found} - {"choice"}


def _reductions(case: Case) -> list[Reduction]:
    """Everything that could be taken away, the large things first."""
    pods, promised = ([pod["metadata"]["name"] for pod in some] for some in (case.scene.pods, case.scene.promised))
    nodes = [node["metadata"]["name"] for node in case.scene.nodes]
    return [
        *(partial(_without_pod, name) for name in [*pods, *promised]),
        *(partial(_without_node, name) for name in nodes),
        *(partial(_without_part, name, at, part) for at, part in PARTS for name in [*pods, *nodes]),
        *(partial(_without_part, case.incoming["metadata"]["name"], at, part) for at, part in PARTS),
    ]


def _without_pod(name: str, case: Case) -> Case:
    pods, promised = (
        [pod for pod in some if pod["metadata"]["name"] != name] for some in (case.scene.pods, case.scene.promised)
    )
    return replace(case, scene=replace(case.scene, pods=pods, promised=promised))


def _without_node(name: str, case: Case) -> Case:
    nodes = [node for node in case.scene.nodes if node["metadata"]["name"] != name]
    pods = [pod for pod in case.scene.pods if pod["spec"]["nodeName"] != name]
    return replace(case, scene=replace(case.scene, nodes=nodes, pods=pods))


def _without_part(name: str, at: str, part: str, case: Case) -> Case:
    smaller = copy.deepcopy(case)
    for each in (*smaller.scene.nodes, *smaller.scene.pods, smaller.incoming):
        if each["metadata"]["name"] == name:
            each.get(at, {}).pop(part, None)
    return smaller
