"""Expected starts: each job in turn, beside those in front of it."""

from __future__ import annotations

import pytest

from koordpy.api.answers import Explanation, JobEnds
from koordpy.controllers.grouping.expansion import expanded
from koordpy.plan.framework.job import Job
from koordpy.scheduler.answers.answering import Answering
from koordpy.scheduler.answers.starts import Forward, expected_starts
from tests.scheduler.queues.rig import LABEL
from tests.scheduler.test_backfill import TimedRig
from tests.scheduler.wakeups.rig import uid


def starts(rig: TimedRig, *names: str) -> dict[str, tuple[str | None, str]]:
    """Time and certainty, by the name of the pod."""
    pods = {name: rig.cluster.pods[uid(name)] for name in names}
    jobs = [Job(pod.uid, (pod,), queue=pod.queue) for pod in pods.values()]
    parts = rig.built.parts
    forward = Forward(parts.planning, parts.admission, rig.hand_clock.now, parts.learnt)
    found = expected_starts(forward, jobs, None)
    return {name: (found[uid(name)].time, found[uid(name)].certainty) for name in names}


@pytest.fixture
def rig() -> TimedRig:
    rig = TimedRig(nodes=1)
    rig.runs("busy", "n0", 10)
    return rig


def test_a_job_is_expected_when_what_it_waits_for_ends(rig: TimedRig):
    rig.pending("a", 5)
    assert starts(rig, "a") == {"a": ("1970-01-01T00:16:50Z", "Declared")}


def test_a_job_behind_another_is_expected_when_that_one_ends(rig: TimedRig):
    rig.pending("a", 5)
    rig.pending("b", 5)
    assert starts(rig, "a", "b")["b"] == ("1970-01-01T00:16:55Z", "Declared")


def test_a_job_behind_one_without_a_run_time_has_no_expected_start(rig: TimedRig):
    rig.pending("a")
    rig.pending("b", 5)
    assert starts(rig, "a", "b")["b"] == (None, "Unknown")


def test_what_earlier_runs_took_is_used_where_nothing_is_declared(rig: TimedRig):
    rig.runs("other-1", "n0", None)
    rig.gone("busy")
    rig.later(7)
    rig.finishes("other-1", "n0")
    rig.runs("other-2", "n0", None)
    rig.pending("a", 5)
    assert starts(rig, "a") == {"a": ("1970-01-01T00:16:54Z", "Estimated")}


def test_what_runs_longer_than_any_run_before_has_no_known_end(rig: TimedRig):
    rig.runs("other-1", "n0", None)
    rig.gone("busy")
    rig.later(7)
    rig.finishes("other-1", "n0")
    rig.runs("other-2", "n0", None)
    rig.later(8)
    rig.pending("a", 5)
    assert starts(rig, "a") == {"a": (None, "Unknown")}


def test_a_declared_end_is_not_a_guess(rig: TimedRig):
    rig.pending("a", 5)
    rig.pending("b", 5)
    assert {certainty for _, certainty in starts(rig, "a", "b").values()} == {"Declared"}


def test_a_job_whose_queue_is_full_is_expected_when_the_queue_has_room():
    rig = TimedRig(nodes=2)
    rig.has_queue("team", cpu=(0, 1))
    rig.runs("busy", "n0", 10, labels={LABEL: "team"})
    rig.pending("a", 5, labels={LABEL: "team"})
    assert starts(rig, "a") == {"a": ("1970-01-01T00:16:50Z", "Declared")}


def test_playing_forward_changes_nothing(rig: TimedRig):
    rig.pending("a", 5)
    before = rig.cluster.nodes.requested.tobytes()
    starts(rig, "a")
    assert rig.cluster.nodes.requested.tobytes() == before


def answering(rig: TimedRig) -> Answering:
    built = rig.built
    return Answering(
        built.parts, built.book, built.throttle, built.schedulers, expand=expanded, wall=lambda: rig.hand_clock.now
    )


async def explained(rig: TimedRig, name: str) -> Explanation:
    return await answering(rig).explain("default", name)


async def shown(rig: TimedRig) -> dict[str, tuple[str | None, str | None, str]]:
    """What the list of jobs says: reason, expected start and its certainty, by name."""
    found = (await answering(rig).jobs()).items
    return {job.name: (job.reason, job.expected_start.time, job.expected_start.certainty) for job in found}


async def test_the_list_of_jobs_says_what_is_reserved_and_who_waits_for_it():
    rig = TimedRig(nodes=2)
    rig.runs("busy", "n0", 10)
    rig.gang_of("big", 2, seconds=100)
    rig.settle()
    rig.pending("small", 50)
    rig.settle()
    assert await shown(rig) == {
        "big": ("Resources", "1970-01-01T00:16:50Z", "Reserved"),
        "small": ("Reservation", "1970-01-01T00:18:30Z", "Declared"),
    }


async def test_a_short_job_is_expected_in_the_gap_before_a_large_one_in_front_of_it():
    rig = TimedRig(nodes=2)
    rig.runs("busy-0", "n0", 10)
    rig.runs("busy-1", "n1", 20)
    rig.gang_of("big", 2, seconds=100)
    rig.settle()
    rig.pending("short", 5)
    rig.settle()
    times = {name: at for name, (_, at, _) in (await shown(rig)).items()}
    assert times == {"big": "1970-01-01T00:17:00Z", "short": "1970-01-01T00:16:50Z"}


@pytest.mark.parametrize(("seconds", "who"), [(8, ["default/busy-0", "default/busy-1"]), (15, ["default/busy-0"])])
async def test_an_end_that_moves_a_reserved_start_forward_helps_only_who_ends_by_then(seconds: int, who: list[str]):
    """Without `busy-1` the gang starts ten seconds sooner: a job of fifteen ends too late for that."""
    rig = TimedRig(nodes=2)
    rig.runs("busy-0", "n0", 10)
    rig.runs("busy-1", "n1", 20)
    rig.gang_of("big", 2, seconds=100)
    rig.settle()
    rig.pending("other", seconds)
    rig.settle()
    changes = (await explained(rig, "other")).changes
    assert [each.job for each in changes if isinstance(each, JobEnds)] == who
