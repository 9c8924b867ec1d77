"""Compares: scene after scene on the stage, each answer of kube-scheduler beside koordpy's."""

from dataclasses import replace

from tests.differential.cases import PODS_PER_SCENE, Case, scene
from tests.differential.features import ENABLED, Features
from tests.differential.judge import judge
from tests.differential.preempting import OF_ITS_OWN, leaving_for
from tests.differential.report import Disagreement, Tally
from tests.differential.scenery import key_of
from tests.differential.stage import Stage


async def run(stage: Stage, seeds: range, enabled: Features = ENABLED) -> Tally:
    """Compare these cases."""
    tally = Tally()
    for number in range(seeds.start // PODS_PER_SCENE, (seeds.stop - 1) // PODS_PER_SCENE + 1):
        played = scene(number, enabled)
        others = []
        async for asked in stage.play(played, [case for case in played.cases() if case.seed in seeds]):
            judgement = judge(asked.answer, asked.surroundings, asked.incoming)
            tally.count(asked, judgement)
            if judgement.found:
                tally.disagreements.append(Disagreement(asked, judgement.found))
            if judgement.preempting in OF_ITS_OWN and judgement.koordpy.promised and not judgement.found:
                others.append((asked, judgement.koordpy))
        for asked, koordpy in others:
            gone = koordpy.victims | leaving_for(asked.pods, asked.incoming)
            if not await _is_let_in(stage, asked.case, koordpy.promised, gone):
                found = [f"in vain: without {', '.join(sorted(gone))} it is not let onto {koordpy.promised}"]
                tally.disagreements.append(Disagreement(asked, found))
    return tally


async def _is_let_in(stage: Stage, case: Case, promised: str, gone: set[str]) -> bool:
    """Whether kube-scheduler, too, lets the pod onto the node that koordpy has promised it, once these are gone.

    Asked only where koordpy has made a choice of its own.
    """
    pods = [pod for pod in case.scene.pods if key_of(pod) not in gone]
    without = replace(case.scene, pods=pods)
    incoming = {part: value for part, value in case.incoming.items() if part != "status"}
    (asked,) = [asked async for asked in stage.play(without, [replace(case, scene=without, incoming=incoming)])]
    return promised in asked.answer.feasible
