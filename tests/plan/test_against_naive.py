"""koordpy's columns and the naive reference agree on every pod and every cluster, to the last point of every score."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings

from koordpy.api.pod import Pod
from koordpy.plan.framework.answers import Plan
from koordpy.plan.framework.job import Job
from koordpy.plan.placement.pods import plan
from koordpy.state.trial import Trial
from tests.builders import typed
from tests.plan.asking import reasons, scores
from tests.plan.counts import counts_of
from tests.plan.judgement import PROFILE, judgement, record_of, state_of
from tests.plan.naive import FILTERS, SCORES, World, judge
from tests.plan.random_worlds import NODE_NAMES, SEEDS, incoming_pod, smallest, world

pytestmark = pytest.mark.random

Json = dict[str, Any]


def hold(check: Callable[[World], None], found: World) -> None:
    """The check holds; if it does not, it fails on the smallest part of the world on which it does not."""

    def fails(smaller: World) -> bool:
        try:
            check(smaller)
        except AssertionError:
            return True
        return False

    check(smallest(found, fails) if fails(found) else found)


@settings(max_examples=400, deadline=None)
@given(SEEDS)
def test_each_filter_and_each_score_agrees_on_all_nodes(seed: int):
    """Each by itself: in a decision a node that one filter refuses is not shown to the next."""
    rng = Random(seed)
    found, incoming = world(rng), incoming_pod(rng)

    def check(part: World) -> None:
        cluster, asked = state_of(part), typed(incoming, Pod)
        for each in PROFILE.filters:
            rule = FILTERS.get(each.name, lambda *_: [])
            expected = {n["metadata"]["name"]: sorted(rule(incoming, n, part)) for n in part.nodes}
            answers = {name: sorted(texts) for name, texts in reasons(each, asked, cluster).items()}
            assert answers == {name: texts for name, texts in expected.items() if texts}
        for score, _ in PROFILE.scores if part.nodes else ():
            assert (score.name, scores(score, asked, cluster)) == (
                score.name,
                SCORES[score.name](incoming, part.nodes, part),
            )

    hold(check, found)


@settings(max_examples=400, deadline=None)
@given(SEEDS)
def test_a_decision_is_that_of_the_reference(seed: int):
    """Feasible nodes, reasons, message, scores among the feasible, and the node that is chosen."""
    rng = Random(seed)
    found, incoming = world(rng), incoming_pod(rng)

    def check(part: World) -> None:
        cluster = state_of(part)
        assert judgement(record_of(cluster, incoming), cluster) == judge(incoming, part)

    hold(check, found)


@settings(max_examples=200, deadline=None)
@given(SEEDS)
def test_pods_tried_on_nodes_count_until_they_are_undone(seed: int):
    rng = Random(seed)
    found, incoming = world(rng), incoming_pod(rng)
    tried = [incoming_pod(rng, f"t{i}") for i in range(3)]
    at = [rng.choice(NODE_NAMES) for _ in tried]

    def check(part: World) -> None:
        cluster = state_of(part)
        record, *members = (record_of(cluster, pod) for pod in (incoming, *tried))
        assert judgement(record, cluster) == judge(incoming, part)
        before = counts_of(cluster)
        with Trial(cluster.occupancy) as trial:
            for member, name in zip(members, at, strict=True):
                if (row := cluster.nodes.row_of(name)) is not None:
                    trial.place(row, member.shape)
            placed = [_on(pod, name) for pod, name in zip(tried, at, strict=True)]
            assert judgement(record, cluster) == judge(incoming, replace(part, pods=part.pods + placed))
        assert counts_of(cluster, like=before) == before  # questions first asked within the trial aside
        assert judgement(record, cluster) == judge(incoming, part)

    hold(check, found)


@settings(max_examples=200, deadline=None)
@given(SEEDS)
def test_the_members_of_a_job_are_placed_one_after_another(seed: int):
    rng = Random(seed)
    found = world(rng)
    members = [incoming_pod(rng, f"m{i}") for i in range(rng.randint(1, 4))]

    def check(part: World) -> None:
        cluster = state_of(part)
        before = counts_of(cluster)
        answer = plan(Job("job", tuple(record_of(cluster, pod) for pod in members)), cluster, PROFILE)
        nodes, culprit, message = _naive_plan(members, part)
        if isinstance(answer, Plan):
            assert [each.node for each in answer.placements] == nodes
        else:
            assert (answer.culprit, answer.message) == (culprit, message)
        assert counts_of(cluster, like=before) == before

    hold(check, found)


def _naive_plan(members: list[Json], found: World) -> tuple[list[str], str, str]:
    """The nodes of the members, as far as they fit, and the first that does not with what is said about it."""
    nodes: list[str] = []
    for pod in members:
        verdict = judge(pod, found)
        if verdict.chosen is None:
            return nodes, pod["metadata"]["uid"], verdict.message
        nodes.append(verdict.chosen)
        found = replace(found, pods=[*found.pods, _on(pod, verdict.chosen)])
    return nodes, "", ""


def _on(pod: Json, node: str) -> Json:
    return pod | {"spec": pod["spec"] | {"nodeName": node}}
