"""Room that others left for a job is kept for it until it runs, by its nominations, and no longer than it is of use."""

from __future__ import annotations

from tests.scenarios.objects import gang, members
from tests.scenarios.world import World


async def preempting(world: World, *, priority: int = 1000) -> None:
    """`high` is promised n1, from where `low` is leaving."""
    await world.nodes(1, cpu=4)
    await world.runs("low", "n1", cpu=4)
    await world.urgent("high", cpu=4, priority=priority)
    await world.evicted("low")
    await world.nominated(high="n1")


async def test_pods_of_lower_and_of_equal_priority_do_not_take_it(world: World) -> None:
    await preempting(world)
    await world.pods("lower", cpu=1)
    await world.pods("equal", cpu=1, priority=1000)
    world.delays("bind", pod="high", seconds=0.5)
    await world.gone("low")
    await world.bound("high")
    await world.pending("lower", "equal")


async def test_room_that_is_freed_bit_by_bit_is_kept_for_a_gang(world: World) -> None:
    await world.nodes(2, cpu=2)
    await world.runs("low-1", "n1", cpu=2)
    await world.runs("low-2", "n2", cpu=2)
    await world.pod_group("a", minimum=2)
    await world.urgent("a-1", "a-2", gang="a", cpu=2)
    await world.evicted("low-1", "low-2")
    await world.pods("small-1", "small-2", cpu=1)
    await world.gone("low-1")
    await world.pending("small-1", "small-2")
    await world.gone("low-2")
    await world.bound("a-1", "a-2")


async def test_what_is_left_beside_it_may_be_taken(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.runs("low", "n1", cpu=3)
    await world.urgent("high", cpu=2)
    await world.evicted("low")
    await world.pods("small", cpu=1)
    await world.gone("low")
    await world.bound("high", "small")


async def test_a_pod_of_higher_priority_may_take_it_and_the_job_is_planned_again(world: World) -> None:
    await world.nodes(2, cpu=4)
    await world.runs("low", "n1", cpu=4, priority=1)
    await world.runs("other", "n2", cpu=4, priority=2)
    await world.urgent("high", cpu=4)
    await world.evicted("low")
    await world.stop()
    await world.urgent("highest", cpu=4, priority=5000, node_selector={"kubernetes.io/hostname": "n1"})
    await world.gone("low")
    await world.start()
    await world.bound("highest")
    await world.evicted("low", "other")
    await world.nominated(high="n2")
    await world.gone("other")
    await world.bound("high")


async def test_a_promise_is_given_back_when_a_higher_one_has_taken_some_of_the_room(world: World) -> None:
    """What is left of it is of no use to the job, and not kept from others."""
    await preempting(world)
    await world.stop()
    await world.urgent("highest", cpu=1, priority=5000)
    await world.pods("small", cpu=3)
    await world.gone("low")
    await world.start()
    await world.bound("highest", "small")
    await world.nominated(high="")


async def test_promises_of_lower_priority_are_taken_back_on_nodes_that_are_cleared(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.runs("low-1", "n1", cpu=2, priority=1)
    await world.runs("low-2", "n1", cpu=2, priority=2)
    await world.urgent("middle", cpu=2, priority=500)
    await world.evicted("low-1")
    await world.nominated(middle="n1")
    await world.urgent("high", cpu=4, priority=1000)
    await world.evicted("low-1", "low-2")
    await world.nominated(high="n1", middle="")
    await world.gone("low-1", "low-2")
    await world.bound("high")
    await world.pending("middle")


async def test_a_gang_of_higher_priority_that_needs_nothing_but_that_room_evicts_nobody_and_is_promised_it(
    world: World,
) -> None:
    await world.nodes(2, cpu=2)
    await world.runs("low", "n1", cpu=2)
    await world.runs("other", "n2", cpu=2)
    await world.urgent("middle", cpu=2, priority=500, node_selector={"kubernetes.io/hostname": "n1"})
    await world.evicted("low")
    await world.nominated(middle="n1")
    await world.pod_group("a", minimum=2)
    await world.urgent("a-1", "a-2", gang="a", cpu=1, priority=1000)
    await world.nominated(a_1="n1", a_2="n1", middle="")
    await world.evicted("low")
    await world.gone("low")
    await world.bound("a-1", "a-2")
    await world.pending("middle")


async def test_a_better_place_that_becomes_free_earlier_is_used(world: World) -> None:
    await preempting(world)
    await world.node("n2", cpu=4)
    await world.bound("high")
    assert world.node_names("high") == ["n2"]
    await world.pods("other", cpu=4)
    await world.gone("low")
    await world.bound("other")


async def test_a_gang_uses_a_better_place_as_well(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.runs("low", "n1", cpu=2)
    await world.pod_group("a", minimum=2)
    await world.urgent("a-1", "a-2", gang="a", cpu=1)
    await world.evicted("low")
    await world.node("n2", cpu=2)
    await world.bound("a-1", "a-2")
    await world.pods("other", cpu=2)
    await world.gone("low")
    await world.bound("other")


async def test_room_is_free_again_when_the_preemptor_is_deleted(world: World) -> None:
    await preempting(world)
    await world.pods("other", cpu=4)
    await world.delete("high")
    await world.gone("low")
    await world.bound("other")


async def test_room_is_free_again_when_a_member_is_deleted_and_the_gang_is_incomplete(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.runs("low", "n1", cpu=2)
    await world.pod_group("a", minimum=2)
    await world.urgent("a-1", "a-2", gang="a", cpu=1)
    await world.evicted("low")
    await world.pods("other", cpu=2)
    await world.delete("a-2")
    await world.says("a-1", "is incomplete: 1 of 2 members")
    await world.gone("low")
    await world.bound("other")
    await world.nominated(a_1="")


async def test_room_is_free_again_when_the_gang_cannot_use_it_any_more(world: World) -> None:
    """Its minimum is raised, and there is no room for so many."""
    await world.nodes(1, cpu=2)
    await world.runs("low", "n1", cpu=2)
    await world.pod_group("a", minimum=2)
    await world.urgent("a-1", "a-2", gang="a", cpu=1)
    await world.evicted("low")
    await world.urgent("a-3", gang="a", cpu=1)
    await world.change_pod_group("a", minMember=3)
    await world.pods("other", cpu=2)
    await world.gone("low")
    await world.bound("other")
    await world.nominated(a_1="", a_2="")


async def test_the_job_is_planned_again_when_its_node_goes(world: World) -> None:
    await world.nodes(2, cpu=4)
    await world.runs("low-1", "n1", cpu=4, priority=1)
    await world.runs("low-2", "n2", cpu=4, priority=2)
    await world.urgent("high", cpu=4)
    await world.evicted("low-1")
    await world.delete_node("n1")
    await world.evicted("low-1", "low-2")
    await world.nominated(high="n2")
    await world.gone("low-2")
    await world.bound("high")


async def test_the_job_is_planned_again_when_its_node_is_cordoned(world: World) -> None:
    await world.nodes(2, cpu=4)
    await world.runs("low-1", "n1", cpu=4, priority=1)
    await world.runs("low-2", "n2", cpu=4, priority=2)
    await world.urgent("high", cpu=4)
    await world.evicted("low-1")
    await world.change_node("n1", unschedulable=True)
    await world.gone("low-1")
    await world.evicted("low-1", "low-2")
    await world.gone("low-2")
    await world.bound("high")


async def test_a_member_that_was_promised_a_node_goes_there(world: World) -> None:
    """Also when a score would prefer another one that was freed by chance."""
    await world.nodes(2, cpu=4)
    await world.runs("low-1", "n1", cpu=4, priority=1)
    await world.runs("low-2", "n2", cpu=4, priority=2)
    await world.urgent("high", cpu=4)
    await world.evicted("low-1")
    await world.stop()
    await world.delete("low-2")
    await world.gone("low-1")
    await world.start()
    await world.bound("high")
    assert world.node_names("high") == ["n1"]


async def test_after_a_restart_the_promises_are_kept(world: World) -> None:
    await preempting(world)
    await world.restart()
    await world.pods("lower", cpu=1)
    await world.pods("equal", cpu=1, priority=1000)
    await world.evicted("low")
    await world.gone("low")
    await world.bound("high")
    await world.pending("lower", "equal")


async def test_after_a_restart_nobody_is_evicted_a_second_time(world: World) -> None:
    await world.nodes(3, cpu=2)
    for number in (1, 2, 3):
        await world.runs(f"low-{number}", f"n{number}", cpu=2, priority=number)
    await world.pod_group("a", minimum=2)
    await world.urgent("a-1", "a-2", gang="a", cpu=2)
    await world.evicted("low-1", "low-2")
    await world.gone("low-1")
    await world.restart()
    await world.pods("small", cpu=1)
    await world.evicted("low-1", "low-2")
    await world.gone("low-2")
    await world.bound("a-1", "a-2")
    await world.pending("small")


async def test_a_new_leader_keeps_the_promises_of_the_old_one(world: World) -> None:
    await world.lead()
    await preempting(world)
    await world.lose_lease()
    await world.pods("lower", cpu=1)
    await world.gone("low")
    await world.regain_lease()
    await world.bound("high")
    await world.pending("lower")


async def test_a_promise_that_somebody_else_took_back_meanwhile_is_not_kept(world: World) -> None:
    """Another leader decided otherwise while we were not leading."""
    await world.lead()
    await preempting(world)
    await world.lose_lease()
    await world.take_back("high")
    await world.gone("low")
    await world.pods("other", cpu=1, priority=5000)
    await world.regain_lease()
    await world.bound("other")
    await world.nominated(high="")


async def test_members_of_a_gang_that_collected_keep_their_places_over_a_restart(world: World) -> None:
    """One member waits at Permit while room is made for the other: after a restart nobody is evicted for the first."""
    await world.nodes(2, cpu=1)
    await world.runs("equal", "n1", cpu=1, priority=1000)
    await world.runs("low", "n2", cpu=1)
    await world.urgent(*members("a", 2), annotations=gang("a", minimum=2, mode="NonStrict"), cpu=1)
    await world.says("a-1", "would fit 1 of 2 members")
    await world.delete("equal")
    await world.evicted("low")
    await world.stop()
    await world.pods("small-1", "small-2", cpu=1)
    await world.gone("low")
    await world.start()
    await world.bound("a-1", "a-2")
    await world.evicted("low")
    await world.pending("small-1", "small-2")
