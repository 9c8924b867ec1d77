"""The replay of jobs in virtual time: that it plays what it says, and counts what it saw."""

import asyncio
from collections.abc import Sequence

import pytest

from bench.figures import BenchError
from bench.philly import plot, virtual
from bench.philly.estimates import ROUND_S, as_users, exactly
from bench.philly.fairness import QUEUES, in_five
from bench.philly.replay import Replay, Variant, in_use, slice_for
from bench.traces import Role, TraceJob

OFF = Variant("off", backfill=False)
ON = Variant("on", declares=exactly)


def job(name: str, at: float, lasts: float, *, nodes: int = 1, gpus: int = 8, team: str = "") -> TraceJob:
    return TraceJob(f"job-{name}", at, lasts, (Role("worker", nodes, gpus, 1_000, 1_024),), team)


def starts(variant: Variant, nodes: int, jobs: Sequence[TraceJob]) -> dict[str, float]:
    replay = Replay(variant, jobs, nodes)
    replay.run()
    return {name.removeprefix("job-"): round(each.started or 0) for name, each in replay.played.items()}


def test_jobs_start_when_there_is_room_and_run_for_as_long_as_they_say():
    jobs = [job("1", 0, 100), job("2", 10, 50), job("3", 20, 50)]
    assert starts(OFF, 1, jobs) == {"1": 0, "2": 100, "3": 150}


# One of two nodes is busy until 100 when the gang comes; of the jobs behind it the last one ends before that.
BESIDE_A_GANG = (job("1", 0, 100), job("2", 10, 50, nodes=2), job("3", 20, 500), job("4", 30, 60))


def test_without_backfill_a_gang_is_passed_by_whoever_fits():
    assert starts(OFF, 2, BESIDE_A_GANG) == {"1": 0, "2": 520, "3": 20, "4": 100}


def test_with_backfill_a_gang_is_passed_by_whoever_ends_in_time():
    assert starts(ON, 2, BESIDE_A_GANG) == {"1": 0, "2": 100, "3": 150, "4": 30}


def test_what_a_gang_was_promised_is_noted():
    replay = Replay(ON, BESIDE_A_GANG, 2)
    replay.run()
    assert {start for _, start in replay.played["job-2"].promised} == {100}


def test_gpus_in_use_are_counted_between_two_times():
    replay = Replay(OFF, [job("1", 0, 100), job("2", 0, 50, gpus=4)], 2)
    replay.run()
    assert in_use(replay, 0, 100) == pytest.approx((8 * 100 + 4 * 50) / (100 * 16), abs=0.01)
    assert in_use(replay, 50, 100) == pytest.approx(0.5, abs=0.01)


def test_a_slice_in_which_the_cluster_does_not_fill_is_refused(tmp_path):
    with pytest.raises(BenchError, match="within a day"):
        slice_for(tmp_path, 2, 0.9)


def test_users_declare_round_values_that_are_not_too_short_and_the_same_each_time():
    jobs = [job(str(number), 0, 100 + number) for number in range(50)]
    declared = [as_users(1)(each) for each in jobs]
    assert declared == [as_users(1)(each) for each in jobs]
    assert set(declared) <= set(ROUND_S)
    assert all(each >= one.duration_s for one, each in zip(jobs, declared, strict=True))


def test_the_teams_that_ask_for_most_have_a_queue_each_and_the_others_share_the_last():
    jobs = [job(str(number), 0, 100 * number, team=f"vc-{number}") for number in range(1, 8)]
    assert [each.team for each in in_five(jobs)] == [QUEUES[-1]] * 3 + list(reversed(QUEUES[:-1]))


def test_a_simulation_in_which_nothing_can_happen_any_more_says_so():
    async def halt() -> None:
        await asyncio.Event().wait()

    with pytest.raises(BenchError, match="come to a halt"):
        virtual.run(halt())


def test_a_plot_without_records_is_an_error_that_says_what_to_run(tmp_path):
    with pytest.raises(BenchError, match="python -m bench backfill"):
        plot.draw({}, tmp_path / "a.png")
