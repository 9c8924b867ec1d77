"""Members, PodGroups and nodes that change while a gang is pending, waiting or running."""

from __future__ import annotations

from tests.scenarios.objects import SIGS, gang, members
from tests.scenarios.world import World

NON_STRICT = gang(mode="NonStrict")


async def test_a_lowered_minimum_starts_the_gang(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=3)
    await world.pods("a-1", "a-2", gang="a")
    await world.says("a-1", "2 of 3 members")
    await world.change_pod_group("a", minMember=2)
    await world.bound("a-1", "a-2")


async def test_a_lowered_minimum_on_a_pod_starts_the_gang(world: World) -> None:
    await world.nodes(1)
    await world.pods("a-1", "a-2", annotations=gang("a", minimum=3))
    await world.says("a-1", "2 of 3 members")
    await world.annotate("a-1", min_available="2")
    await world.bound("a-1", "a-2")


async def test_a_lowered_minimum_lets_a_gang_start_that_did_not_fit(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pod_group("a", minimum=3)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    await world.change_pod_group("a", minMember=2)
    await world.some_bound(2, *members("a", 3))


async def test_a_raised_minimum_makes_a_pending_gang_wait(world: World) -> None:
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", "a-2", gang="a")
    await world.says("a-1", "no nodes available")
    await world.change_pod_group("a", minMember=3)
    await world.says("a-1", "gang {ns}/a is incomplete: 2 of 3 members")
    await world.nodes(1)
    await world.pending("a-1", "a-2")
    await world.pods("a-3", gang="a")
    await world.bound(*members("a", 3))


async def test_a_raised_minimum_does_not_disturb_a_gang_that_runs(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", "a-2", gang="a")
    await world.bound("a-1", "a-2")
    await world.change_pod_group("a", minMember=5)
    await world.pods("a-3", gang="a")
    await world.bound("a-3")


async def test_a_member_that_is_deleted_makes_a_pending_gang_incomplete(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pod_group("a", minimum=3)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    await world.delete("a-3")
    await world.all_say("gang {ns}/a is incomplete: 2 of 3 members", "a-1", "a-2")
    await world.node("n3", cpu=1)
    await world.pending("a-1", "a-2")
    await world.pods("a-4", gang="a", cpu=1)
    await world.bound("a-1", "a-2", "a-4")


async def test_a_pod_group_that_is_deleted_stops_a_pending_gang_until_it_is_made_again(world: World) -> None:
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", "a-2", gang="a")
    await world.says("a-1", "no nodes available")
    await world.delete_pod_group("a")
    await world.says("a-1", "gang {ns}/a waits for PodGroup {ns}/a, which does not exist")
    await world.nodes(1)
    await world.pending("a-1", "a-2")
    await world.pod_group("a", minimum=2)
    await world.bound("a-1", "a-2")


async def test_a_pod_group_that_is_deleted_makes_a_waiting_gang_let_go(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pod_group("a", minimum=3, annotations=NON_STRICT)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    await world.delete_pod_group("a")
    await world.pods("others-1", "others-2", cpu=1)
    await world.bound("others-1", "others-2")


async def test_a_pod_group_that_is_deleted_leaves_running_pods_alone(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", "a-2", gang="a")
    await world.bound("a-1", "a-2")
    await world.delete_pod_group("a")
    await world.stays(lambda: all(world.node_names("a-1", "a-2")), "they run")
    await world.pod_group("a", minimum=2)
    await world.pods("a-3", gang="a")
    await world.bound("a-3")


async def test_a_waiting_gang_made_strict_lets_go(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pod_group("a", minimum=3, annotations=NON_STRICT)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    await world.change_pod_group("a", annotations=gang(mode="Strict"))
    await world.pods("others-1", "others-2", cpu=1)
    await world.bound("others-1", "others-2")


async def test_a_waiting_gang_starts_when_its_minimum_is_lowered_to_what_it_has(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pod_group("a", minimum=3, annotations=NON_STRICT)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    await world.change_pod_group("a", minMember=2)
    await world.some_bound(2, *members("a", 3))


async def test_a_pod_that_moves_to_another_gang_counts_there(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=2)
    await world.pod_group("b", minimum=2)
    await world.pods("p1", gang="a")
    await world.pods("p2", gang="b")
    await world.says("p1", "gang {ns}/a is incomplete: 1 of 2 members")
    await world.label("p1", labels={SIGS: "b"})
    await world.bound("p1", "p2")


async def test_a_pod_that_leaves_its_gang_is_a_single_pod(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=2)
    await world.pods("p1", gang="a")
    await world.says("p1", "gang {ns}/a is incomplete: 1 of 2 members")
    await world.label("p1", labels={SIGS: None})
    await world.bound("p1")


async def test_a_waiting_member_that_terminates_gives_its_room_back(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pods("a-1", annotations=gang("a", minimum=3, mode="NonStrict"), cpu=1, held=True)
    await world.pods("a-2", "a-3", annotations=gang("a", minimum=3, mode="NonStrict"), cpu=1)
    await world.says("a-2", "2 of 3 members fit")
    await world.terminate("a-1")
    await world.says("a-2", "gang {ns}/a is incomplete: 2 of 3 members")
    await world.pods("others-1", "others-2", cpu=1)
    await world.bound("others-1", "others-2")


async def test_a_node_that_goes_while_a_member_waits_for_it_is_not_bound_to(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pods(*members("a", 3), annotations=gang("a", minimum=3, mode="NonStrict"), cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    await world.delete_node("n1")
    await world.pending(*members("a", 3))
    await world.node("n3", cpu=1)
    await world.node("n4", cpu=1)
    await world.bound(*members("a", 3))
    assert sorted(world.node_names(*members("a", 3))) == ["n2", "n3", "n4"]


async def test_a_node_that_shrinks_while_members_wait_for_it_is_not_overcommitted(world: World) -> None:
    await world.node("n1", cpu=2)
    await world.pods(*members("a", 3), annotations=gang("a", minimum=3, mode="NonStrict"), cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    await world.resize_node("n1", cpu=1)
    await world.node("n2", cpu=1)
    world.observer.may_be_full.clear()
    await world.pending(*members("a", 3))
    await world.node("n3", cpu=1)
    await world.bound(*members("a", 3))


async def test_a_pod_bound_by_hand_is_a_member_that_runs(world: World) -> None:
    await world.pod_group("a", minimum=2, annotations=gang(policy="waiting-and-running"))
    await world.pods("a-1", gang="a")
    await world.says("a-1", "1 of 2 members")
    await world.nodes(1)
    world.observer.excused.add(f"{world.namespace}/a-2")
    await world.bind("a-1", "n1")
    await world.pods("a-2", gang="a")
    await world.bound("a-2")


async def test_a_waiting_gang_that_gets_a_partner_lets_go_until_the_partner_is_there(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pod_group("a", minimum=3, annotations=NON_STRICT)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    await world.change_pod_group("a", annotations=gang(groups=world.group("a", "b")))
    await world.all_say("gang {ns}/b does not exist", *members("a", 3))
    await world.pods("others-1", "others-2", cpu=1)
    await world.bound("others-1", "others-2")
    await world.node("large", cpu=4)
    await world.pending(*members("a", 3))
    await world.pods("b-1", annotations=gang("b", minimum=1), cpu=1)
    await world.bound(*members("a", 3), "b-1")


async def test_a_waiting_gang_that_loses_its_partner_starts_alone(world: World) -> None:
    await world.nodes(2, cpu=1)
    both = gang(mode="NonStrict", groups=world.group("a", "b"))
    await world.pod_group("a", minimum=2, annotations=both)
    await world.pod_group("b", minimum=1, annotations=both)
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.pods("b-1", gang="b", cpu=1)
    await world.says("a-1", "Insufficient cpu")
    await world.change_pod_group("b", annotations=gang(groups=""))
    await world.change_pod_group("a", annotations=gang(groups=""))
    await world.until(lambda: all(world.node_names("a-1", "a-2")) or all(world.node_names("b-1")), "one of them starts")


async def test_a_waiting_member_that_moves_to_another_gang_starts_with_that_one(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pod_group("a", minimum=3, annotations=NON_STRICT)
    await world.pod_group("b", minimum=1)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    await world.label("a-1", labels={SIGS: "b"})
    await world.bound("a-1")
    await world.says("a-2", "gang {ns}/a is incomplete: 2 of 3 members")


async def test_a_waiting_member_that_leaves_its_gang_is_a_single_pod(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pod_group("a", minimum=3, annotations=NON_STRICT)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    await world.label("a-1", labels={SIGS: None})
    await world.bound("a-1")
    await world.pending("a-2", "a-3")


async def test_a_waiting_member_made_again_under_its_name_is_placed_anew(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.busy_node()
    await world.pod_group("a", minimum=3, annotations=NON_STRICT)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    await world.delete("a-1")
    await world.pods("a-1", gang="a", cpu=1)
    await world.pods("other", cpu=1)
    await world.pending(*members("a", 3), "other")
    await world.node("n3", cpu=1)
    await world.bound(*members("a", 3))


async def test_a_pod_whose_gate_is_removed_after_the_start_is_an_ordinary_pod(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=2)
    await world.pods("a-3", gang="a", gated=True)
    await world.pods("a-1", "a-2", gang="a")
    await world.bound("a-1", "a-2")
    await world.pending("a-3")
    await world.ungate("a-3")
    await world.bound("a-3")


async def test_a_node_that_is_cordoned_while_a_member_waits_for_it_is_not_bound_to(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pods(*members("a", 3), annotations=gang("a", minimum=3, mode="NonStrict"), cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    await world.change_node("n1", unschedulable=True)
    await world.node("n3", cpu=1)
    await world.pending(*members("a", 3))
    await world.node("n4", cpu=1)
    await world.bound(*members("a", 3))
    assert sorted(world.node_names(*members("a", 3))) == ["n2", "n3", "n4"]


async def test_a_pod_group_made_again_with_another_minimum_counts_as_it_is_now(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=3)
    await world.pods("a-1", "a-2", gang="a")
    await world.says("a-1", "2 of 3 members")
    await world.delete_pod_group("a")
    await world.pod_group("a", minimum=2)
    await world.bound("a-1", "a-2")


async def test_the_pod_group_of_koordinator_wins_over_one_of_the_same_name_in_the_other_api_group(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=1, api_group="x-k8s")
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", gang="a")
    await world.says("a-1", "gang {ns}/a is incomplete: 1 of 2 members")
    await world.delete_pod_group("a")
    await world.bound("a-1")
