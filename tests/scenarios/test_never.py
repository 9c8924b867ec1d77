"""`Not now` and `never` read differently, and what can never be whole holds nothing."""

from __future__ import annotations

import pytest

from tests.plan.constraints import HOSTNAME, affinity, pod_term, selector
from tests.scenarios.network import gathering, must
from tests.scenarios.objects import condition, gang, members
from tests.scenarios.questions import explained
from tests.scenarios.world import World

NEVER = "even on an empty cluster"


def told(world: World, name: str) -> str:
    return str(condition(world.pod(name)).get("message", ""))


async def test_a_gang_larger_than_the_cluster_says_so(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.runs("other", "n1", cpu=1)
    await world.pod_group("a", minimum=3)
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.all_say(f"{NEVER} 2 of 3 members fit: 2 Insufficient cpu", *members("a", 3))


async def test_a_gang_that_waits_for_room_does_not_say_never(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.runs("other", "n1", cpu=1)
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.all_say("1 of 2 members fit", "a-1", "a-2")
    assert NEVER not in told(world, "a-1")


async def test_a_pod_that_fits_no_node_says_so(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.pods("large", cpu=3)
    await world.says("large", f"{NEVER} it would not fit")


async def test_a_pod_that_waits_for_another_to_leave_does_not_say_never(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.runs("other", "n1", cpu=2)
    await world.pods("p", cpu=1)
    await world.says("p", "Insufficient cpu")
    assert NEVER not in told(world, "p")


async def test_members_that_keep_apart_count_nodes_and_not_cpus(world: World) -> None:
    await world.nodes(2, cpu=8)
    apart = affinity(apart=[pod_term(HOSTNAME, selector(app="a"))])
    await world.pod_group("a", minimum=3)
    await world.pods(*members("a", 3), gang="a", cpu=1, labels={"app": "a"}, affinity=apart)
    await world.all_say(f"{NEVER} 2 of 3 members fit", *members("a", 3))


async def test_a_node_that_is_added_makes_never_a_matter_of_time(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.says("a-1", NEVER)
    await world.node("n2", cpu=1)
    await world.bound("a-1", "a-2")


async def test_a_nonstrict_gang_that_can_never_be_whole_keeps_nothing(world: World) -> None:
    """Any tenant could hold a whole cluster by a gang that is one member too large for it."""
    await world.nodes(3, cpu=1)
    await world.pod_group("hold", minimum=4, annotations=gang(mode="NonStrict"))
    await world.pods(*members("hold", 4), gang="hold", cpu=1)
    await world.says("hold-1", f"{NEVER} 3 of 4 members fit")
    await world.pods("p", cpu=1)
    await world.bound("p")


async def test_a_nonstrict_gang_that_becomes_too_large_lets_go(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.runs("other", "n1", cpu=1)
    await world.pod_group("hold", minimum=2, annotations=gang(mode="NonStrict"))
    await world.pods("hold-1", "hold-2", "hold-3", gang="hold", cpu=1)
    await world.says("hold-1", "1 of 2 members fit")
    await world.pods("p", cpu=1)
    await world.says("p", "is held by gang")
    await world.change_pod_group("hold", minMember=3)
    await world.bound("p")


async def test_whoever_is_refused_for_what_a_waiting_gang_holds_is_told_who_holds_it(world: World) -> None:
    await world.nodes(2, cpu=2)
    await world.runs("other", "n1", cpu=2)
    await world.pod_group("hold", minimum=3, annotations=gang(mode="NonStrict"))
    await world.pods(*members("hold", 3), gang="hold", cpu=1)
    await world.says("hold-1", "2 of 3 members fit")
    await world.pods("p", cpu=1)
    text = f"2 cpu are held by gang {world.namespace}/hold, which waits for 1 more member until "
    await world.says("p", text)
    assert told(world, "p").endswith("Z")


async def test_whoever_would_not_fit_anyway_is_not_told_who_holds_what(world: World) -> None:
    await world.nodes(2, cpu=2)
    await world.runs("other", "n1", cpu=2)
    await world.pod_group("hold", minimum=3, annotations=gang(mode="NonStrict"))
    await world.pods(*members("hold", 3), gang="hold", cpu=1)
    await world.says("hold-1", "2 of 3 members fit")
    await world.pods("large", cpu=3)
    await world.says("large", NEVER)
    assert "held by" not in told(world, "large")


async def test_nobody_yields_to_a_gang_that_would_keep_nothing(world: World) -> None:
    """`big` goes before `hold`, could take its room, and would miss too much to keep it: then others would take it."""
    await world.restart(nonStrictMaxGapPercent=50)
    await world.nodes(4, cpu=1)
    await world.runs("other-1", "n1", cpu=1)
    await world.runs("other-2", "n2", cpu=1)
    await world.pod_group("hold", minimum=3, annotations=gang(mode="NonStrict"))
    await world.pods(*members("hold", 3), gang="hold", cpu=1)
    await world.says("hold-1", "2 of 3 members fit")
    await world.pod_group("big", minimum=4, annotations=gang(mode="NonStrict"))
    await world.pods(*members("big", 4), gang="big", cpu=1, priority=10, node_selector={HOSTNAME: "n3"})
    await world.says("big-1", " members fit")
    await world.pods("p", cpu=1)
    await world.pending("p", *members("big", 4))


async def test_a_full_node_that_is_added_makes_never_a_matter_of_time_too(world: World) -> None:
    await world.nodes(1, cpu=1)
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.says("a-1", f"{NEVER} 1 of 2 members fit")
    await world.node("n2", cpu=1, cordoned=True)
    await world.bind_elsewhere("filler", "n2", cpu=1)
    await world.change_node("n2", unschedulable=False)
    await world.until(lambda: NEVER not in told(world, "a-1"), "a-1 does not say never any more")


async def test_what_was_said_of_an_empty_cluster_before_there_was_a_topology_is_not_said_after_it(
    world: World,
) -> None:
    await world.fabric({"s1/b1": "n1 n2"}, cpu=1)
    await world.runs("other-1", "n1", cpu=1)
    await world.runs("other-2", "n2", cpu=1)
    await world.pod_group("a", minimum=2, annotations=gathering(must("SpineLayer")))
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.says("a-1", "MustGather names the layer")
    await world.topology()
    await world.says("a-1", "SpineLayer/s1: 0 of 2")
    assert NEVER not in told(world, "a-1")


async def test_a_pod_that_wants_others_near_it_is_not_told_never_for_want_of_them(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.runs("db", "n1", cpu=2, labels={"app": "db"})
    near = affinity(near=[pod_term(HOSTNAME, selector(app="db"))])
    await world.pods("p", cpu=1, affinity=near)
    await world.says("p", "Insufficient cpu")
    assert NEVER not in told(world, "p")


async def test_a_gang_that_no_domain_could_ever_hold_says_so(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2", "s2/b2": "n3 n4"}, cpu=1)
    await world.pod_group("a", minimum=3, annotations=gathering(must("SpineLayer")))
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.all_say(NEVER, *members("a", 3))


async def test_a_gang_that_gathers_where_no_node_has_the_label_is_told_that_it_never_fits(world: World) -> None:
    await world.topology()
    await world.nodes(2, cpu=4)
    await world.pod_group("a", minimum=2, annotations=gathering(must("SpineLayer")))
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.says("a-1", "no node carries a label of SpineLayer")
    await world.says("a-1", f"{NEVER} 0 of 2 members fit")


@pytest.mark.usefixtures("patient")
async def test_nobody_is_in_the_way_of_a_gang_that_gathers_where_no_node_has_the_label(world: World) -> None:
    await world.topology()
    await world.nodes(1, cpu=4)
    await world.runs("other", "n1", cpu=1)
    await world.pod_group("a", minimum=2, annotations=gathering(must("SpineLayer")))
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.says("a-1", NEVER)
    assert (await explained(world, "a"))["inTheWay"] == []


async def test_without_any_node_nothing_is_said_of_an_empty_cluster(world: World) -> None:
    await world.pods("p", cpu=1)
    await world.says("p", "no nodes available to schedule pods")
    assert NEVER not in told(world, "p")
