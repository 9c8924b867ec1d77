"""Preemption for gangs that are to be gathered, and pods that like to be near others."""

from __future__ import annotations

from tests.scenarios.network import SELECTOR, gathering, must, prefer
from tests.scenarios.objects import gang, members
from tests.scenarios.world import World


async def fill(world: World, *nodes: str) -> None:
    """A pod of low priority on each."""
    for name in nodes:
        await world.runs(f"low-{name}", name, cpu=1)


async def test_victims_are_those_of_the_tightest_domain_and_nobody_elsewhere_is_touched(world: World) -> None:
    """s2 fits exactly with all of its pods gone; s1 would have one slot too many, though fewer had to leave there."""
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2 n3 n4", "s2/b2": "n5 n6 n7"}, cpu=1)
    await fill(world, "n2", "n3", "n4", "n5", "n6", "n7")
    said = gang("a", minimum=3) | gathering(must("SpineLayer"))
    await world.urgent(*members("a", 3), annotations=said, cpu=1)
    await world.evicted("low-n5", "low-n6", "low-n7")
    await world.nominated(a_1="n5", a_2="n6", a_3="n7")
    await world.gone("low-n5", "low-n6", "low-n7")
    await world.bound(*members("a", 3))
    assert world.node_names(*members("a", 3)) == ["n5", "n6", "n7"]


async def test_nobody_is_evicted_for_a_gang_that_no_domain_could_hold_even_empty(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2", "s2/b2": "n3 n4"}, cpu=1)
    await fill(world, "n1", "n2", "n3", "n4")
    said = gang("a", minimum=3) | gathering(must("SpineLayer"))
    await world.urgent(*members("a", 3), annotations=said, cpu=1)
    await world.says("a-1", "preemption: would fit 2 of 3 members even with everything of lower priority gone")
    await world.nobody_evicted()


async def test_a_replacement_evicts_only_where_its_siblings_are(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2", "s2/b2": "n3 n4"}, cpu=1)
    said = gang("a", minimum=2) | gathering(must("SpineLayer"))
    await world.urgent("a-1", "a-2", annotations=said, cpu=1)
    await world.bound("a-1", "a-2")
    (spine,) = set(world.spines("a-1", "a-2"))
    (node,) = world.node_names("a-2")
    await world.delete("a-2")
    await fill(world, node, *({"s1": ("n3", "n4"), "s2": ("n1", "n2")}[spine]))
    await world.urgent("a-3", annotations=said, cpu=1)
    await world.evicted(f"low-{node}")
    await world.gone(f"low-{node}")
    await world.bound("a-3")
    assert world.node_names("a-3") == [node]


async def test_gangs_and_pods_go_where_others_of_the_same_selector_run(world: World) -> None:
    """Though another domain would be tighter."""
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2 n3 n4", "s2/b2": "n5 n6"}, cpu=1)
    alike = {SELECTOR: "team-a"}
    await world.pods("first", cpu=1, annotations=alike, node_selector={"kubernetes.io/hostname": "n1"})
    await world.bound("first")
    said = gang("a", minimum=2) | gathering(prefer("SpineLayer")) | alike
    await world.pods("a-1", "a-2", annotations=said, cpu=1)
    await world.bound("a-1", "a-2")
    assert world.spines("a-1", "a-2") == ["s1", "s1"]
    await world.pods("last", cpu=1, annotations=alike)
    await world.bound("last")
    assert world.spines("last") == ["s1"]
