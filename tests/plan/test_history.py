"""Whatever changed, in whatever order: the state counts exactly what is true in the end."""

from dataclasses import replace
from random import Random

from hypothesis import given, settings

from koordpy.state.cluster import Cluster
from tests.plan.counts import counts_of
from tests.plan.history import History, random_step
from tests.plan.judgement import judgement, record_of, state_of
from tests.plan.naive import World, judge
from tests.plan.random_worlds import SEEDS, incoming_pod, world


@settings(max_examples=400, deadline=None)
@given(SEEDS)
def test_a_state_with_a_history_equals_a_fresh_one(seed: int):
    rng = Random(seed)
    history, incoming = History(world(rng)), incoming_pod(rng)
    record_of(history.cluster, incoming)
    for kind, what in (random_step(rng) for _ in range(rng.randint(0, 25))):
        history.step(kind, what)
    end = history.world()
    assert judgement(history.cluster.pods["incoming"], history.cluster) == judge(incoming, end)
    fresh = _fresh_state_with_the_same_tallies(end, history.cluster)
    assert counts_of(history.cluster) == counts_of(fresh)
    assert _label_columns(history.cluster) == _label_columns(fresh, like=history.cluster)


@settings(max_examples=100, deadline=None)
@given(SEEDS)
def test_the_order_of_watch_events_does_not_matter(seed: int):
    rng = Random(seed)
    seen, incoming = world(rng), incoming_pod(rng)
    one, other = state_of(seen), Cluster()
    record_of(other, incoming)  # this one hears of the pod first, of the pods on nodes next, of the nodes last
    state_of(World(pods=rng.sample(seen.pods, len(seen.pods))), other)
    state_of(replace(seen, pods=[], nodes=rng.sample(seen.nodes, len(seen.nodes))), other)
    assert judgement(record_of(one, incoming), one) == judgement(other.pods["incoming"], other)


def _fresh_state_with_the_same_tallies(world: World, old: Cluster) -> Cluster:
    """The state for the end of a history, with the tallies of the old state."""
    fresh = Cluster()
    fresh.learn_keys(old.shapes.selected_keys)
    state_of(world, fresh)
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
