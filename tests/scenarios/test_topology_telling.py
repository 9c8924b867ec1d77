"""What users are told about gathering: why not, when it is worth another try, and how good a placement is."""

from __future__ import annotations

from tests.scenarios.network import gathering, must, prefer
from tests.scenarios.objects import KOORDINATOR, gang, members
from tests.scenarios.world import World


async def test_a_refusal_says_for_each_domain_how_far_it_got_and_which_is_closest(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1", "s2/b2": "n2 n3 n4", "s3/b3": "n5 n6"}, cpu=1)
    await world.pod_group("a", minimum=4, annotations=gathering(must("SpineLayer")))
    await world.pods(*members("a", 4), gang="a", cpu=1)
    told = (
        "0/6 nodes are available: no domain holds the whole job: "
        "SpineLayer/s2: 3 of 4, SpineLayer/s3: 2 of 4, SpineLayer/s1: 1 of 4; SpineLayer/s2 is closest and lacks 1: "
        "3 Insufficient cpu."
    )
    await world.all_say(told, *members("a", 4))
    await world.event("FailedScheduling", pod_group="a", text=told)
    await world.event("FailedScheduling", pod="a-1", text=told)


async def test_a_refusal_is_about_what_is_needed_and_not_about_what_would_be_nice(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1", "s2/b2": "n2"}, cpu=1)
    await world.pod_group("a", minimum=2, annotations=gathering(must("SpineLayer")))
    await world.pods(*members("a", 3), gang="a", cpu=1)
    await world.says("a-1", "SpineLayer/s1: 1 of 2, SpineLayer/s2: 1 of 2")


async def test_of_many_domains_a_refusal_shows_the_best(world: World) -> None:
    await world.topology()
    await world.fabric({f"s{number}/b": f"n{number}" for number in range(1, 12)}, cpu=1)
    await world.pod_group("a", minimum=2, annotations=gathering(must("SpineLayer")))
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.says("a-1", "SpineLayer/s7: 1 of 2, SpineLayer/s8: 1 of 2 and 3 more")


async def test_a_group_of_several_sizes_is_told_how_many_of_its_members_a_domain_holds(world: World) -> None:
    """s1 has room for the workers alone, s2 for the master and one of them."""
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2 n3"}, cpu=1)
    await world.fabric({"s2/b2": "large"}, cpu=4)
    await world.fabric({"s2/b2": "n4"}, cpu=1)
    both = gang(groups=world.group("masters", "workers")) | gathering(must("SpineLayer"))
    await world.pod_group("masters", minimum=1, annotations=both)
    await world.pod_group("workers", minimum=3, annotations=both)
    await world.pods("master", gang="masters", cpu=4)
    await world.pods(*members("worker", 3), gang="workers", cpu=1)
    await world.says("master", "SpineLayer/s1: 3 of 4")
    await world.says("master", "lacks")
    await world.pending("master", *members("worker", 3))


async def test_a_gang_is_woken_by_room_in_a_domain_that_then_holds_it(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2", "s2/b2": "n3 n4"}, cpu=1)
    await world.bind_elsewhere("other-1", "n1", cpu=1)
    await world.bind_elsewhere("other-2", "n3", cpu=1)
    await world.pod_group("a", minimum=2, annotations=gathering(must("SpineLayer")))
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.says("a-1", "SpineLayer/s1: 1 of 2, SpineLayer/s2: 1 of 2")
    await world.delete("other-2")
    await world.bound("a-1", "a-2")
    assert world.spines("a-1", "a-2") == ["s2", "s2"]


async def test_a_gang_is_woken_by_a_node_that_completes_a_domain_by_growing_or_by_coming(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1", "s2/b2": "n2"}, cpu=1)
    for name in ("a", "b"):
        await world.pod_group(name, minimum=2, annotations=gathering(must("SpineLayer")))
        await world.pods(*members(name, 2), gang=name, cpu=1)
    await world.says("a-1", "1 of 2")
    await world.says("b-1", "1 of 2")
    await world.resize_node("n1", cpu=2)
    await world.bound("a-1", "a-2")
    await world.pending("b-1", "b-2")
    await world.fabric({"s2/b2": "n3"}, cpu=1)
    await world.bound("b-1", "b-2")


async def test_a_placement_that_could_not_be_better_is_published_with_the_score_1(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2", "s1/b2": "n3 n4", "s2/b3": "n5 n6"}, cpu=1)
    await world.pod_group("a", minimum=2, annotations=gathering(must("SpineLayer")))
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.bound("a-1", "a-2")
    assert await world.placement("a") == {
        "layer": "BlockLayer",
        "domain": "s2/b3",
        "used": {"SpineLayer": 1, "BlockLayer": 1, "NodeTopologyLayer": 2},
        "least": {"SpineLayer": 1, "BlockLayer": 1, "NodeTopologyLayer": 2},
        "score": 1.0,
    }
    told = "is gathered in BlockLayer s2/b3: 1 of SpineLayer, 1 of BlockLayer, 2 of NodeTopologyLayer; score 1"
    await world.event("Placed", pod_group="a", text=told)


async def test_a_placement_that_an_empty_cluster_would_have_bettered_says_how_much(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2", "s2/b2": "n3 n4"}, cpu=1)
    await world.bind_elsewhere("other-1", "n1", cpu=1)
    await world.bind_elsewhere("other-2", "n3", cpu=1)
    await world.pod_group("a", minimum=2, annotations=gathering(prefer("SpineLayer")))
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.bound("a-1", "a-2")
    published = await world.placement("a")
    assert published["used"] == {"SpineLayer": 2, "BlockLayer": 2, "NodeTopologyLayer": 2}
    assert published["least"] == {"SpineLayer": 1, "BlockLayer": 1, "NodeTopologyLayer": 2}
    assert (published["layer"], published["score"]) == ("ClusterTopologyLayer", 0.667)
    told = "is spread over the cluster: 2 of SpineLayer, 2 of BlockLayer, 2 of NodeTopologyLayer; score 0.667"
    await world.event("Placed", pod_group="a", text=told)
    status, metrics = await world.http("/metrics")
    assert status == 200
    assert "koordpy_gang_placement_score_count" in metrics


async def test_every_gang_of_a_group_is_told_and_plain_gangs_too(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2 n3"}, cpu=1)
    both = gang(groups=world.group("a", "b"))
    await world.pod_group("a", minimum=1, annotations=both)
    await world.pod_group("b", minimum=2, annotations=both)
    await world.pods("a-1", gang="a", cpu=1)
    await world.pods("b-1", "b-2", gang="b", cpu=1)
    await world.bound("a-1", "b-1", "b-2")
    assert await world.placement("a") == await world.placement("b")
    assert (await world.placement("a"))["domain"] == "s1/b1"


async def test_without_a_topology_nothing_is_published(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=1)
    await world.pods("a-1", gang="a")
    await world.bound("a-1")
    await world.event("Scheduled", pod_group="a")
    assert not world.events("Placed", pod_group="a")


async def test_a_refusal_carries_the_reasons_of_the_filters_in_the_nearest_domain(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2", "s2/b2": "n3"}, cpu=1, labels={"pool": "a"})
    await world.fabric({"s1/b3": "n4"}, cpu=1, labels={"pool": "b"})
    await world.pod_group("a", minimum=3, annotations=gathering(must("SpineLayer")))
    await world.pods(*members("a", 3), gang="a", cpu=1, node_selector={"pool": "a"})
    reasons = "1 node(s) didn't match Pod's node affinity/selector, 2 Insufficient cpu"
    await world.says("a-1", f"SpineLayer/s1 is closest and lacks 1: {reasons}")


async def test_an_empty_list_of_domains_has_a_reason(world: World) -> None:
    await world.topology()
    await world.nodes(2, cpu=1)
    await world.pod_group("a", minimum=2, annotations=gathering(must("SpineLayer")))
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.says("a-1", "no domain holds the whole job: no node carries a label of SpineLayer")


async def test_strategies_match_regardless_of_case(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1", "s2/b2": "n2"}, cpu=1)
    spec = '{"gatherStrategy": [{"layer": "SpineLayer", "strategy": "mustgather"}]}'
    await world.pod_group("a", minimum=2, annotations={f"{KOORDINATOR}/network-topology-spec": spec})
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.says("a-1", "no domain holds the whole job")


async def test_a_strategy_that_there_is_not_makes_the_gang_wait_and_say_so(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2"}, cpu=1)
    key = f"{KOORDINATOR}/network-topology-spec"
    spec = '{"gatherStrategy": [{"layer": "SpineLayer", "strategy": "MustGathr"}]}'
    await world.pod_group("a", minimum=2, annotations={key: spec})
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.all_say("asks for the strategy MustGathr, which is neither MustGather nor PreferGather", "a-1", "a-2")
    await world.pending("a-1", "a-2")
    await world.change_pod_group("a", annotations={key: spec.replace("Gathr", "Gather")})
    await world.bound("a-1", "a-2")
