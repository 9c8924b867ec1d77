"""Whatever happened, in whatever order: the picture counts exactly what is true in the end."""

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from koordpy.cluster.picture import Cluster
from tests.plan.counts import counts_of
from tests.plan.history import STEPS, History
from tests.plan.judgement import judgement, picture_of, record_of
from tests.plan.naive import World, judge
from tests.plan.random_worlds import incoming_pod, worlds

Json = dict[str, Any]


@settings(max_examples=150, deadline=None)
@given(STEPS, incoming_pod())
def test_a_picture_with_a_history_equals_a_fresh_one(steps: list[tuple[str, Any]], incoming: Json):
    history = History()
    for kind, what in steps:
        history.step(kind, what)
        if kind == "ask":
            judgement(record_of(history.cluster, incoming), history.cluster)
            history.cluster.remove_pod("incoming")
    world = history.world()
    found = judgement(record_of(history.cluster, incoming), history.cluster)
    assert found == judge(incoming, world)
    fresh = _fresh_picture_asked_the_same(world, history.cluster)
    assert counts_of(history.cluster) == counts_of(fresh)
    assert _label_columns(history.cluster) == _label_columns(fresh, like=history.cluster)


@settings(max_examples=40, deadline=None)
@given(worlds(), incoming_pod(), st.integers())
def test_the_order_in_which_things_were_seen_changes_nothing(world: World, incoming: Json, seed: int):
    shuffled = World(**vars(world))
    shuffled.nodes, shuffled.pods = list(world.nodes), list(world.pods)
    random.Random(seed).shuffle(shuffled.nodes)
    random.Random(seed).shuffle(shuffled.pods)
    one, other = picture_of(world), Cluster()
    record_of(other, incoming)  # this one hears of the pod first, of the pods on nodes next, of the nodes last
    picture_of(World(pods=shuffled.pods), other)
    picture_of(World(**vars(shuffled) | {"pods": []}), other)
    assert judgement(record_of(one, incoming), one) == judgement(other.pods["incoming"], other)


def _fresh_picture_asked_the_same(world: World, old: Cluster) -> Cluster:
    """Built from the end of a history; counts, from the beginning, what the old one was asked on the way."""
    fresh = Cluster()
    fresh.learn_keys(old.shapes.selected_keys)
    picture_of(world, fresh)
    for key, tally in old.census._tallies.items():
        fresh.census.tally(key, tally.includes)
    return fresh


def _label_columns(cluster: Cluster, like: Cluster | None = None) -> dict[str, dict[str, str]]:
    """By key: the value that each node's code stands for."""
    columns = {}
    for key in (like or cluster).nodes.labels._columns:
        column = cluster.nodes.labels.column(key)
        codes = [(name, int(column.codes[row])) for row, name in enumerate(cluster.nodes.names)]
        assert all(code == -1 for name, code in codes if not name)
        columns[key] = {name: column.values[code] for name, code in codes if code >= 0}
    return columns
