"""Strict gangs: all of the minimum at once, or nothing at all."""

from __future__ import annotations

from tests.plan.constraints import ZONE
from tests.scenarios.objects import gang, members
from tests.scenarios.world import World


async def test_a_gang_that_does_not_fit_binds_nothing_and_holds_nothing(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.pod_group("a", minimum=4)
    await world.pods(*members("a", 4), gang="a", cpu=1)
    await world.says("a-1", "Insufficient cpu")
    await world.pods("others-1", "others-2", "others-3", cpu=1)
    await world.bound("others-1", "others-2", "others-3")
    await world.pending(*members("a", 4))


async def test_every_member_names_the_one_that_does_not_fit(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.pod_group("a", minimum=4)
    await world.pods(*members("a", 4), gang="a", cpu=1)
    text = "0/3 nodes are available: 3 Insufficient cpu. gang {ns}/a: 3 of 4 members fit, "
    text += "{ns}/a-4 does not beside these 3."
    await world.all_say(text, *members("a", 4))


async def test_a_gang_starts_when_the_room_it_lacks_is_freed(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.bind_elsewhere("other", "n1", cpu=1)
    await world.pod_group("a", minimum=3)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    await world.delete("other")
    await world.bound(*members("a", 3))


async def test_a_member_beyond_the_minimum_that_fits_nowhere_hinders_nobody(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pod_group("a", minimum=2)
    await world.stop()
    await world.pods("a-1", gang="a", cpu=100)
    await world.pods("a-2", "a-3", gang="a", cpu=1)
    await world.start()
    await world.bound("a-2", "a-3")
    await world.says("a-1", "0/2 nodes are available: 2 Insufficient cpu.")


async def test_members_beyond_the_minimum_that_fit_start_with_the_gang(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.pod_group("a", minimum=2)
    await world.stop()
    await world.pods(*members("a", 4), gang="a", cpu=1)
    await world.start()
    await world.some_bound(3, *members("a", 4))


async def test_members_beyond_the_minimum_that_did_not_fit_start_when_there_is_room(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pod_group("a", minimum=2)
    await world.pods(*members("a", 4), gang="a", cpu=1)
    await world.some_bound(2, *members("a", 4))
    await world.node("n3", cpu=1)
    await world.some_bound(3, *members("a", 4))
    await world.node("n4", cpu=1)
    await world.bound(*members("a", 4))


async def test_a_gang_may_be_complete_with_any_of_its_members(world: World) -> None:
    """The first member fits nowhere, and the minimum can be reached without it."""
    await world.nodes(3, cpu=1)
    await world.pod_group("a", minimum=3)
    await world.stop()
    await world.pods("a-1", gang="a", cpu=1, node_selector={"disk": "none"})
    await world.pods("a-2", "a-3", "a-4", gang="a", cpu=1)
    await world.start()
    await world.bound("a-2", "a-3", "a-4")


async def test_the_large_member_finds_the_node_that_the_small_ones_could_have_filled(world: World) -> None:
    await world.nodes(2, cpu=4)
    await world.pod_group("a", minimum=5)
    await world.stop()
    await world.pods("a-1", "a-2", "a-3", "a-4", gang="a", cpu=1)
    await world.pods("a-5", gang="a", cpu=4)
    await world.start()
    await world.bound(*members("a", 5))


async def test_members_that_keep_apart_need_a_node_each(world: World) -> None:
    await world.nodes(2)
    await world.pod_group("a", minimum=3)
    await world.pods(*members("a", 3), gang="a", labels={"app": "a"}, affinity=_apart())
    await world.says("a-1", "gang {ns}/a: 2 of 3 members fit")
    await world.pending(*members("a", 3))
    await world.node("n3")
    await world.bound(*members("a", 3))
    assert len(set(world.node_names(*members("a", 3)))) == 3


async def test_members_that_stay_together_go_where_all_of_them_fit(world: World) -> None:
    await world.node("small", cpu=2, labels={ZONE: "small"})
    await world.node("large-1", cpu=2, labels={ZONE: "large"})
    await world.node("large-2", cpu=2, labels={ZONE: "large"})
    await world.pod_group("a", minimum=4)
    await world.pods(*members("a", 4), gang="a", cpu=1, labels={"app": "a"}, affinity=_together())
    await world.bound(*members("a", 4))
    assert set(world.node_names(*members("a", 4))) == {"large-1", "large-2"}


async def test_members_with_the_same_host_port_go_to_different_nodes(world: World) -> None:
    await world.nodes(2)
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", "a-2", gang="a", host_ports=[{"containerPort": 80, "hostPort": 80}])
    await world.bound("a-1", "a-2")
    assert sorted(world.node_names("a-1", "a-2")) == ["n1", "n2"]


async def test_a_cordoned_node_is_not_used_for_a_gang(world: World) -> None:
    await world.node("n1", cpu=1)
    await world.node("n2", cpu=1, cordoned=True)
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.says("a-1", "1 node(s) were unschedulable")
    await world.pending("a-1", "a-2")


async def test_of_two_gangs_that_want_the_same_room_exactly_one_starts(world: World) -> None:
    await world.nodes(4, cpu=1)
    await world.stop()
    for name in ("a", "b"):
        await world.pods(*members(name, 3), annotations=gang(name, minimum=3), cpu=1)
    await world.start()
    started = await world.some_bound(3, *members("a", 3), *members("b", 3))
    assert len({name[0] for name in started}) == 1


async def test_many_gangs_share_what_there_is_and_none_starts_in_part(world: World) -> None:
    await world.nodes(4, cpu=4)
    names = [f"g{number}" for number in range(8)]
    await world.stop()
    for name in names:
        await world.pods(*members(name, 3), annotations=gang(name, minimum=3), cpu=1)
    await world.start()
    everyone = [member for name in names for member in members(name, 3)]
    started = await world.some_bound(15, *everyone)
    assert len({name.partition("-")[0] for name in started}) == 5


async def test_a_gang_of_a_hundred_fills_the_cluster_to_the_last_slot(world: World) -> None:
    await world.nodes(10, cpu=10)
    await world.pod_group("a", minimum=100)
    await world.pods(*members("a", 99), gang="a", cpu=1)
    await world.says("a-1", "99 of 100 members")
    await world.pods("a-100", gang="a", cpu=1)
    await world.bound(*members("a", 100))


def _apart() -> dict[str, object]:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "a"}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _together() -> dict[str, object]:
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "a"}}}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
