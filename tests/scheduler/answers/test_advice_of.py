"""What an explanation leaves of itself at the end of a message."""

from __future__ import annotations

import pytest

from koordpy.api.answers import AnyChange, Certainty, Explanation, Job, JobEnds, Members, NodeUncordoned, Start, State
from koordpy.scheduler.answers.advisor import advice_of

NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z


def explanation(
    *changes: AnyChange, state: State = "Pending", at: str | None = None, certainty: Certainty = "Unknown"
) -> Explanation:
    job = Job(
        namespace="team",
        name="train",
        type="Gang",
        gangs=["team/train"],
        queue=None,
        priority=0,
        position=1,
        state=state,
        reason="Resources",
        message="",
        since="2027-01-15T07:00:00Z",
        members=Members(minimum=1, total=1, pending=1, bound=0, gated=0),
        expected_start=Start(time=at, certainty=certainty, message=""),
    )
    return Explanation(as_of="", job=job, proved=True, missing=[], in_the_way=[], changes=list(changes), stopped=None)


ENDS = JobEnds(job="team/notebook-3", message="team/notebook-3 ends or is deleted")
UNCORDONED = NodeUncordoned(node="n1", message="node n1 is uncordoned")


def test_the_best_change_is_named_and_no_other():
    assert advice_of(explanation(ENDS, UNCORDONED), NOW)[0] == "; would start if team/notebook-3 ended"
    assert advice_of(explanation(UNCORDONED, ENDS), NOW)[0] == "; would start if node n1 is uncordoned"


def test_an_expected_start_is_said_in_hours_and_minutes():
    said, seconds = advice_of(explanation(at="2027-01-15T08:39:30Z", certainty="Declared"), NOW)
    assert said == "; expected start 08:40Z"
    assert seconds == 39 * 60 + 30


def test_a_start_of_another_day_has_its_date():
    said, _ = advice_of(explanation(at="2027-01-16T08:40:00Z", certainty="Declared"), NOW)
    assert said == "; expected start 2027-01-16 08:40Z"


def test_a_start_that_was_learnt_is_not_certain():
    said, _ = advice_of(explanation(ENDS, at="2027-01-15T08:40:00Z", certainty="Estimated"), NOW)
    assert said == "; would start if team/notebook-3 ended; expected start about 08:40Z"


def test_a_reserved_start_is_in_the_message_already():
    assert advice_of(explanation(at="2027-01-15T08:40:00Z", certainty="Reserved"), NOW)[0] == ""


@pytest.mark.parametrize("state", ["Preempting", "Holding", "Binding", "Running", "TimedOut"])
def test_a_job_that_does_not_merely_wait_needs_no_advice(state: State):
    assert advice_of(explanation(ENDS, state=state), NOW)[0] == ""
