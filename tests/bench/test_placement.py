"""The replay of traces: jobs come and end, and gathering is what makes the difference."""

from statistics import fmean

from bench.planning.placement import GATHERED, LOAD, PLAIN, Replay
from bench.traces import Role, TraceJob

WORKER = Role("worker", 4, 8, 64_000, 1024)


def gangs(count: int, duration_s: float = 60.0) -> list[TraceJob]:
    """Of four whole nodes each."""
    return [TraceJob(f"job-{number}", 0.0, duration_s + number, (WORKER,)) for number in range(count)]


def test_gathered_gangs_score_better_than_plain_ones():
    gathered, plain = (list(Replay(64, rules).run(gangs(40))) for rules in (GATHERED, PLAIN))
    assert len(gathered) == len(plain) > 20
    assert fmean(rating.score for rating in gathered) == 1.0
    assert fmean(rating.score for rating in plain) < 0.9


def test_the_cluster_is_never_fuller_than_wanted_and_the_next_job_waits_until_others_have_ended():
    replay = Replay(32, GATHERED)
    for _ in replay.run(gangs(40, duration_s=100.0)):
        assert replay._used <= LOAD + 1e-9
    assert replay._now > 100.0


def test_a_job_that_is_larger_than_the_cluster_is_skipped():
    huge = TraceJob("huge", 0.0, 1.0, (WORKER._replace(pods=33),))
    replay = Replay(32, GATHERED)
    assert list(replay.run([*gangs(6), huge])) == list(Replay(32, GATHERED).run(gangs(6)))
    assert len(replay._running) == 6
