"""Where each field of a gang comes from, and what becomes of values that are no values."""

from __future__ import annotations

import pytest

from tests.scenarios.objects import KOORDINATOR, SIGS, gang
from tests.scenarios.world import World

MINUTE_NS = 60 * 10**9


async def test_the_minimum_on_a_pod_wins_over_the_pod_group(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=5, annotations=gang(minimum=4))
    await world.pods("a-1", "a-2", gang="a", annotations=gang(minimum=2))
    await world.bound("a-1", "a-2")


async def test_an_annotation_on_the_pod_group_wins_over_its_spec(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=5, annotations=gang(minimum=2))
    await world.pods("a-1", gang="a")
    await world.says("a-1", "gang {ns}/a is incomplete: 1 of 2 members")
    await world.pods("a-2", gang="a")
    await world.bound("a-1", "a-2")


async def test_of_several_pods_the_oldest_with_a_legal_value_decides(world: World) -> None:
    await world.nodes(1)
    await world.pods("a-1", annotations=gang("a", minimum="many"))
    await world.pods("a-2", annotations=gang("a", minimum=3))
    await world.pods("a-3", annotations=gang("a", minimum=1), gated=True)
    await world.says("a-1", "gang {ns}/a is incomplete: 2 of 3 members")


async def test_the_oldest_is_told_by_its_creation_and_then_by_its_name(world: World) -> None:
    await world.nodes(1)
    await world.pods("z", annotations=gang("a", minimum=3))
    await world.another_second()
    await world.pods("b", annotations=gang("a", minimum=2))
    await world.says("b", "gang {ns}/a is incomplete: 2 of 3 members")
    await world.pending("b", "z")


@pytest.mark.parametrize(
    ("labels", "annotations"),
    [({f"{SIGS}/min-available": "2"}, {}), ({}, {f"{SIGS}/min-available": "2"})],
    ids=["label", "annotation"],
)
async def test_the_minimum_has_an_older_spelling(
    world: World, labels: dict[str, str], annotations: dict[str, str]
) -> None:
    await world.nodes(1)
    await world.pods("a-1", labels=labels, annotations=gang("a") | annotations)
    await world.says("a-1", "gang {ns}/a is incomplete: 1 of 2 members")
    await world.pods("a-2", labels=labels, annotations=gang("a") | annotations)
    await world.bound("a-1", "a-2")


async def test_a_gang_of_pods_without_a_minimum_waits_and_says_so(world: World) -> None:
    await world.nodes(1)
    await world.pods("a-1", annotations=gang("a"))
    await world.says("a-1", "gang {ns}/a has no minimum: no member carries a legal")
    await world.event("FailedScheduling", pod="a-1", text="gang {ns}/a has no minimum")
    await world.pending("a-1")
    await world.pods("a-2", annotations=gang("a", minimum=2))
    await world.bound("a-1", "a-2")


@pytest.mark.parametrize("value", ["many", "-1", ""])
async def test_an_illegal_minimum_is_none_and_one_event_says_so(world: World, value: str) -> None:
    await world.nodes(1)
    await world.pods("a-1", annotations=gang("a", minimum=value))
    await world.says("a-1", "gang {ns}/a has no minimum")
    told = await world.event("InvalidGangSpec", pod="a-1", text=f"{KOORDINATOR}/min-available")
    assert told["type"] == "Warning"
    assert f'"{value}"' in told["note"]
    await world.pending("a-1")
    assert len(world.events("InvalidGangSpec", pod="a-1")) == 1


async def test_an_illegal_minimum_on_a_pod_leaves_the_pod_groups_in_place(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", "a-2", gang="a", annotations=gang(minimum="many"))
    await world.bound("a-1", "a-2")


async def test_a_minimum_of_zero_is_legal_and_asks_for_nobody(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=0)
    await world.pods("a-1", gang="a")
    await world.bound("a-1")


async def test_an_illegal_mode_is_strict_and_the_pod_group_is_told(world: World) -> None:
    await world.nodes(2, cpu=1)
    await world.pod_group("a", minimum=3, annotations=gang(mode="Lax"))
    await world.pods("a-1", "a-2", "a-3", gang="a", cpu=1)
    await world.event("InvalidGangSpec", pod_group="a", text=f'{KOORDINATOR}/mode: "Lax"')
    await world.event("InvalidGangSpec", pod_group="a", text="Strict")
    await world.pods("others-1", "others-2", cpu=1)
    await world.bound("others-1", "others-2")


@pytest.mark.parametrize("value", ["a,b", '["b"]', "[1]"])
async def test_an_illegal_group_is_the_gang_alone(world: World, value: str) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=1, annotations=gang(groups=value))
    await world.pods("a-1", gang="a")
    await world.bound("a-1")
    await world.event("InvalidGangSpec", pod_group="a", text=f"{KOORDINATOR}/groups")


@pytest.mark.parametrize("value", ["", "[]"])
async def test_an_empty_group_is_legal_and_the_gang_alone(world: World, value: str) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=1, annotations=gang(groups=value))
    await world.pods("a-1", gang="a")
    await world.bound("a-1")
    await world.stays(lambda: not world.events("InvalidGangSpec", pod_group="a"), "no complaint")


async def test_a_group_has_an_older_spelling(world: World) -> None:
    await world.nodes(1)
    older = {f"{KOORDINATOR}/gang-groups": '["{ns}/a", "{ns}/b"]'}
    await world.pods("a-1", annotations=gang("a", minimum=1) | older)
    await world.says("a-1", "gang {ns}/b does not exist")
    await world.pods("b-1", annotations=gang("b", minimum=1) | older)
    await world.bound("a-1", "b-1")


@pytest.mark.parametrize("value", ["soon", "0", "-5s"])
async def test_an_illegal_wait_time_is_the_default(world: World, value: str) -> None:
    await world.pods("a-1", annotations=gang("a", minimum=1, wait=value))
    await world.event("InvalidGangSpec", pod="a-1", text=f'{KOORDINATOR}/waiting-time: "{value}"')
    assert (await world.gang_summary("a"))["waitTime"] == 10 * MINUTE_NS


async def test_the_wait_time_of_pods_wins_over_the_pod_groups(world: World) -> None:
    await world.pod_group("a", minimum=1, timeout_s=120)
    await world.pods("a-1", gang="a")
    assert (await world.gang_summary("a"))["waitTime"] == 2 * MINUTE_NS
    await world.annotate("a-1", waiting_time="1h")
    await world.gang_shows("a", waitTime=60 * MINUTE_NS)


async def test_the_default_wait_time_comes_from_the_configuration(world: World) -> None:
    await world.restart(defaultTimeout="3m")
    await world.pod_group("a", minimum=1, timeout_s=0)
    await world.pods("a-1", gang="a")
    assert (await world.gang_summary("a"))["waitTime"] == 3 * MINUTE_NS


async def test_an_illegal_match_policy_is_the_default(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=2, annotations=gang(policy="sometimes"))
    await world.pods("a-1", "a-2", gang="a")
    await world.bound("a-1", "a-2")
    await world.event("InvalidGangSpec", pod_group="a", text=f'{KOORDINATOR}/match-policy: "sometimes"')
    await world.pods("a-3", gang="a")
    await world.bound("a-3")


async def test_a_match_policy_has_an_older_spelling_and_the_newer_one_wins(world: World) -> None:
    older = {f"{SIGS}/match-policy": "only-waiting"}
    await world.pods("a-1", annotations=gang("a", minimum=1) | older)
    await world.pods("b-1", annotations=gang("b", minimum=1, policy="waiting-and-running") | older)
    await world.gang_shows("a", gangMatchPolicy="only-waiting")
    await world.gang_shows("b", gangMatchPolicy="waiting-and-running")


@pytest.mark.parametrize(("total", "shown"), [("5", 5), ("1", 2), ("all", 2)])
async def test_a_total_below_the_minimum_or_illegal_is_the_minimum(world: World, total: str, shown: int) -> None:
    await world.pods("a-1", annotations=gang("a", minimum=2, total=total))
    await world.gang_shows("a", totalChildrenNum=shown)


async def test_an_illegal_gang_blocks_nobody_else(world: World) -> None:
    await world.nodes(1)
    everything = gang("bad", minimum="x", total="x", mode="x", groups="x", wait="x", policy="x")
    await world.pods("bad-1", "bad-2", annotations=everything)
    await world.pods("a-1", "a-2", annotations=gang("a", minimum=2))
    await world.pods("single")
    await world.bound("a-1", "a-2", "single")
    await world.pending("bad-1", "bad-2")
