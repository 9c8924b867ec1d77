"""Which advice a message ends in, and when somebody thinks about a job again."""

from __future__ import annotations

from koordpy.plan.framework.answers import Refusal
from koordpy.scheduler.report.advice import Advice
from koordpy.state.events import EventKind

FULL = "0/1 nodes are available: 1 Insufficient cpu."
ADVICE = "; would start if team/notebook ended"


class Rig:
    def __init__(self) -> None:
        self.now = 0.0
        self.advice = Advice(lambda: self.now)

    def refused(self, message: str = FULL, seen: str = "") -> str:
        refusal = Refusal(message, EventKind.NONE, "a")
        return self.advice.added_to(refusal, "a", seen).message

    def looks(self, after: float) -> str | None:
        self.now += after
        return self.advice.next_due()


def test_where_no_advice_is_wanted_nothing_is_remembered_of_jobs():
    rig = Rig()
    rig.advice = Advice(lambda: rig.now, wanted=False)
    assert rig.refused() == FULL
    assert rig.looks(after=3600) is None


def test_a_job_is_given_some_seconds_to_start_without_advice():
    rig = Rig()
    assert rig.refused() == FULL
    assert rig.looks(after=4.9) is None
    assert rig.looks(after=0.2) == "a"


def test_advice_follows_the_message_in_one_sentence():
    rig = Rig()
    rig.refused()
    rig.advice.give("a", FULL, ADVICE)
    assert rig.refused() == "0/1 nodes are available: 1 Insufficient cpu; would start if team/notebook ended"


def test_another_message_has_no_advice_until_somebody_has_thought_about_it():
    rig = Rig()
    rig.refused()
    rig.advice.give("a", FULL, ADVICE)
    assert rig.refused("its queue is full") == "its queue is full"
    assert rig.refused() == FULL


def test_advice_about_an_earlier_message_is_not_given():
    rig = Rig()
    rig.refused()
    rig.refused("its queue is full")
    rig.advice.give("a", FULL, ADVICE)
    assert rig.refused("its queue is full") == "its queue is full"


def test_advice_is_looked_at_again_before_the_warning_is_repeated():
    rig = Rig()
    rig.refused()
    rig.advice.give("a", FULL, ADVICE)
    assert rig.looks(after=1499) is None
    assert rig.looks(after=2) == "a"


def test_advice_is_looked_at_again_when_its_expected_start_has_passed():
    rig = Rig()
    rig.refused()
    rig.advice.give("a", FULL, ADVICE, true_for_s=300)
    assert rig.looks(after=301) == "a"


def test_a_job_that_is_tried_again_is_thought_about_again_once_a_minute_at_most():
    rig = Rig()
    rig.refused()
    rig.advice.give("a", FULL, ADVICE)
    rig.now += 10
    rig.refused()
    assert rig.looks(after=49) is None
    assert rig.looks(after=2) == "a"


def test_advice_of_an_earlier_leader_stays_until_somebody_knows_better():
    rig = Rig()
    said = FULL.removesuffix(".") + ADVICE
    assert rig.refused(seen=said) == said


def test_what_an_earlier_leader_said_about_something_else_is_no_advice():
    rig = Rig()
    assert rig.refused(seen=f"its queue is full{ADVICE}") == FULL


def test_a_job_that_has_started_leaves_no_advice_to_the_next_of_its_name():
    rig = Rig()
    rig.refused()
    rig.advice.give("a", FULL, ADVICE)
    rig.advice.forget("a")
    assert rig.refused() == FULL
