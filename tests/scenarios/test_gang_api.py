"""Koordinator's HTTP API about gangs, as its users and dashboards read it."""

from __future__ import annotations

from tests.scenarios.objects import gang
from tests.scenarios.world import World

GANG = "/apis/v1/plugins/Coscheduling/gang"
GANGS = "/apis/v1/plugins/Coscheduling/gangs"
MINUTE_NS = 60 * 10**9


async def test_a_gang_shows_its_configuration(world: World) -> None:
    annotations = gang(mode="NonStrict", total=4, policy="waiting-and-running", wait="5m")
    await world.pod_group("a", minimum=2, annotations=annotations)
    await world.pods("a-1", gang="a")
    await world.gang_shows(
        "a",
        name=f"{world.namespace}/a",
        waitTime=5 * MINUTE_NS,
        mode="NonStrict",
        gangMatchPolicy="waiting-and-running",
        minRequiredNumber=2,
        totalChildrenNum=4,
        gangGroup=[f"{world.namespace}/a"],
        gangFrom="GangFromPodGroupCrd",
        hasGangInit=True,
        onceResourceSatisfied=False,
    )


async def test_a_gang_of_annotations_says_where_it_is_from(world: World) -> None:
    await world.pods("a-1", annotations=gang("a", minimum=2))
    await world.gang_shows("a", gangFrom="GangFromPodAnnotation", mode="Strict", gangMatchPolicy="once-satisfied")


async def test_a_gang_without_a_minimum_is_not_initialised(world: World) -> None:
    await world.pods("a-1", gang="a")
    await world.gang_shows("a", hasGangInit=False)


async def test_members_are_shown_where_they_are(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.busy_node()
    await world.pods("a-1", "a-2", "a-3", annotations=gang("a", minimum=3, mode="NonStrict"), cpu=1)
    await world.says("a-1", "2 of 3 members fit")
    shown = await world.gang_summary("a")
    everyone = {f"{world.namespace}/a-{number}" for number in (1, 2, 3)}
    assert shown["children"].keys() == everyone
    assert len(shown["waitingForBindChildren"]) == 2
    assert shown["pendingChildren"].keys() == everyone - shown["waitingForBindChildren"].keys()
    assert not shown["boundChildren"]
    await world.node("n3", cpu=1)
    await world.bound("a-1", "a-2", "a-3")
    everything = {name: {} for name in everyone}
    await world.gang_shows(
        "a", boundChildren=everything, pendingChildren={}, waitingForBindChildren={}, onceResourceSatisfied=True
    )


async def test_a_group_is_shown_with_all_its_gangs(world: World) -> None:
    both = world.group("a", "b")
    await world.pods("a-1", annotations=gang("a", minimum=1, groups=both))
    await world.gang_shows("a", gangGroup=both)
    shown = (await world.gang_summary("a"))["gangGroupInfo"]
    assert shown["GangGroup"] == both
    assert shown["GangGroupId"] == ",".join(both)
    assert shown["OnceResourceSatisfied"] is False


async def test_all_gangs_are_listed_by_their_id(world: World) -> None:
    await world.pods("a-1", annotations=gang("a", minimum=1))
    await world.pod_group("b", minimum=2)
    await world.gang_shows("b", minRequiredNumber=2)
    status, shown = await world.http(GANGS)
    assert status == 200
    assert {f"{world.namespace}/a", f"{world.namespace}/b"} <= shown.keys()
    assert shown[f"{world.namespace}/b"] == await world.gang_summary("b")


async def test_an_unknown_gang_is_not_found(world: World) -> None:
    status, answer = await world.http(f"{GANG}/{world.namespace}/nobody")
    assert status == 404
    assert answer == {"message": f"cannot find gang {world.namespace}/nobody"}


async def test_a_gang_that_is_gone_is_not_shown_any_more(world: World) -> None:
    await world.pods("a-1", annotations=gang("a", minimum=1))
    await world.gang_shows("a", minRequiredNumber=1)
    await world.delete("a-1")
    await world.answers(f"{GANG}/{world.namespace}/a", 404)


async def test_whoever_does_not_lead_does_not_answer(world: World) -> None:
    await world.pods("a-1", annotations=gang("a", minimum=1))
    await world.stand_by()
    status, answer = await world.http(f"{GANG}/{world.namespace}/a")
    assert (status, answer) == (503, {"message": "the instance is not leader"})
    status, _ = await world.http(GANGS)
    assert status == 503
