"""The definition of PodGroups of scheduling.run.ai, as a real API server applies it."""

from __future__ import annotations

import pytest

from tests.controllers.grouping.world import real_world, run_ai_definition
from tests.scenarios.api import Refused

pytestmark = pytest.mark.real


def group(**spec: object) -> dict[str, object]:
    return {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        "spec": spec,
    }


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ({"minMember": 1, "minSubGroup": 1}, "exclude each other"),
        ({"minMember": -1}, "spec.minMember"),
        ({"preemptibility": "maybe"}, "spec.preemptibility"),
        ({"subGroups": [{"minMember": 1}]}, "subGroups[0].name"),
        ({"subGroups": [{"name": "a"}, {"name": "a"}]}, "Duplicate value"),
        ({"subGroups": [{"name": "a", "minMember": 1, "minSubGroup": 1}]}, "exclude each other"),
        ({"schedulingBackoff": 3}, "spec.schedulingBackoff"),
    ],
)
async def test_a_spec_that_makes_no_sense_is_refused(control_plane, spec, named):
    async with real_world(control_plane) as world:
        await world.install(run_ai_definition())
        with pytest.raises(Refused) as refused:
            await world.api.ask("POST", world.path("PodGroup"), group(**spec))
        assert named in str(refused.value)


async def test_everything_that_kai_has_is_taken(control_plane):
    everything = {
        "minMember": 0,
        "queue": "q",
        "priorityClassName": "train",
        "preemptibility": "non-preemptible",
        "topologyConstraint": {"topology": "t", "requiredTopologyLevel": "rack", "preferredTopologyLevel": "node"},
        "subGroups": [{"name": "a", "minSubGroup": 1}, {"name": "b", "minMember": 0, "parent": "a"}],
        "markUnschedulable": True,
        "schedulingBackoff": -1,
        "preemptionDelay": "30s",
        "stalenessGracePeriod": "-1s",
    }
    async with real_world(control_plane) as world:
        await world.install(run_ai_definition())
        made = await world.api.ask("POST", world.path("PodGroup"), group(**everything))
        assert made["spec"] == everything
