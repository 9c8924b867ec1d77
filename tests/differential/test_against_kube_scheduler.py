"""koordpy decides as kube-scheduler does: the same nodes, the same scores, the same words."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.server import ControlPlane
from tests.differential.kube_scheduler import KubeScheduler
from tests.differential.preempting import SAME
from tests.differential.run import run
from tests.differential.stage import stage

CASES = 1000
EVICTIONS = 60  # at least: random cases are of no use if nobody ever has to leave


@pytest.fixture
def kube_scheduler(control_plane: ControlPlane, tmp_path: Path) -> Iterator[KubeScheduler]:
    """For one test only: it would schedule the pods of the others."""
    control_plane.start()
    with KubeScheduler(control_plane, tmp_path) as scheduler:
        yield scheduler


@pytest.mark.real
@pytest.mark.timeout(600)
async def test_koordpy_decides_as_kube_scheduler_does(control_plane: ControlPlane, kube_scheduler: KubeScheduler):
    async with stage(control_plane, kube_scheduler) as built:
        tally = await run(built, range(CASES))
    print(tally.summary())
    assert tally.compared == CASES
    assert tally.preempting[SAME] >= EVICTIONS
    assert not tally.disagreements, tally.story()
