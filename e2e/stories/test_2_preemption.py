"""Preemption with real graceful termination: victims get their grace period, and their room is kept meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from e2e.stories.cluster import Cluster, Json, node_of, phases, until
from e2e.stories.workloads import SLOTS, Workloads

LOW, HIGH = "koordpy-e2e-low", "koordpy-e2e-high"
SECONDS_TO_END = 6


@pytest.fixture
def classes(cluster: Cluster) -> Iterator[None]:
    body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    both = [{**body, "metadata": {"name": name}, "value": value} for name, value in ((LOW, 10), (HIGH, 1000))]
    cluster.apply(*both, namespace="default")
    yield
    cluster.kubectl("delete", "priorityclass", LOW, HIGH)


@pytest.mark.usefixtures("classes")
def test_a_job_of_high_priority_gets_its_room_when_its_victims_have_ended_in_peace(story: Workloads) -> None:
    story.submit(*story.gang("nightly", 2 * SLOTS, priority=LOW, ends_after_s=SECONDS_TO_END))
    story.await_running("nightly", 2 * SLOTS)
    story.submit(*story.gang("release", SLOTS, priority=HIGH))

    until(lambda: "Terminating" in phases(story.members("nightly")), "victims are told to end")
    seen = _while_victims_end(story)
    assert seen, "the victims were gone at once: they had no grace period"
    assert not any(seen), "a member was bound before its room was free"
    story.await_running("release", SLOTS)
    reasons = {event["reason"] for event in story.cluster.list("events", story.namespace)}
    assert "Preempted" in reasons


def _while_victims_end(story: Workloads) -> list[bool]:
    """Whether a member of the new gang had a node, in each look at a moment when too few victims were gone."""
    seen: list[bool] = []

    def enough_are_gone() -> bool:
        pods = story.pods()  # one answer: one moment
        left = [pod for pod in pods if _is_of(pod, "nightly") and not _has_ended(pod)]
        if len(left) <= SLOTS:
            return True
        seen.append(any(node_of(pod) for pod in pods if _is_of(pod, "release")))
        return False

    until(enough_are_gone, "the victims end")
    return seen


def _has_ended(pod: Json) -> bool:
    """Its containers are gone and its room is free, also while the object is still there."""
    return pod["status"].get("phase") in {"Succeeded", "Failed"}


def _is_of(pod: Json, gang: str) -> bool:
    return str(pod["metadata"]["name"]).startswith(f"{gang}-")
