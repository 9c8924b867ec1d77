"""A trial leaves no trace, whatever was tried."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from koordpy.api.storage import PersistentVolumeClaim
from koordpy.state.cluster import Cluster
from koordpy.state.storage import VolumeChoice
from koordpy.state.trial import Trial
from tests.builders import node, pod, typed

STEPS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(-3, 3)), max_size=30)


def filled_cluster():
    cluster = Cluster()
    for i in range(5):
        cluster.upsert_node(node(f"n{i}", cpu=8, nvidia__com_gpu=4))
    shapes = [cluster.upsert_pod(each).shape for each in (pod(cpu=1), pod(memory="3Gi"), pod(nvidia__com_gpu=1))]
    return cluster, shapes


@given(STEPS, STEPS)
def test_undo_restores_every_byte(before_mark, after_mark):
    cluster, shapes = filled_cluster()
    nodes = cluster.nodes
    untouched = nodes.requested.tobytes(), nodes.scored.tobytes()
    with Trial(cluster.occupancy) as trial:
        for row, shape, count in before_mark:
            trial.place(row, shapes[shape], count)
        at_mark = nodes.requested.copy(), nodes.scored.copy()
        mark = trial.mark()
        for row, shape, count in after_mark:
            trial.place(row, shapes[shape], count)
        trial.undo(mark)
        assert np.array_equal(nodes.requested, at_mark[0])
        assert np.array_equal(nodes.scored, at_mark[1])
    assert (nodes.requested.tobytes(), nodes.scored.tobytes()) == untouched


def test_a_trial_that_fails_in_the_middle_is_undone_too():
    cluster, shapes = filled_cluster()
    untouched = cluster.nodes.requested.tobytes()
    try:
        with Trial(cluster.occupancy) as trial:
            trial.place(0, shapes[0])
            raise KeyError  # noqa: TRY301
    except KeyError:
        pass
    assert cluster.nodes.requested.tobytes() == untouched


def test_undoing_to_a_mark_gives_back_the_volumes_promised_since():
    cluster, shapes = filled_cluster()
    promised = VolumeChoice(provisioned=("default/claim",))
    claim = typed({"metadata": {"name": "claim", "namespace": "default"}}, PersistentVolumeClaim)
    with Trial(cluster.occupancy) as trial:
        trial.place(0, shapes[0])
        mark = trial.mark()
        trial.reserve_volumes(promised, "n1")
        assert cluster.storage.selected_node(claim) == "n1"
        trial.undo(mark)
        assert cluster.storage.selected_node(claim) == ""


def test_an_error_in_the_middle_of_a_change_is_not_hidden_by_what_is_undone_after_it(monkeypatch):
    """One pod was half counted. Taking the one before it off again is a whole change, and mends nothing."""
    cluster, (shape, *_) = filled_cluster()

    def broken(*_):
        monkeypatch.undo()
        raise RuntimeError("a mistake of ours")

    def try_two():
        with Trial(cluster.occupancy) as trial:
            trial.place(0, shape, 1)
            monkeypatch.setattr(cluster.census, "move", broken)
            trial.place(1, shape, 1)

    with pytest.raises(RuntimeError, match="a mistake of ours"):
        try_two()
    assert not cluster.occupancy.is_consistent
    cluster.recount()
    assert cluster.occupancy.is_consistent
    assert not cluster.nodes.requested.any()
