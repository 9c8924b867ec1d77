"""Which work can be taken away."""

from __future__ import annotations

import pytest

from koordpy.quota.preemptible import is_preemptible

PROTECTING = (
    {"scheduling.koordinator.sh/disable-preemptible": "true"},
    {"quota.scheduling.koordinator.sh/preemptible": "false"},
)


def test_from_a_priority_of_100_on_work_is_not_preemptible():
    assert is_preemptible("", {}, 99)
    assert not is_preemptible("", {}, 100)


@pytest.mark.parametrize("labels", PROTECTING)
def test_a_label_that_protects_a_pod_does_so_whatever_its_podgroup_says(labels: dict[str, str]):
    assert not is_preemptible("", labels, 0)
    assert not is_preemptible("preemptible", labels, 0)


def test_what_the_podgroup_says_counts_more_than_the_priority():
    assert is_preemptible("preemptible", {}, 1000)
    assert not is_preemptible("non-preemptible", {}, 0)
