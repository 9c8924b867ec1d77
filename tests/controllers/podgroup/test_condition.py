"""The condition Scheduled: a gang that waits says why for as long as it waits, and one that has started says so."""

from __future__ import annotations

from functools import partial

import pytest

from koordpy.api.meta import StatusCondition
from koordpy.api.podgroup.coscheduling import PodGroupStatus
from koordpy.controllers.podgroup import status as derived
from tests.controllers.podgroup.gangs import NOTHING, group, member, members

status_of = partial(derived.status_of, now="2026-01-02T00:00:00Z")

FULL = ("Unschedulable", "0/2 nodes are available: 2 Insufficient cpu.")


def condition_of(status: PodGroupStatus) -> StatusCondition:
    (found,) = [each for each in status.conditions if each.type == "Scheduled"]
    return found


@pytest.mark.parametrize(
    ("letters", "reason"),
    [
        ("", "NoPods"),
        ("RR", "Terminating"),
        ("ppp", "Incomplete"),
        ("pppg", "SchedulingGated"),
        ("pppp", "Unschedulable"),
        ("bbpp", "BelowMinimum"),
    ],
)
def test_a_gang_that_waits_has_a_word_for_the_reason(letters, reason):
    found = condition_of(status_of(members(letters, refusal=FULL), group(4), NOTHING))
    assert (found.status, found.reason) == ("False", reason)


def test_a_gang_that_waits_repeats_what_its_oldest_waiting_member_was_told():
    gang = [member("p", 2, refusal=("Unschedulable", "later")), member("p", 1, refusal=FULL)]
    assert condition_of(status_of(gang, group(2), NOTHING)).message == FULL[1]


def test_a_gang_that_was_not_attempted_yet_merely_waits():
    assert condition_of(status_of(members("pp"), group(2), NOTHING)).reason == "Waiting"


def test_a_gang_whose_time_is_up_says_so():
    told = ("Unschedulable", "timed out after 10s")
    found = condition_of(status_of(members("pp", refusal=told, timed_out=True), group(2), NOTHING))
    assert (found.reason, found.message) == ("TimedOut", told[1])


@pytest.mark.parametrize("letters", ["bb", "rr", "ss", "rf"])
def test_a_gang_that_has_started_says_so(letters):
    assert condition_of(status_of(members(letters), group(2), NOTHING)).status == "True"


def test_the_transition_time_stays_while_only_the_reason_changes():
    first = status_of(members("p"), group(2), NOTHING, now="2026-01-02T00:00:00Z")
    second = status_of(members("pp", refusal=FULL), group(2), first, now="2026-01-02T00:05:00Z")
    assert condition_of(second).last_transition_time == "2026-01-02T00:00:00Z"
    assert condition_of(second).reason == "Unschedulable"


def test_the_transition_time_is_that_of_the_start():
    first = status_of(members("pp"), group(2), NOTHING, now="2026-01-02T00:00:00Z")
    second = status_of(members("bb"), group(2), first, now="2026-01-02T00:05:00Z")
    assert condition_of(second).last_transition_time == "2026-01-02T00:05:00Z"


def test_conditions_of_other_controllers_stay():
    other = StatusCondition("Admitted", "True")
    found = status_of(members("pp"), group(2), PodGroupStatus(conditions=(other,)))
    assert [each.type for each in found.conditions] == ["Admitted", "Scheduled"]


def test_members_that_finished_before_the_pod_group_was_made_are_not_counted():
    again = group(1)._replace(created="2026-01-01T01:00:00Z")
    found = status_of([member("s", 1, finished_at=1767226000.0)], again, NOTHING)
    assert (found.phase, found.succeeded, condition_of(found).reason) == ("Pending", 0, "NoPods")


def test_members_that_are_made_again_after_their_gang_has_failed_say_what_they_wait_for():
    told = ("Unschedulable", "gang default/a is incomplete: 2 of 4 members")
    failed = PodGroupStatus(phase="Failed", failed=4)
    status = status_of(members("pp", refusal=told), group(4), failed)
    assert status.phase == "Failed"
    found = condition_of(status)
    assert (found.status, found.message) == ("False", told[1])
