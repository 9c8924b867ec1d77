"""What the status of a PodGroup says about its members: every rule, in the shorthand of `gangs.py`."""

import pytest

from koordpy.api.times import instant_of_seconds
from tests.controllers.podgroup.gangs import NOTHING, group, member, members, saying, status, status_of


def phase_of(letters: str, minimum: int, previous=NOTHING) -> str:
    return status_of(members(letters), group(minimum), previous).phase


@pytest.mark.parametrize(
    ("letters", "minimum", "phase"),
    [
        # no members, or too few
        ("", 4, "Pending"),
        ("ppp", 4, "Pending"),
        ("gggg", 4, "Pending"),
        ("pppg", 4, "Pending"),
        # enough, and none has a node
        ("pppp", 4, "PreScheduling"),
        ("pppppp", 4, "PreScheduling"),
        # some have a node
        ("bppp", 4, "Scheduling"),
        ("bbbp", 4, "Scheduling"),
        ("rrrp", 4, "Scheduling"),
        ("ssrp", 4, "Scheduling"),
        # enough have a node
        ("bbbb", 4, "Scheduled"),
        ("bbbbp", 4, "Scheduled"),
        ("rrrb", 4, "Scheduled"),
        ("sssb", 4, "Scheduled"),
        # enough run or have succeeded
        ("rrrr", 4, "Running"),
        ("rrrrbp", 4, "Running"),
        ("sssr", 4, "Running"),
        # enough have succeeded
        ("ssss", 4, "Finished"),
        ("sssss", 4, "Finished"),
    ],
)
def test_the_phase_says_how_far_the_gang_has_come(letters, minimum, phase):
    assert phase_of(letters, minimum) == phase


@pytest.mark.parametrize(
    ("letters", "phase"),
    [
        ("rrrp", "Scheduling"),  # one was deleted, and its replacement has no node yet
        ("rrr", "Scheduling"),  # there is no replacement yet: they run, so Pending would say too little
    ],
)
def test_a_gang_that_lost_a_member_is_being_scheduled_again(letters, phase):
    assert phase_of(letters, 4, status("Running", running=4, scheduled=4)) == phase


@pytest.mark.parametrize(("letters", "phase"), [("ssrrrrrr", "Running"), ("ssb", "Running"), ("sssss", "Finished")])
def test_an_elastic_gang_is_finished_when_the_last_of_its_members_has_left_its_node(letters, phase):
    assert phase_of(letters, 2) == phase


def test_a_surplus_member_that_never_got_a_node_does_not_keep_a_gang_from_being_finished():
    assert phase_of("ssssp", 4) == "Finished"


@pytest.mark.parametrize(
    ("letters", "phase"),
    [
        ("rrrf", "Failed"),
        ("sssf", "Failed"),
        ("ffff", "Failed"),
        ("ssff", "Failed"),
        ("rrrrf", "Running"),  # of a surplus
        ("rrrsf", "Running"),
        ("ssssf", "Finished"),
        ("rrrfp", "Scheduling"),  # the replacement is there
        ("rrrfb", "Scheduled"),
        ("rrrfr", "Running"),
        ("fbbb", "Scheduling"),  # the others have not started yet
        ("f", "Scheduling"),  # the gang was never complete
    ],
)
def test_a_gang_has_failed_only_when_the_members_that_are_left_are_too_few(letters, phase):
    assert phase_of(letters, 4) == phase


@pytest.mark.parametrize(
    ("letters", "phase"),
    [("", "Pending"), ("p", "Pending"), ("bp", "Scheduled"), ("rb", "Running"), ("s", "Finished"), ("f", "Failed")],
)
def test_with_a_minimum_of_0_each_member_stands_for_itself(letters, phase):
    assert phase_of(letters, 0) == phase


@pytest.mark.parametrize("letter", ["B", "R", "S", "F", "P"])
def test_a_pod_that_is_being_deleted_counts_for_nothing(letter):
    assert status_of(members(f"rrr{letter}"), group(4), NOTHING) == status_of(members("rrr"), group(4), NOTHING)


def test_the_counts_are_those_of_the_pods():
    found = status_of(members("pbbrrrssf"), group(4), NOTHING)
    assert (found.scheduled, found.running, found.succeeded, found.failed) == (8, 3, 2, 1)


def test_a_member_that_ended_without_ever_having_a_node_was_not_scheduled():
    found = status_of([member("f", bound_at=None)], group(1), NOTHING)
    assert (found.scheduled, found.failed) == (0, 1)


# --- the minimum ---


def test_the_annotation_of_a_member_counts_more_than_the_podgroups():
    gang = members("pp", declaration=saying(2))
    assert status_of(gang, group(4, min_available="3"), NOTHING).phase == "PreScheduling"


def test_the_annotation_of_a_podgroup_counts_more_than_its_spec():
    assert status_of(members("ppp"), group(4, min_available="3"), NOTHING).phase == "PreScheduling"


def test_of_the_members_that_have_the_annotation_the_oldest_counts():
    gang = [member("p", 0), member("p", 2, declaration=saying(9)), member("p", 1, declaration=saying(3))]
    assert status_of(gang, group(4), NOTHING).phase == "PreScheduling"


# --- Finished and Failed stay ---

FINISHED = status("Finished", succeeded=4, scheduled=4, occupied_by="default/job")
FAILED = status("Failed", succeeded=1, failed=3, scheduled=4)


@pytest.mark.parametrize("letters", ["", "s", "sss", "SSSS", "S", "g"])
def test_finished_stays_when_its_pods_are_cleaned_up(letters):
    assert status_of(members(letters), group(4), FINISHED) == FINISHED


def test_those_of_a_finished_gang_that_are_cleaned_up_first_stay_counted():
    assert status_of(members("sss"), group(2), FINISHED) == FINISHED


@pytest.mark.parametrize("letters", ["", "f", "sf", "FFFS"])
def test_failed_stays_when_its_pods_are_cleaned_up(letters):
    assert status_of(members(letters), group(4), FAILED) == FAILED


def test_a_surplus_member_that_is_left_behind_without_a_node_does_not_begin_the_gang_anew():
    assert phase_of("p", 4, FINISHED) == "Finished"


@pytest.mark.parametrize("previous", [FINISHED, FAILED])
@pytest.mark.parametrize(("letters", "phase"), [("pppp", "PreScheduling"), ("rrrr", "Running"), ("bbpp", "Scheduling")])
def test_enough_new_members_begin_the_gang_anew(previous, letters, phase):
    assert phase_of(letters, 4, previous) == phase


@pytest.mark.parametrize("previous", [FINISHED, FAILED])
def test_too_few_new_members_do_not_begin_the_gang_anew(previous):
    assert phase_of("ppp", 4, previous) == previous.phase


def test_a_member_of_a_finished_gang_that_gets_a_node_is_running():
    assert phase_of("ssssr", 4, FINISHED) == "Running"


def test_a_replacement_takes_a_gang_out_of_failed():
    failed = status_of(members("rrrf"), group(4), NOTHING)
    assert failed.phase == "Failed"
    assert phase_of("rrrfp", 4, failed) == "Scheduling"


def test_a_failed_gang_whose_failed_pod_is_deleted_stays_failed_and_says_how_many_still_run():
    failed = status_of(members("rrrf"), group(4), NOTHING)
    after = status_of(members("rr"), group(4), failed)
    assert (after.phase, after.running, after.failed) == ("Failed", 2, 1)


def test_more_members_that_end_are_still_counted():
    after = status_of(members("sssss"), group(4), FINISHED)
    assert (after.phase, after.succeeded) == ("Finished", 5)


@pytest.mark.parametrize("letters", ["pppp", "rrrr", ""])
def test_phases_that_are_not_final_do_not_stay(letters):
    assert phase_of(letters, 4, status("Scheduled")) == phase_of(letters, 4)


# --- the rest ---


def test_it_is_occupied_by_the_owners_of_the_oldest_member_that_has_any():
    gang = [member("p", 0), member("p", 2, owners="default/younger"), member("p", 1, owners="default/a,default/b")]
    assert status_of(gang, group(), NOTHING).occupied_by == "default/a,default/b"


def test_it_stays_occupied_when_no_member_has_owners():
    assert status_of(members("p"), group(), status("Pending", occupied_by="default/job")).occupied_by == "default/job"


def test_scheduling_starts_when_the_first_member_gets_its_node():
    gang = [member("b", bound_at=70.0), member("b", bound_at=60.5), member("p")]
    assert status_of(gang, group(), NOTHING).schedule_start_time == "1970-01-01T00:01:00Z"


def test_the_start_is_never_moved_later():
    before = status("Running", schedule_start_time=instant_of_seconds(60.0))
    assert status_of(members("bbbb", bound_at=99.0), group(), before).schedule_start_time == "1970-01-01T00:01:00Z"
    assert status_of([], group(), before).schedule_start_time == "1970-01-01T00:01:00Z"


@pytest.mark.parametrize("before", ["1970-01-01T00:02:00Z", "soon"])
def test_the_start_is_mended_when_the_pods_say_that_it_was_earlier(before):
    found = status_of(members("b", bound_at=60.0), group(), status("Scheduling", schedule_start_time=before))
    assert found.schedule_start_time == "1970-01-01T00:01:00Z"


def test_a_start_in_another_spelling_is_left_as_it_is():
    before = status("Scheduling", schedule_start_time="1970-01-01T02:01:00.000+02:00")
    assert status_of(members("b", bound_at=60.0), group(), before).schedule_start_time == before.schedule_start_time


def test_nothing_starts_without_a_node():
    assert status_of(members("pppp"), group(), NOTHING).schedule_start_time is None


@pytest.mark.parametrize("letters", ["", "pppp", "bbpp", "rrrr", "ssss", "rrrf", "rrrrf"])
def test_what_was_written_needs_no_further_write(letters):
    once = status_of(members(letters), group(), NOTHING)
    assert status_of(members(letters), group(), once) == once


def test_a_member_that_has_finished_does_not_say_the_minimum_of_those_that_live():
    """As for the scheduler: the oldest declared 1 and has succeeded, the others declare 3."""
    gang = [member("s", 0, declaration=saying(1)), *(member("p", n, declaration=saying(3)) for n in (1, 2))]
    assert status_of(gang, group(3), NOTHING).phase == "Scheduling"  # and not Finished


def test_once_all_have_finished_the_minimum_is_what_it_was():
    gang = [member("s", number, declaration=saying(2)) for number in range(2)]
    assert status_of(gang, group(4), NOTHING).phase == "Finished"
