"""Learnt run times: which pods are of one workload, and what is kept."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from koordpy.api.pod import Pod
from koordpy.scheduler.runtimes.learnt import LearntRunTimes
from koordpy.state.cluster import Cluster
from koordpy.state.pods import PodRecord
from tests.builders import pod_json, typed, with_identity

BEGAN, ENDED = "2026-01-01T00:00:00Z", "2026-01-01T00:01:40Z"


def pod(name: str, *, owner: str = "", phase: str = "Running", **given: Any) -> Pod:
    obj = with_identity(pod_json(name, **{"cpu": 1, "node": "n"} | given))
    if owner:
        obj["metadata"]["ownerReferences"] = [
            {"apiVersion": "batch/v1", "kind": "Job", "name": owner, "uid": "u", "controller": True}
        ]
    obj["status"] = {"phase": phase, "startTime": BEGAN}
    ended = {"terminated": {"finishedAt": ENDED, "exitCode": 0}}
    obj["status"]["containerStatuses"] = [{"name": "main", "state": ended}] if phase != "Running" else []
    return typed(obj, Pod)


def record(name: str, **given: Any) -> PodRecord:
    return Cluster().upsert_pod(pod(name, **given))


def learnt_from(name: str, phase: str = "Succeeded", **given: Any) -> LearntRunTimes:
    learnt = LearntRunTimes()
    learnt.pod_finished(pod(name, phase=phase, **given), record(name, **given))
    return learnt


@pytest.mark.parametrize(
    ("first", "second"),
    [("train-17", "train-18"), ("nightly-29384710", "nightly-29384770"), ("eval-x2k9d", "eval-7bqmz"), ("run", "run")],
)
def test_runs_whose_owners_differ_in_a_number_are_one_workload(first: str, second: str):
    assert learnt_from("a-0", owner=first).run_time(record("b-0", owner=second)) == 100


@pytest.mark.parametrize("other", [{"owner": "eval-1"}, {"cpu": 2}, {"namespace": "b"}])
def test_other_owners_requests_and_namespaces_are_other_workloads(other: dict[str, Any]):
    assert learnt_from("a", owner="train-1").run_time(record("a", **{"owner": "train-1"} | other)) is None


def test_what_failed_says_nothing():
    assert learnt_from("a", phase="Failed").run_time(record("a")) is None


def test_what_was_not_seen_running_is_not_counted_again():
    learnt = LearntRunTimes()
    learnt.pod_finished(pod("a", phase="Succeeded"), None)
    assert learnt.changes == 0


def test_of_runs_that_took_longer_the_median_is_expected():
    learnt = LearntRunTimes()
    learnt.restore(msgspec.json.encode({_key(): [10, 20, 30, 40]}).decode())
    assert learnt.run_time(record("a")) == 25
    assert learnt.run_time(record("a"), elapsed_s=20) == 35
    assert learnt.run_time(record("a"), elapsed_s=40) is None


def test_the_latest_runs_are_kept():
    learnt = learnt_from("a")
    for _ in range(40):
        learnt.pod_finished(pod("a", phase="Succeeded"), record("a"))
    (seen,) = msgspec.json.decode(learnt.encode()).values()
    assert len(seen) == 16


def test_what_is_restored_comes_before_what_was_learnt_since():
    learnt = learnt_from("a")
    learnt.restore(msgspec.json.encode({_key(): [5]}).decode())
    assert msgspec.json.decode(learnt.encode()) == {_key(): [5, 100]}


def test_workloads_are_bounded():
    learnt = LearntRunTimes()
    learnt.restore(msgspec.json.encode({f"w{number}": [1] for number in range(1500)}).decode())
    assert len(msgspec.json.decode(learnt.encode())) == 1000


def _key() -> str:
    (key,) = msgspec.json.decode(learnt_from("a").encode())
    return key
