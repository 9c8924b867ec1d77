"""What waits at Permit: nobody waits twice, and nothing waits for nobody."""

from __future__ import annotations

from koordpy.api.pod import Pod
from tests.builders import typed
from tests.scheduler.gangs.rig import GangRig, member_json, saying

NON_STRICT = saying(mode="NonStrict", wait="60s")


def waiting(*, slots: int = 2, minimum: int = 3) -> GangRig:
    """Gang `a` keeps what it got on `n1`."""
    rig = GangRig()
    rig.busy_node()
    rig.node("n1", cpu=slots)
    rig.gang("a", minimum, says=NON_STRICT)
    rig.members("a", minimum)
    rig.settle()
    assert rig.nodes_of("a") == ["n1"] * slots
    return rig


def delete(rig: GangRig, count: int = 3) -> None:
    for number in range(1, count + 1):
        rig.gone(f"a-{number}")


def test_the_time_of_a_gang_made_again_begins_anew():
    rig = waiting()
    began = rig.hand_clock.now
    delete(rig)
    rig.hand_clock.now += 50
    rig.members("a", 3)
    rig.settle()
    stay = rig.room.get("default/a")
    assert stay is not None
    assert stay.until >= began + 50 + 60


def test_a_gang_of_which_nobody_waits_any_more_does_not_time_out():
    rig = waiting()
    delete(rig)
    rig.hand_clock.now += 100
    assert rig.room.overdue() == []
    assert len(rig.room) == 0


def test_a_member_that_lost_its_place_and_got_another_is_released_once():
    rig = waiting()
    rig.no_node("n1")
    rig.node("n2", cpu=3)
    rig.settle()
    assert rig.nodes_of("a") == ["n2"] * 3
    assert len(rig.lanes.binds) == 3


def test_a_gang_that_waits_is_complete_when_its_minimum_is_lowered():
    rig = waiting()
    rig.gang("a", 2, says=NON_STRICT)
    rig.settle()
    assert len(rig.lanes.binds) == 2
    assert len(rig.room) == 0


def test_a_gang_that_became_strict_lets_go():
    rig = waiting()
    rig.gang("a", 3)
    rig.settle()
    assert rig.nodes_of("a") == []


def test_a_gang_that_lost_a_member_it_needs_lets_go():
    rig = waiting()
    rig.gone("a-3")
    rig.settle()
    assert rig.nodes_of("a") == []
    assert rig.message("a-1") == "gang default/a is incomplete: 2 of 3 members"


def test_members_that_had_to_let_go_are_told_why_they_are_pending_now():
    rig = waiting()
    rig.member("boss", cpu=2, priority=9)
    rig.settle()
    assert rig.where("boss") == "n1"
    assert rig.nodes_of("a") == []
    for name in ("a-1", "a-2", "a-3"):
        assert "gang default/a: 0 of 3 members fit" in rig.message(name)


def test_those_who_merely_wait_let_go_also_for_a_member_beyond_the_minimum_of_a_gang_that_runs():
    rig = waiting()
    rig.node("n2", cpu=1)
    rig.gang("boss", 1, says=saying(policy="waiting-and-running"))
    rig.member("boss-1", "boss", on="n2", priority=9)
    rig.member("boss-2", "boss", priority=9)
    rig.settle()
    assert rig.nodes_of("boss") == ["n2", "n1"]


def test_the_first_in_line_lets_go_for_one_that_could_run_if_it_cannot_itself_whoever_lets_go():
    """`c` has more of its minimum than `a`, and lacks a CPU on `n2`; `a` needs less than what `c` holds there."""
    rig = waiting(slots=1)
    rig.gang("c", 3, says=NON_STRICT)
    for number, cpu in enumerate((2, 1, 2), start=1):
        rig.member(f"c-{number}", "c", cpu=cpu, node_selector={"kubernetes.io/hostname": "n2"})
    rig.node("n2", cpu=5)
    rig.member("other", on="n2", scheduler="other")
    rig.node("n3", cpu=1)
    rig.queue.back_off("default/a")
    assert rig.attempt().key == "default/c"
    assert len([node for node in rig.nodes_of("c") if node]) == 2  # `a` could be completed beside that
    rig.no_node("n3")
    rig.settle()
    assert rig.nodes_of("a") == ["n1", "n2", "n2"]


def test_a_job_of_higher_priority_is_woken_by_room_that_suffices_with_what_others_hold():
    """`boss` needs five slots: four are held by a gang of lower priority, which cannot use the fifth."""
    rig = GangRig()
    rig.busy_node()
    rig.node("n1", cpu=5)
    rig.member("other", on="n1", scheduler="other")
    rig.node("n2", cpu=1)
    rig.member("old", on="n2")
    rig.gang("boss", 5)
    rig.members("boss", 5, priority=5)
    rig.settle()
    rig.gang("a", 5, says=NON_STRICT)
    rig.members("a", 5, node_selector={"kubernetes.io/hostname": "n1"})
    rig.settle()
    assert rig.nodes_of("a") == ["n1"] * 4
    rig.gone("old")
    rig.settle()
    assert rig.nodes_of("boss") == ["n1"] * 4 + ["n2"]


def test_a_large_pod_of_higher_priority_is_woken_by_half_of_the_room_it_needs():
    rig = GangRig()
    rig.busy_node()
    rig.node("n1", cpu=2)
    rig.member("old", on="n1")
    rig.member("boss", cpu=2, priority=5)
    rig.settle()
    rig.gang("a", 2, says=NON_STRICT)
    rig.members("a", 2)
    rig.settle()
    assert rig.nodes_of("a") == ["n1"]
    rig.gang("a", 3, says=NON_STRICT)  # so that it cannot start itself
    rig.member("a-3", "a")
    rig.gone("old")
    rig.settle()
    assert rig.where("boss") == "n1"


def test_members_do_not_go_on_waiting_when_their_gang_is_free():
    """It had started before, and counted only those that wait; now one that has started needs nobody any more."""
    rig = GangRig()
    rig.busy_node()
    rig.node("n1", cpu=4)
    rig.gang("a", 2, says=saying(mode="NonStrict", policy="only-waiting"))
    rig.members("a", 2, on="n1")
    rig.member("other", on="n1")
    rig.member("a-3", "a")
    rig.member("a-4", "a")
    rig.settle()
    assert rig.room.get("default/a") is not None
    rig.gone("a-4")
    rig.gang("a", 2, says=saying(mode="NonStrict", policy="once-satisfied"))
    rig.settle()
    assert len(rig.room) == 0
    assert [rig.where("a-3"), len(rig.lanes.binds)] == ["n1", 1]
    assert not rig.queue._tickets
    assert not rig.jobs._groups


def test_a_gang_that_waits_moves_its_members_if_it_is_complete_then():
    rig = GangRig()
    rig.busy_node()
    rig.node("n1", cpu=4)
    rig.node("n2", cpu=1)
    rig.pod("x1", cpu=1, on="n1")
    rig.pod("x2", cpu=1, on="n2")
    rig.gang("a", 3, says=NON_STRICT)
    for name, cpu in (("a-1", 2), ("a-2", 1), ("a-3", 2)):
        rig.member(name, "a", cpu=cpu)
    rig.settle()
    assert rig.nodes_of("a") == ["n1", "n1"]
    rig.gone("x1")
    rig.gone("x2")
    rig.settle()
    assert sorted(rig.nodes_of("a")) == ["n1", "n1", "n2"]


def test_a_gang_that_waits_with_a_large_member_takes_small_ones_instead_if_it_is_complete_then():
    rig = GangRig()
    rig.busy_node()
    rig.node("n1", cpu=3)
    rig.gang("a", 3, says=NON_STRICT)
    rig.member("a-1", "a", cpu=2)
    rig.member("a-2", "a", cpu=1)
    rig.member("a-3", "a", cpu=1)
    rig.settle()
    assert len(rig.nodes_of("a")) == 2
    rig.member("a-4", "a", cpu=1)
    rig.settle()
    assert len(rig.nodes_of("a")) == 3


def test_a_gang_has_the_priority_of_those_of_it_that_wait_already():
    """Its important member waits, and the other one, which is not, needs the room that gang `a` holds."""
    rig = GangRig()
    rig.busy_node()
    rig.node("n1", cpu=3)
    rig.pod("old", cpu=1, on="n1")
    rig.gang("a", 2, says=NON_STRICT)
    rig.member("a-1", "a", cpu=1)
    rig.member("a-2", "a", cpu=4)
    rig.gang("b", 2, says=NON_STRICT)
    rig.member("b-1", "b", cpu=1, priority=5)
    rig.settle()
    rig.member("b-2", "b", cpu=2)
    rig.settle()
    rig.gone("old")
    rig.settle()
    assert rig.nodes_of("b") == ["n1", "n1"]


def test_min_resources_count_what_gangs_of_lower_priority_merely_hold():
    rig = waiting()
    rig.gang("boss", 2, cpu="2")
    rig.members("boss", 2, priority=5)
    rig.settle()
    assert rig.nodes_of("boss") == ["n1", "n1"]


def test_room_that_a_waiting_member_cannot_use_any_more_is_free_for_others():
    rig = GangRig()
    rig.busy_node()
    rig.node("n1", cpu=2)
    rig.gang("a", 2, says=saying(mode="NonStrict"))
    rig.members("a", 2, cpu=2)
    rig.settle()
    assert rig.nodes_of("a") == ["n1"]
    rig.pod("foreign", cpu=1, on="n1", scheduler="other")
    rig.pod("s", cpu=1)
    rig.settle()
    assert rig.where("s") == "n1"


def test_a_member_that_waits_on_a_node_that_shrinks_gives_its_place_up():
    rig = GangRig()
    rig.busy_node()
    rig.node("n1", cpu=2)
    rig.gang("a", 2, says=saying(mode="NonStrict"))
    rig.members("a", 2, cpu=2)
    rig.settle()
    rig.node("n1", cpu=1)
    rig.settle()
    assert rig.nodes_of("a") == []


def test_the_first_in_line_is_completed_before_an_equal_that_holds_what_it_lacks():
    """`d` may take two of three CPUs, as `a` could be completed with the third; but a single pod gets that one."""
    rig = GangRig()
    rig.busy_node()
    rig.node("n1", cpu=1)
    rig.gang("d", 3, says=NON_STRICT)
    rig.members("d", 3, cpu=2)
    rig.settle()
    rig.hand_clock.now += 1
    rig.pod("s", cpu=1, node_selector={"kubernetes.io/hostname": "n2"})
    rig.settle()
    rig.hand_clock.now += 1
    rig.gang("a", 2, says=NON_STRICT)
    rig.members("a", 2)
    rig.settle()
    assert rig.nodes_of("a") == ["n1"]
    rig.hand_clock.now += 20
    rig.node("n2", cpu=3)
    rig.settle()
    assert (rig.where("s"), rig.nodes_of("a"), rig.nodes_of("d")) == ("n2", ["n1", "n2"], [])


def test_a_gang_that_lost_a_member_is_tried_for_that_and_still_woken_at_once_by_the_next_room():
    """Its own news come first: taken for room that others left, they would use up the one wake-up that is free."""
    rig = waiting()
    rig.gone("a-1")
    ticket = rig.queue._tickets["default/a"]
    assert ticket.state.value == "active"
    assert not ticket.early_wake_used


def test_a_member_that_waits_while_its_gang_is_gone_is_still_a_waiter():
    rig = GangRig()
    rig.busy_node()
    rig.node("n1", cpu=2)
    rig.node("n2", cpu=2)
    for number, cpu in ((1, 2), (2, 2), (3, 2)):
        rig.member(f"a-{number}", says=saying("a", 3, mode="NonStrict"), cpu=cpu)
    rig.settle()
    assert len(rig.room.members("default/a")) == 2
    for number in (2, 3):
        rig.gone(f"a-{number}")
    rig.cluster.upsert_pod(typed(member_json("a-1", cpu=2), Pod))  # it has left its gang, of which nobody is left
    assert rig.cluster.gangs.get("default/a") is None
    assert [waiter.priority for waiter in rig.permit.waiters("")] == [0]


def test_a_waiting_gang_whose_min_resources_are_not_covered_any_more_gives_way():
    rig = GangRig()
    rig.busy_node()
    rig.node("n1", cpu=4)
    rig.gang("a", 2, says=saying(mode="NonStrict"), cpu="4")
    rig.member("a-1", "a", cpu=2)
    rig.member("a-2", "a", cpu=3)
    rig.settle()
    assert rig.nodes_of("a") == ["n1"]
    rig.pod("other", on="n1", cpu=2)  # another scheduler put it there
    rig.settle()
    assert rig.nodes_of("a") == []


def test_a_gang_that_can_never_be_whole_any_more_lets_go():
    """It holds what n1 has, and hoped for the room that another node's pod would leave; that node goes."""
    rig = waiting(slots=2)
    assert len(rig.nodes_of("a")) == 2
    rig.no_node("busy")
    rig.member("p", says={})
    rig.settle()
    assert rig.nodes_of("a") == []
    assert rig.where("p") == "n1"
