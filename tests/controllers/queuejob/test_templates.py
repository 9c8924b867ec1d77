"""A template may hold anything: what we read of it, or add to, is looked at before the first pod is made."""

from __future__ import annotations

import pytest

from koordpy.api.queuejob import QueueJob
from koordpy.controllers.queuejob.problems import problems
from tests.builders import Json, typed
from tests.controllers.queuejob.world import job

CONTAINER = {"name": "main", "image": "x"}


def of_spec(**spec: object) -> Json:
    return {"spec": {"containers": [CONTAINER]} | spec}


UNUSABLE = {
    "spec.priorityClassName is no text": of_spec(priorityClassName=[1]),
    "spec.initContainers has something else than containers": of_spec(initContainers=3),
    "spec.initContainers has an env that is no list of variables": of_spec(initContainers=[{"env": 3}]),
    "spec.containers has an env that is no list of variables": of_spec(containers=[CONTAINER | {"env": [3]}]),
    "spec.containers has no containers": of_spec(containers=[]),
    "metadata.labels is no object": of_spec() | {"metadata": {"labels": [1]}},
}


@pytest.mark.parametrize("problem", UNUSABLE)
def test_a_template_of_which_no_pod_can_be_made_names_the_field(problem: str):
    made = job("j", {"name": "w", "template": UNUSABLE[problem]})
    made["metadata"] |= {"namespace": "default", "uid": "u"}
    assert problems(typed(made, QueueJob)) == [f"spec.taskSpecs[0].template.{problem}"]
