"""What the durations of an attempt count: planning without PostFilter, and a share for each pod planned with others."""

from __future__ import annotations

from koordpy import metrics
from koordpy.scheduler.preempt import PostFilter
from tests.scheduler.wakeups.rig import Rig

ALGORITHM = "scheduler_scheduling_algorithm_duration_seconds"
ATTEMPT = "scheduler_scheduling_attempt_duration_seconds"


def samples(name: str) -> dict[str, float]:
    found = {}
    for family in (metrics.ALGORITHM_SECONDS.collect(), metrics.ATTEMPT_SECONDS.collect()):
        for sample in family[0].samples:
            if sample.name.endswith(name):
                found[family[0].name] = found.get(family[0].name, 0.0) + sample.value
    return found


def test_the_time_of_the_algorithm_leaves_postfilter_out(monkeypatch):
    rig, inside = Rig(), []
    original = PostFilter.run

    def observed(self, job, answer):
        inside.append(samples("_count")[ALGORITHM])
        return original(self, job, answer)

    monkeypatch.setattr(PostFilter, "run", observed)
    rig.node("n1", cpu=1)
    rig.pod("p", cpu=2)
    before = samples("_count")[ALGORITHM]
    rig.attempt()
    assert inside == [before + 1]  # it was observed before PostFilter began


def test_each_pod_that_is_planned_with_others_counts_with_its_share_of_the_planning_time():
    rig = Rig()
    rig.node("n1", cpu=9)
    for number in range(3):
        rig.pod(f"p{number}", cpu=1)
    before = samples("_count")
    ticket = rig.scheduler.next_ticket()
    rig.scheduler.attempts.run(ticket)
    after = samples("_count")
    assert {name: after[name] - before[name] for name in after} == {ALGORITHM: 3, ATTEMPT: 3}
