"""Columns of node labels are complete, or are not there."""

from __future__ import annotations

import pytest

from koordpy.state.nodes.labels import LabelColumn, NodeLabels


def test_a_column_that_could_not_be_made_is_made_anew(monkeypatch: pytest.MonkeyPatch):
    """Half of one would hide nodes from every pod that asks for the label."""
    labels = NodeLabels(3)
    for row in range(3):
        labels.set(row, {"pool": "a"})
    with monkeypatch.context() as failing:
        failing.setattr(LabelColumn, "set", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            labels.column("pool")
    assert labels.column("pool").codes.tolist() == [0, 0, 0]
