"""NonStrict gangs: they keep what they have, and must not keep each other from starting."""

from __future__ import annotations

import pytest

from tests.plan.constraints import taint
from tests.scenarios.objects import condition, gang, members
from tests.scenarios.world import World

NON_STRICT = gang(mode="NonStrict")


async def test_a_gang_keeps_the_room_it_found_and_binds_nobody_before_it_is_complete(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.busy_node()
    await world.pod_group("a", minimum=3, annotations=NON_STRICT)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.says("a-1", "gang {ns}/a: 2 of 3 members fit")
    await world.pods("other", cpu=1)
    await world.pending(*members("a", 3), "other")
    await world.node("n3", cpu=1)
    await world.bound(*members("a", 3))
    await world.pending("other")


async def test_members_that_wait_say_so_like_those_that_do_not_fit(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.busy_node()
    await world.pod_group("a", minimum=3, annotations=NON_STRICT)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    text = "0/3 nodes are available: 3 Insufficient cpu. gang {ns}/a: 2 of 3 members fit, "
    text += "{ns}/a-3 does not beside these 2."
    await world.all_say(text, *members("a", 3))
    for name in members("a", 3):
        await world.event("FailedScheduling", pod=name, text="2 of 3 members fit")
        assert condition(world.pod(name))["reason"] == "Unschedulable"


async def test_a_gang_collects_room_slot_by_slot(world: World) -> None:
    await world.nodes(3, cpu=1)
    for number in (1, 2, 3):
        await world.bind_elsewhere(f"other-{number}", f"n{number}", cpu=1)
    await world.pod_group("a", minimum=3, annotations=NON_STRICT)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.says("a-1", "0 of 3 members fit")
    await world.delete("other-1")
    await world.says("a-1", "1 of 3 members fit")
    await world.delete("other-2")
    await world.says("a-1", "2 of 3 members fit")
    await world.pending(*members("a", 3))
    await world.delete("other-3")
    await world.bound(*members("a", 3))


async def test_single_pods_that_come_later_do_not_starve_a_gang_that_collects(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pods("old-1", "old-2", cpu=1)
    await world.bound("old-1", "old-2")
    await world.pod_group("a", minimum=2, annotations=NON_STRICT)
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.says("a-1", "0 of 2 members fit")
    await world.delete("old-1")
    await world.says("a-1", "1 of 2 members fit")
    await world.another_second()
    await world.pods("new-1", "new-2", cpu=1)
    await world.pending("new-1", "new-2")
    await world.another_second()  # the gang's back-off is over
    await world.delete("old-2")
    await world.bound("a-1", "a-2")


async def test_three_gangs_of_five_on_ten_slots_two_run_and_one_holds_nothing(world: World) -> None:
    await world.nodes(2, cpu=5)
    for number in range(1, 6):
        for name in ("a", "b", "c"):
            await world.pods(f"{name}-{number}", annotations=gang(name, minimum=5, mode="NonStrict"), cpu=1)
    everyone = [member for name in ("a", "b", "c") for member in members(name, 5)]
    started = await world.some_bound(10, *everyone)
    assert len({name[0] for name in started}) == 2


async def test_two_gangs_that_both_almost_fit_do_not_block_each_other(world: World) -> None:
    await world.nodes(4, cpu=1)
    await world.stop()
    for name in ("a", "b"):
        await world.pods(*members(name, 3), annotations=gang(name, minimum=3, mode="NonStrict"), cpu=1)
    await world.start()
    started = await world.some_bound(3, *members("a", 3), *members("b", 3))
    assert len({name[0] for name in started}) == 1


async def test_room_that_comes_one_by_one_goes_to_the_most_complete_gang(world: World) -> None:
    """Two gangs of three: the first two slots are not divided between them, so the third completes one."""
    await world.nodes(6, cpu=1)
    for number in range(1, 7):
        await world.bind_elsewhere(f"other-{number}", f"n{number}", cpu=1)
    for name in ("a", "b"):
        await world.pods(*members(name, 3), annotations=gang(name, minimum=3, mode="NonStrict"), cpu=1)
    everyone = [*members("a", 3), *members("b", 3)]
    for number in (1, 2):
        await world.delete(f"other-{number}")
    await world.pending(*everyone)
    await world.delete("other-3")
    started = await world.some_bound(3, *everyone)
    assert len({name[0] for name in started}) == 1
    for number in (4, 5):
        await world.delete(f"other-{number}")
    await world.some_bound(3, *everyone)
    await world.delete("other-6")
    await world.bound(*everyone)


async def test_a_gang_does_not_take_what_a_more_complete_one_needs(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.bind_elsewhere("other", "n3", cpu=1)
    await world.pods(*members("a", 3), annotations=gang("a", minimum=3, mode="NonStrict"), cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    await world.another_second()
    await world.pods(*members("b", 2), annotations=gang("b", minimum=2, mode="NonStrict"), cpu=1)
    await world.says("b-1", "gang {ns}/b")
    await world.delete("other")
    await world.bound(*members("a", 3))
    await world.pending(*members("b", 2))


async def test_a_gang_does_not_take_the_last_slot_from_one_that_it_would_complete(world: World) -> None:
    """Gang b failed first and so is asked first; but the slot that is freed completes a, which has waited for it."""
    await world.nodes(2, cpu=1)
    await world.node("x1", cpu=1, labels={"zone": "x"})
    await world.bind_elsewhere("other", "x1", cpu=1)
    await world.pods("b-1", annotations=gang("b", minimum=1), cpu=1, node_selector={"zone": "x"})
    await world.says("b-1", "Insufficient cpu")
    await world.another_second()
    await world.pods(*members("a", 3), annotations=gang("a", minimum=3, mode="NonStrict"), cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    await world.delete("other")
    await world.bound(*members("a", 3))
    await world.pending("b-1")


async def test_a_gang_that_is_complete_may_start_although_another_waits(world: World) -> None:
    await world.node("x1", cpu=1, labels={"zone": "x"})
    await world.pods(
        "a-1", "a-2", annotations=gang("a", minimum=2, mode="NonStrict"), cpu=1, node_selector={"zone": "x"}
    )
    await world.says("a-1", "1 of 2 members fit")
    await world.nodes(2, cpu=1)
    await world.pods("b-1", "b-2", annotations=gang("b", minimum=2, mode="NonStrict"), cpu=1)
    await world.bound("b-1", "b-2")
    await world.pending("a-1", "a-2")


@pytest.mark.parametrize("kind", ["pod", "gang"])
async def test_a_waiting_gang_makes_way_for_a_job_of_higher_priority(world: World, kind: str) -> None:
    await world.nodes(2, cpu=1)
    await world.pods(*members("a", 3), annotations=gang("a", minimum=3, mode="NonStrict"), cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    belongs = gang("b", minimum=2) if kind == "gang" else {}
    await world.pods("b-1", "b-2", annotations=belongs, cpu=1, priority=1000)
    await world.bound("b-1", "b-2")
    await world.pending(*members("a", 3))


async def test_a_waiting_gang_keeps_its_room_when_giving_it_up_would_help_nobody(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.busy_node()
    await world.pods(*members("a", 3), annotations=gang("a", minimum=3, mode="NonStrict"), cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    await world.pods("other", cpu=1)
    await world.says("other", "Insufficient cpu")
    await world.another_second()
    await world.pods("a-4", annotations=gang("a", minimum=3, mode="NonStrict"), cpu=1)
    await world.says("a-4", "2 of 3 members fit")  # and from here on the other pod would be asked before the gang
    await world.pods("huge", cpu=2, priority=1000)
    await world.says("huge", "Insufficient cpu")
    await world.pending(*members("a", 3), "other", "huge")


async def test_a_waiting_gang_does_not_make_way_for_a_job_of_its_own_priority(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.busy_node()
    await world.pods(*members("a", 3), annotations=gang("a", minimum=3, mode="NonStrict"), cpu=1, priority=1000)
    await world.says("a-1", "2 of 3 members fit")
    await world.pods("b-1", "b-2", annotations=gang("b", minimum=2), cpu=1, priority=1000)
    await world.pending(*members("a", 3), "b-1", "b-2")


async def test_a_gang_that_made_way_starts_when_there_is_room_for_all(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pods("a-1", "a-2", "a-3", annotations=gang("a", minimum=3, mode="NonStrict"), cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    await world.pods("urgent", cpu=1, priority=1000)
    await world.bound("urgent")
    await world.node("n3", cpu=1)
    await world.pending("a-1", "a-2", "a-3")
    await world.delete("urgent")
    await world.bound("a-1", "a-2", "a-3")


async def test_a_gang_too_far_from_complete_holds_nothing_if_so_configured(world: World) -> None:
    await world.restart(nonStrictMaxGapPercent=10)
    await world.nodes(2, cpu=1)
    await world.pods(*members("a", 3), annotations=gang("a", minimum=3, mode="NonStrict"), cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    await world.pods("others-1", "others-2", cpu=1)
    await world.bound("others-1", "others-2")


async def test_a_gang_within_the_configured_gap_keeps_what_it_has(world: World) -> None:
    await world.restart(nonStrictMaxGapPercent=40)
    await world.nodes(2, cpu=1)
    await world.busy_node()
    await world.pods(*members("a", 3), annotations=gang("a", minimum=3, mode="NonStrict"), cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    await world.pods("other", cpu=1)
    await world.pending("other", *members("a", 3))


async def test_a_member_that_is_deleted_while_it_waits_leaves_its_room_to_another(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pods(*members("a", 4), annotations=gang("a", minimum=3, mode="NonStrict"), cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    await world.delete("a-1")
    await world.pending("a-2", "a-3", "a-4")
    await world.node("n3", cpu=1)
    await world.bound("a-2", "a-3", "a-4")


async def test_a_gang_that_loses_a_member_it_needs_holds_nothing(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pods(*members("a", 3), annotations=gang("a", minimum=3, mode="NonStrict"), cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    await world.delete("a-3")
    await world.says("a-1", "gang {ns}/a is incomplete: 2 of 3 members")
    await world.pods("others-1", "others-2", cpu=1)
    await world.bound("others-1", "others-2")


async def test_a_group_waits_as_one(world: World) -> None:
    """Gang a could start by itself; it keeps its room and waits for b."""
    await world.nodes(3, cpu=1)
    await world.busy_node()
    both = world.group("a", "b")
    await world.pods("a-1", "a-2", annotations=gang("a", minimum=2, mode="NonStrict", groups=both), cpu=1)
    await world.pods("b-1", "b-2", annotations=gang("b", minimum=2, mode="NonStrict", groups=both), cpu=1)
    await world.says("a-1", "Insufficient cpu")
    await world.pods("other", cpu=1)
    await world.pending("a-1", "a-2", "b-1", "b-2", "other")
    await world.node("n4", cpu=1)
    await world.bound("a-1", "a-2", "b-1", "b-2")


async def test_a_strict_gang_gets_no_room_that_a_waiting_one_holds(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.busy_node()
    await world.pods(*members("a", 4), annotations=gang("a", minimum=4, mode="NonStrict"), cpu=1)
    await world.says("a-1", "3 of 4 members fit")
    await world.pods("b-1", annotations=gang("b", minimum=1), cpu=1)
    await world.pending(*members("a", 4), "b-1")


async def test_members_that_wait_follow_when_somebody_else_binds_the_rest(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pods(*members("w", 3), annotations=gang("w", minimum=3, mode="NonStrict"), cpu=1)
    await world.says("w-1", "2 of 3 members fit")
    await world.node("n3", cpu=1, taints=[taint("dedicated")])
    await world.bind("w-3", "n3")
    await world.bound(*members("w", 3))
