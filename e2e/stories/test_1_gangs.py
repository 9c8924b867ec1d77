"""Gangs on real kubelets."""

from __future__ import annotations

from e2e.stories.workloads import Workloads


def test_a_gang_by_pod_group_runs(story: Workloads) -> None:
    story.submit(*story.gang("train", 3))
    story.await_running("train", 3)
    story.await_phase("train", "Running")
