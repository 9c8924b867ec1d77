"""Whole jobs make room as a whole, or touch nobody; and jobs, not pods, are what victims are chosen by."""

from __future__ import annotations

import pytest

from tests.plan.constraints import HOSTNAME, affinity, pod_term, selector
from tests.scenarios.objects import condition, gang, members
from tests.scenarios.world import World

WHOLE = {"koordpy.io/disruption-mode": "All"}
JOB_KEY = "scheduling.koordinator.sh/questioned-object-key"


# --- the job that wants in ---


async def test_members_see_each_other(world: World) -> None:
    """Koordinator's worked example: two nodes of 4 CPUs, two workers of 3, a victim on each node."""
    await world.nodes(2, cpu=4)
    await world.runs("low-1", "n1", cpu=3)
    await world.runs("low-2", "n2", cpu=3)
    await world.pod_group("a", minimum=2)
    await world.urgent("a-1", "a-2", gang="a", cpu=3)
    await world.evicted("low-1", "low-2")
    assert sorted(map(world.nominated_node, ("a-1", "a-2"))) == ["n1", "n2"]
    await world.gone("low-1", "low-2")
    await world.bound("a-1", "a-2")


async def test_nobody_leaves_for_a_gang_that_would_not_fit_as_a_whole(world: World) -> None:
    await world.nodes(2, cpu=4)
    await world.runs("low", "n1", cpu=4)
    await world.runs("equal", "n2", cpu=4, priority=1000)
    await world.pod_group("a", minimum=2)
    await world.urgent("a-1", "a-2", gang="a", cpu=4)
    text = "preemption: would fit 1 of 2 members even with everything of lower priority gone"
    await world.all_say(text, "a-1", "a-2")
    await world.nobody_evicted()


async def test_a_gang_waits_until_the_last_victim_is_gone(world: World) -> None:
    await world.nodes(2, cpu=2)
    await world.runs("low-1", "n1", cpu=2)
    await world.runs("low-2", "n2", cpu=2)
    await world.pod_group("a", minimum=2)
    await world.urgent("a-1", "a-2", gang="a", cpu=2)
    await world.evicted("low-1", "low-2")
    await world.gone("low-1")
    await world.pending("a-1", "a-2")
    await world.gone("low-2")
    await world.bound("a-1", "a-2")


async def test_every_member_says_how_many_leave_how_many_nodes(world: World) -> None:
    await world.nodes(2, cpu=2)
    for number, node in enumerate(("n1", "n1", "n2", "n2"), start=1):
        await world.runs(f"low-{number}", node, cpu=1)
    await world.pod_group("a", minimum=2)
    await world.urgent("a-1", "a-2", gang="a", cpu=2)
    text = "preemption: found a potential placement for all members, preempting 4 victims on 2 nodes"
    for name in ("a-1", "a-2"):
        await world.event("FailedScheduling", pod=name, text=text)
    await world.event("FailedScheduling", pod_group="a", text=text)


async def test_victims_name_the_gang_and_the_pod_that_asked(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.runs("low", "n1", cpu=2)
    await world.pod_group("a", minimum=2)
    await world.urgent("a-1", "a-2", gang="a", cpu=1)
    await world.evicted("low")
    assert "preemptor: {ns}/a, triggerpod: {ns}/a-".replace("{ns}", world.namespace) in world.victim_says("low")
    await world.event("Preempted", pod="low", text="gang {ns}/a")


async def test_gangs_of_one_group_make_room_together(world: World) -> None:
    await world.nodes(2, cpu=2)
    await world.runs("low-1", "n1", cpu=2)
    await world.runs("low-2", "n2", cpu=2)
    both = world.group("a", "b")
    await world.urgent("a-1", annotations=gang("a", minimum=1, groups=both), cpu=2)
    await world.urgent("b-1", annotations=gang("b", minimum=1, groups=both), cpu=2)
    await world.evicted("low-1", "low-2")
    await world.gone("low-1", "low-2")
    await world.bound("a-1", "b-1")


async def test_nobody_leaves_for_a_gang_whose_partner_would_not_fit(world: World) -> None:
    await world.nodes(2, cpu=2)
    await world.runs("low", "n1", cpu=2)
    await world.runs("equal", "n2", cpu=2, priority=1000)
    both = world.group("a", "b")
    await world.urgent("a-1", annotations=gang("a", minimum=1, groups=both), cpu=2)
    await world.urgent("b-1", annotations=gang("b", minimum=1, groups=both), cpu=2)
    await world.says("a-1", "even with everything of lower priority gone")
    await world.nobody_evicted()


async def test_nobody_leaves_for_a_gang_that_is_incomplete(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.runs("low", "n1", cpu=2)
    await world.pod_group("a", minimum=2)
    await world.urgent("a-1", gang="a", cpu=1)
    await world.says("a-1", "gang {ns}/a is incomplete: 1 of 2 members")
    await world.nobody_evicted()
    await world.urgent("a-2", gang="a", cpu=1)
    await world.evicted("low")


async def test_one_member_that_must_not_preempt_is_enough(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.runs("low", "n1", cpu=2)
    await world.pod_group("a", minimum=2)
    await world.urgent("a-1", gang="a", cpu=1)
    await world.pods("a-2", gang="a", cpu=1, priority=1000)
    await world.all_say("preemption: not eligible due to preemptionPolicy=Never.", "a-1", "a-2")
    await world.nobody_evicted()


async def test_victims_are_below_the_lowest_member(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.runs("five", "n1", cpu=1, priority=5)
    await world.runs("one", "n2", cpu=1, priority=1)
    await world.pod_group("a", minimum=2)
    await world.urgent("a-1", gang="a", cpu=1, priority=10)
    await world.urgent("a-2", gang="a", cpu=1, priority=3)
    await world.says("a-1", "would fit 1 of 2 members even with everything of lower priority gone")
    await world.nobody_evicted()


async def test_room_is_made_for_the_minimum_and_not_for_more(world: World) -> None:
    await world.nodes(3, cpu=1)
    for number in (1, 2, 3):
        await world.runs(f"low-{number}", f"n{number}", cpu=1)
    await world.pod_group("a", minimum=2)
    await world.stop()
    await world.urgent(*members("a", 3), gang="a", cpu=1)
    await world.start()
    first = await world.evicted_some(2, "low-1", "low-2", "low-3")
    await world.gone(*first)
    await world.until(lambda: sum(map(bool, world.node_names(*members("a", 3)))) == 2, "the gang runs")


@pytest.mark.parametrize("policy", ["once-satisfied", "waiting-and-running"])
async def test_a_member_that_was_left_over_makes_room_for_itself_once_the_gang_runs(world: World, policy: str) -> None:
    await world.nodes(2, cpu=1)
    for number in (1, 2):
        await world.runs(f"low-{number}", f"n{number}", cpu=1)
    await world.pod_group("a", minimum=1, annotations=gang(policy=policy))
    await world.stop()
    await world.urgent("a-1", "a-2", gang="a", cpu=1)
    await world.start()
    (first,) = await world.evicted_some(1, "low-1", "low-2")
    await world.gone(first)
    await world.until(lambda: len(world.observer.evictions.names) == 2, "the second makes room for itself")
    (second,) = {"low-1", "low-2"} - {first}
    await world.gone(second)
    await world.bound("a-1", "a-2")


async def test_free_room_is_used_before_anybody_leaves(world: World) -> None:
    await world.nodes(2, cpu=2)
    await world.runs("low-1", "n1", cpu=2)
    await world.runs("low-2", "n2", cpu=1)
    await world.pod_group("a", minimum=2)
    await world.urgent("a-1", "a-2", gang="a", cpu=1)
    await world.evicted_some(1, "low-1", "low-2")


async def test_a_gang_with_minimum_resources_makes_room_for_them(world: World) -> None:
    await world.nodes(2, cpu=2)
    await world.runs("low-1", "n1", cpu=2)
    await world.runs("low-2", "n2", cpu=2)
    await world.pod_group("a", minimum=2, resources={"cpu": "4"})
    await world.urgent("a-1", "a-2", gang="a", cpu=2)
    await world.evicted("low-1", "low-2")
    await world.gone("low-1")
    await world.pending("a-1", "a-2")
    assert all(map(world.nominated_node, ("a-1", "a-2")))
    await world.gone("low-2")
    await world.bound("a-1", "a-2")


async def test_nobody_leaves_for_minimum_resources_that_could_not_be_freed(world: World) -> None:
    await world.nodes(2, cpu=2)
    await world.runs("low", "n1", cpu=2)
    await world.runs("equal", "n2", cpu=2, priority=1000)
    await world.pod_group("a", minimum=1, resources={"cpu": "4"})
    await world.urgent("a-1", gang="a", cpu=2)
    await world.says(
        "a-1", "gang {ns}/a: minResources asks for cpu 4, and 0 are free, or 2 without everything of lower priority"
    )
    await world.nobody_evicted()


async def test_members_that_keep_apart_make_room_on_a_node_each(world: World) -> None:
    await world.nodes(2, cpu=4)
    await world.runs("low-1", "n1", cpu=4)
    await world.runs("low-2", "n2", cpu=4)
    await world.pod_group("a", minimum=2)
    apart = affinity(apart=[pod_term(HOSTNAME, selector(app="a"))])
    await world.urgent("a-1", "a-2", gang="a", cpu=1, labels={"app": "a"}, affinity=apart)
    await world.evicted("low-1", "low-2")
    await world.gone("low-1", "low-2")
    await world.bound("a-1", "a-2")


async def test_a_gang_of_many_sizes_finds_room(world: World) -> None:
    await world.nodes(2, cpu=4)
    for node in ("n1", "n2"):
        await world.runs(f"on-{node}", node, cpu=4)
    await world.pod_group("a", minimum=3)
    await world.stop()
    await world.urgent("a-1", "a-2", gang="a", cpu=2)
    await world.urgent("a-3", gang="a", cpu=4)
    await world.start()
    await world.evicted("on-n1", "on-n2")
    await world.gone("on-n1", "on-n2")
    await world.bound(*members("a", 3))


async def test_a_big_gang_takes_a_cluster_over(world: World) -> None:
    await world.nodes(10, cpu=2)
    low = []
    for number in range(1, 11):
        low += [f"low-{number}-a", f"low-{number}-b"]
        await world.pods(f"low-{number}-a", f"low-{number}-b", cpu=1)
    await world.bound(*low)
    await world.pod_group("a", minimum=10)
    await world.urgent(*members("a", 10), gang="a", cpu=2)
    await world.evicted(*low)
    await world.gone(*low)
    await world.bound(*members("a", 10))


async def test_a_gang_that_collects_makes_room_for_the_rest(world: World) -> None:
    """What it has placed already stays its own."""
    await world.nodes(2, cpu=1)
    await world.runs("equal", "n1", cpu=1, priority=1000)
    await world.runs("low", "n2", cpu=1)
    await world.urgent(*members("a", 2), annotations=gang("a", minimum=2, mode="NonStrict"), cpu=1)
    await world.says("a-1", "would fit 1 of 2 members")
    await world.delete("equal")
    await world.evicted("low")
    await world.pods("other", cpu=1)
    await world.pending("other")
    await world.gone("low")
    await world.bound("a-1", "a-2")
    await world.pending("other")


# --- the jobs that lose ---


async def test_members_beyond_the_minimum_leave_first(world: World) -> None:
    await world.nodes(4, cpu=1)
    await world.pod_group("g", minimum=2)
    await world.stop()
    for number in (1, 2, 3):
        await world.pods(f"g-{number}", gang="g", cpu=1, node_selector={HOSTNAME: f"n{number}"})
    await world.start()
    await world.bound(*members("g", 3))
    for number in (1, 2, 3):
        await world.started_at(f"g-{number}", 1)
    await world.runs("single", "n4", cpu=1, minute=50)
    await world.settled()
    await world.urgent("high", cpu=1)
    await world.evicted_some(1, *members("g", 3))


async def test_a_gang_is_broken_once_and_the_next_victims_are_of_it_too(world: World) -> None:
    await world.nodes(4, cpu=1)
    await world.stop()
    for number, name in enumerate(("g-1", "h-1", "g-2", "h-2"), start=1):
        said = gang(name[0], minimum=2)
        await world.pods(name, annotations=said, cpu=1, node_selector={HOSTNAME: f"n{number}"})
    await world.start()
    await world.bound("g-1", "g-2", "h-1", "h-2")
    await world.pod_group("a", minimum=2)
    await world.urgent("a-1", "a-2", gang="a", cpu=1)
    victims = await world.evicted_some(2, "g-1", "g-2", "h-1", "h-2")
    assert victims in (["g-1", "g-2"], ["h-1", "h-2"])


async def test_pods_with_the_same_questioned_object_key_are_one_job(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.runs("a", "n1", cpu=1, labels={JOB_KEY: "job"}, minute=1)
    await world.runs("b", "n2", cpu=1, minute=50)
    await world.runs("c", "n3", cpu=1, labels={JOB_KEY: "job"}, minute=1)
    await world.settled()
    await world.pod_group("x", minimum=2)
    await world.urgent("x-1", "x-2", gang="x", cpu=1)
    await world.evicted("a", "c")


async def test_a_gang_that_wants_to_go_as_a_whole_does(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pod_group("g", minimum=1, annotations=WHOLE)
    await world.pods("g-1", "g-2", gang="g", cpu=1)
    await world.bound("g-1", "g-2")
    await world.urgent("high", cpu=1)
    await world.evicted("g-1", "g-2")
    await world.gone("g-1", "g-2")
    await world.bound("high")


async def test_a_gang_that_would_go_as_a_whole_is_dear(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.pod_group("g", minimum=1, annotations=WHOLE)
    await world.stop()
    for number in (1, 2):
        await world.pods(f"g-{number}", gang="g", cpu=1, node_selector={HOSTNAME: f"n{number}"})
    await world.start()
    await world.bound("g-1", "g-2")
    await world.runs("single", "n3", cpu=1)
    await world.urgent("high", cpu=1)
    await world.evicted("single")


async def test_a_gang_that_goes_as_a_whole_stays_when_one_of_it_may_not_go(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pod_group("g", minimum=1, annotations=WHOLE)
    await world.pods("g-1", gang="g", cpu=1)
    await world.pods("g-2", gang="g", cpu=1, labels={"scheduling.koordinator.sh/disable-preemptible": "true"})
    await world.bound("g-1", "g-2")
    await world.urgent("high", cpu=1)
    await world.says("high", "preemption: ")
    await world.nobody_evicted()


async def test_a_gang_that_no_longer_insists_on_going_as_a_whole_can_be_reduced(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pod_group("g", minimum=1, annotations=WHOLE)
    await world.pods("g-1", gang="g", cpu=1)
    await world.pods("g-2", gang="g", cpu=1, labels={"scheduling.koordinator.sh/disable-preemptible": "true"})
    await world.bound("g-1", "g-2")
    await world.urgent("high", cpu=1)
    await world.says("high", "preemption: ")
    await world.change_pod_group("g", annotations={"koordpy.io/disruption-mode": None})
    await world.evicted("g-1")


async def test_a_budget_over_two_nodes_is_asked_once(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.runs("db-1", "n1", cpu=1, labels={"app": "db"})
    await world.runs("db-2", "n2", cpu=1, labels={"app": "db"})
    await world.runs("other", "n3", cpu=1, priority=500)
    await world.budget("db", 1, app="db")
    await world.pod_group("a", minimum=2)
    await world.urgent("a-1", "a-2", gang="a", cpu=1)
    victims = await world.evicted_some(2, "db-1", "db-2", "other")
    assert "other" in victims


# --- gangs that wait at Permit ---


async def test_members_that_wait_at_permit_are_released_and_not_deleted(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pods(*members("w", 3), annotations=gang("w", minimum=3, mode="NonStrict"), cpu=1)
    await world.says("w-1", "2 of 3 members fit")
    await world.pod_group("a", minimum=2)
    await world.urgent("a-1", "a-2", gang="a", cpu=1)
    await world.bound("a-1", "a-2")
    await world.nobody_evicted()
    await world.pending(*members("w", 3))


async def test_those_that_wait_let_go_and_those_that_run_leave_for_the_same_job(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.runs("low", "n1", cpu=1)
    await world.pods("w-1", "w-2", annotations=gang("w", minimum=2, mode="NonStrict"), cpu=1)
    await world.says("w-1", "1 of 2 members fit")
    await world.pod_group("a", minimum=2)
    await world.urgent("a-1", "a-2", gang="a", cpu=1)
    await world.evicted("low")
    await world.gone("low")
    await world.bound("a-1", "a-2")


async def test_nobody_lets_go_for_a_gang_that_would_not_fit_even_so(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.runs("equal", "n1", cpu=1, priority=1000)
    await world.pods("w-1", "w-2", annotations=gang("w", minimum=2, mode="NonStrict"), cpu=1)
    await world.says("w-1", "1 of 2 members fit")
    await world.pod_group("a", minimum=2)
    await world.urgent("a-1", "a-2", gang="a", cpu=1)
    await world.says("a-1", "preemption: ")
    await world.nobody_evicted()
    assert "1 of 2 members fit" in condition(world.pod("w-1"))["message"]


# --- jobs that evict each other ---


async def takes_turns(world: World) -> None:
    """a of 30 and 20 has evicted b of 10; b comes back with 25 and would evict the member of a that has less."""
    await world.nodes(2, cpu=1)
    await world.pod_group("b", minimum=1)
    await world.urgent("b-1", gang="b", cpu=1, priority=10)
    await world.bound("b-1")
    await world.pod_group("a", minimum=2, annotations={"koordpy.io/disruption-mode": "Single"})
    await world.urgent("a-1", gang="a", cpu=1, priority=30)
    await world.urgent("a-2", gang="a", cpu=1, priority=20)
    await world.evicted("b-1")
    await world.gone("b-1")
    await world.bound("a-1", "a-2")
    await world.urgent("b-1", gang="b", cpu=1, priority=25)


async def test_jobs_that_evict_each_other_are_slowed_down_and_counted(world: World) -> None:
    before = await world.metric("koordpy_preemption_cycles_total")
    await takes_turns(world)
    await world.says("b-1", ": this job and its victims have been evicting each other")
    assert await world.metric("koordpy_preemption_cycles_total") == before + 1


async def test_a_job_that_was_slowed_down_goes_on_by_itself(virtual: World) -> None:
    await takes_turns(virtual)
    await virtual.says("b-1", "held back until ")
    await virtual.evicted("b-1", "a-2")
    await virtual.gone("a-2")
    await virtual.bound("b-1")
