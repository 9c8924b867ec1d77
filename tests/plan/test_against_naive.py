"""koordpy's columns and the naive reference agree on every pod and every cluster, to the last point of every score."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from koordpy.cluster.trial import Trial
from koordpy.plan.answer import Plan
from koordpy.plan.job import Job
from koordpy.plan.planner import plan
from tests.plan.counts import counts_of
from tests.plan.judgement import PROFILE, judgement, picture_of, record_of
from tests.plan.naive import World, judge
from tests.plan.random_worlds import NODE_NAMES, incoming_pod, worlds

Json = dict[str, Any]


@settings(max_examples=250, deadline=None)
@given(worlds(), incoming_pod())
def test_every_node_gets_the_reasons_and_scores_of_the_reference(world: World, incoming: Json):
    cluster = picture_of(world)
    assert judgement(record_of(cluster, incoming), cluster) == judge(incoming, world)


@settings(max_examples=60, deadline=None)
@given(worlds(), incoming_pod(), st.lists(incoming_pod("member"), min_size=1, max_size=2), st.data())
def test_pods_tried_on_nodes_count_until_they_are_undone(world: World, incoming: Json, tried: list[Json], data):
    cluster = picture_of(world)
    record = record_of(cluster, incoming)
    shapes = [record_of(cluster, pod | {"metadata": pod["metadata"] | {"uid": f"t{i}"}}) for i, pod in enumerate(tried)]
    judgement(record, cluster)  # so that what is asked for is being counted
    before = counts_of(cluster)
    with Trial(cluster.occupancy) as trial:
        placed = []
        for pod, member in zip(tried, shapes, strict=True):
            name = data.draw(st.sampled_from(NODE_NAMES))
            row = cluster.nodes.row_of(name)
            if row is not None:
                trial.place(row, member.shape)
                placed.append(pod | {"spec": pod["spec"] | {"nodeName": name}})
        assert judgement(record, cluster) == judge(incoming, World(**vars(world) | {"pods": world.pods + placed}))
    assert counts_of(cluster) == before
    assert judgement(record, cluster) == judge(incoming, world)


@settings(max_examples=60, deadline=None)
@given(worlds(), st.lists(incoming_pod("member"), min_size=1, max_size=4))
def test_the_members_of_a_job_are_placed_one_after_another(world: World, members: list[Json]):
    members = [pod | {"metadata": pod["metadata"] | {"uid": f"m{i}"}} for i, pod in enumerate(members)]
    cluster = picture_of(world)
    before = counts_of(cluster)
    records = tuple(record_of(cluster, pod) for pod in members)
    answer = plan(Job("job", records), cluster, PROFILE)
    expected = World(**vars(world))
    for i, pod in enumerate(members):
        verdict = judge(pod, expected)
        if verdict.chosen is None:
            assert not isinstance(answer, Plan)
            assert (answer.culprit, answer.message) == (f"m{i}", verdict.message)
            break
        expected.pods = [*expected.pods, pod | {"spec": pod["spec"] | {"nodeName": verdict.chosen}}]
        if isinstance(answer, Plan):
            assert answer.placements[i].node == verdict.chosen
    else:
        assert isinstance(answer, Plan)
    assert counts_of(cluster, like=before) == before
