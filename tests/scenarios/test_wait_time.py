"""The wait time of a gang: from the first member at Permit until it is over."""

from __future__ import annotations

import asyncio

from tests.scenarios.objects import gang, members
from tests.scenarios.world import World


def waiting(name: str = "a", minimum: int = 3, wait: str = "1s", **more: str) -> dict[str, str]:
    return gang(name, minimum=minimum, mode="NonStrict", wait=wait, **more)


async def test_when_the_time_is_over_the_gang_lets_go_and_is_not_tried_again(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.busy_node()
    await world.pod_group("a", minimum=3, annotations=gang(mode="NonStrict", wait="1s"))
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.timed_out(*members("a", 3))
    await world.event("GangTimedOut", pod_group="a")
    await world.pods("others-1", "others-2", cpu=1)
    await world.bound("others-1", "others-2")
    for name in ("n3", "n4", "n5"):
        await world.node(name, cpu=1)
    await world.pending(*members("a", 3))


async def test_a_gang_of_annotations_has_its_event_on_the_oldest_pod(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.busy_node()
    await world.pods(*members("a", 3), annotations=waiting(), cpu=1)
    await world.timed_out(*members("a", 3))
    await world.event("GangTimedOut", pod="a-1")


async def test_removing_the_annotation_gives_the_gang_another_try(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.busy_node()
    await world.pods(*members("a", 3), annotations=waiting(), cpu=1)
    await world.timed_out(*members("a", 3))
    await world.node("n3", cpu=1)
    await world.annotate("a-1", timeout=None)
    await world.says("a-1", "gang {ns}/a is incomplete: 1 of 3 members (timed out: a-2, a-3)")
    await world.annotate("a-2", "a-3", timeout=None)
    await world.bound(*members("a", 3))


async def test_pods_made_again_after_the_timeout_are_tried(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.busy_node()
    await world.pods(*members("a", 3), annotations=waiting(), cpu=1)
    await world.timed_out(*members("a", 3))
    await world.node("n3", cpu=1)
    await world.delete(*members("a", 3))
    await world.pods(*members("a", 3), annotations=waiting(), cpu=1)
    await world.bound(*members("a", 3))


async def test_with_retry_the_gang_lets_go_without_being_abandoned(world: World) -> None:
    await world.restart(onTimeout="Retry")
    await world.nodes(2, cpu=1)
    await world.busy_node()
    await world.pods(*members("a", 3), annotations=waiting(), cpu=1)
    await world.event("GangTimedOut", pod="a-1")
    await world.not_timed_out(*members("a", 3))
    await world.node("n3", cpu=1)
    await world.bound(*members("a", 3))


async def test_the_time_runs_from_the_first_member_that_waits_and_not_from_the_last(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.busy_node()
    await world.pods(*members("a", 3), annotations=waiting(wait="2s"), cpu=1)
    await world.says("a-1", "1 of 3 members fit")
    await asyncio.sleep(1)
    await world.node("n2", cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    began = asyncio.get_running_loop().time()
    await world.timed_out(*members("a", 3))
    assert asyncio.get_running_loop().time() - began < 1.6


async def test_an_incomplete_gang_has_all_the_time_there_is(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.busy_node()
    await world.pods("a-1", "a-2", annotations=waiting(wait="300ms"), cpu=1)
    await world.not_timed_out("a-1", "a-2")
    await world.pods("a-3", annotations=waiting(wait="300ms"), cpu=1)
    await world.bound(*members("a", 3))


async def test_a_strict_gang_holds_nothing_and_so_its_time_never_begins(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.busy_node()
    await world.pods(*members("a", 3), annotations=gang("a", minimum=3, wait="300ms"), cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    await world.not_timed_out(*members("a", 3))
    await world.node("n3", cpu=1)
    await world.bound(*members("a", 3))


async def test_a_gang_that_is_complete_in_time_is_left_alone_afterwards(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.busy_node()
    await world.pods(*members("a", 3), annotations=waiting(wait="3s"), cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    await world.node("n3", cpu=1)
    await world.bound(*members("a", 3))
    await world.not_timed_out(*members("a", 3))


async def test_the_partners_in_a_group_time_out_together(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.busy_node()
    both = world.group("a", "b")
    await world.pods("a-1", "a-2", annotations=gang("a", minimum=2, mode="NonStrict", wait="1s", groups=both), cpu=1)
    await world.pods("b-1", "b-2", annotations=gang("b", minimum=2, mode="NonStrict", wait="1s", groups=both), cpu=1)
    await world.timed_out("a-1", "a-2", "b-1", "b-2")


async def test_the_schedule_timeout_of_a_pod_group_counts(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.busy_node()
    await world.pod_group("a", minimum=2, timeout_s=1, annotations=gang(mode="NonStrict"))
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.timed_out("a-1", "a-2")


async def test_the_default_timeout_counts(world: World) -> None:
    await world.restart(defaultTimeout="1s")
    await world.nodes(1, cpu=1)
    await world.busy_node()
    await world.pods("a-1", "a-2", annotations=gang("a", minimum=2, mode="NonStrict"), cpu=1)
    await world.timed_out("a-1", "a-2")


async def test_an_abandoned_gang_stays_abandoned_over_a_restart(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.busy_node()
    await world.pods("a-1", "a-2", annotations=waiting(minimum=2), cpu=1)
    await world.timed_out("a-1", "a-2")
    await world.restart()
    await world.node("n2", cpu=1)
    await world.pending("a-1", "a-2")


async def test_the_room_an_abandoned_gang_held_wakes_who_needs_it(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.busy_node()
    await world.pods(*members("a", 3), annotations=waiting(), cpu=1)
    await world.pods("b-1", "b-2", annotations=gang("b", minimum=2), cpu=1)
    await world.bound("b-1", "b-2")
    await world.timed_out(*members("a", 3))


async def test_an_annotation_that_cannot_be_written_at_once_is_written_later(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.busy_node()
    world.fails("annotate", status=500, times=2)
    await world.pods("a-1", "a-2", annotations=waiting(minimum=2), cpu=1)
    await world.timed_out("a-1", "a-2")


async def test_pods_that_never_waited_are_abandoned_with_their_gang(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.busy_node()
    await world.pods(*members("a", 4), annotations=waiting(minimum=3), cpu=1)
    await world.timed_out(*members("a", 4))
