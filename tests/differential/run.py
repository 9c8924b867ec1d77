"""Compares: scene after scene on the stage, each answer of kube-scheduler beside koordpy's."""

from tests.differential import in_koordpy
from tests.differential.answer import differences
from tests.differential.cases import PODS_PER_SCENE, scene
from tests.differential.features import ENABLED, Features
from tests.differential.report import Disagreement, Tally
from tests.differential.stage import Stage


async def run(stage: Stage, seeds: range, enabled: Features = ENABLED) -> Tally:
    """Compare these cases."""
    tally = Tally()
    for number in range(seeds.start // PODS_PER_SCENE, (seeds.stop - 1) // PODS_PER_SCENE + 1):
        played = scene(number, enabled)
        async for asked in stage.play(played, [case for case in played.cases() if case.seed in seeds]):
            tally.count(asked)
            found = differences(asked.answer, in_koordpy.answer(asked.surroundings, asked.incoming))
            if found:
                tally.disagreements.append(Disagreement(asked, found))
    return tally
