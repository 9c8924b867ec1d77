"""Mistakes that nobody would see: one warning each, with the likely spelling; nothing is refused because of them."""

from __future__ import annotations

import asyncio

import pytest

from tests.scenarios.objects import KOORDINATOR, gang
from tests.scenarios.world import World


async def test_a_pod_group_without_pods_is_warned_about_after_a_minute(virtual: World) -> None:
    await virtual.pod_group("train", minimum=2)
    await asyncio.sleep(50)
    assert not virtual.events("NoPods", pod_group="train")
    await asyncio.sleep(20)
    await virtual.event("NoPods", pod_group="train", text="pod-group.scheduling.sigs.k8s.io: train")
    await asyncio.sleep(600)
    assert len(virtual.events("NoPods", pod_group="train")) == 1


async def test_pods_that_name_no_pod_group_are_warned_about_with_the_likely_name(virtual: World) -> None:
    await virtual.pod_group("training", minimum=2)
    await virtual.pods("a-1", "a-2", gang="traning", cpu=1)
    await asyncio.sleep(70)
    text = "its label names PodGroup traning, which does not exist; did you mean training?"
    await virtual.event("PodGroupNotFound", pod="a-1", text=text)
    assert not virtual.events("PodGroupNotFound", pod="a-2")
    await virtual.event("NoPods", pod_group="training", text="pods name traning, which does not exist")


async def test_a_member_of_ours_is_warned_though_another_schedulers_pod_is_older(virtual: World) -> None:
    await virtual.pods("a-1", gang="a", scheduler="koord-schduler", cpu=1)
    await asyncio.sleep(5)
    await virtual.pods("a-2", gang="a", cpu=1)
    await asyncio.sleep(70)
    await virtual.event("PodGroupNotFound", pod="a-2", text="its label names PodGroup a, which does not exist")
    assert not virtual.events("PodGroupNotFound", pod="a-1")


async def test_a_pod_group_that_comes_within_the_minute_is_no_mistake(virtual: World) -> None:
    await virtual.nodes(1, cpu=1)
    await virtual.pods("a-1", gang="a", cpu=1)
    await asyncio.sleep(30)
    await virtual.pod_group("a", minimum=1)
    await virtual.bound("a-1")
    await asyncio.sleep(120)
    assert not virtual.events("PodGroupNotFound", pod="a-1")


async def test_a_pod_group_whose_pods_have_finished_is_no_mistake(virtual: World) -> None:
    await virtual.nodes(1, cpu=1)
    await virtual.pod_group("a", minimum=1)
    await virtual.pods("a-1", gang="a", cpu=1)
    await virtual.bound("a-1")
    await virtual.finish("a-1")
    await asyncio.sleep(120)
    assert not virtual.events("NoPods", pod_group="a")


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        (f"{KOORDINATOR}/min-availble", f"{KOORDINATOR}/min-available"),
        ("gang.scheduling.koordinator.io/name", f"{KOORDINATOR}/name"),
        ("koordpy.io/disruption-mod", "koordpy.io/disruption-mode"),
        ("kai.scheduler/queeu", "kai.scheduler/queue"),
    ],
)
async def test_a_misspelt_annotation_is_warned_about_with_its_likely_spelling(
    world: World, key: str, meant: str
) -> None:
    await world.pods("a-1", "a-2", annotations={key: "2"}, cpu=1)
    await world.event("LooksMisspelt", pod="a-1", text=f"{key} means nothing to koord-scheduler; did you mean {meant}?")
    await world.stays(lambda: not world.events("LooksMisspelt", pod="a-2"), "one warning for both pods")


async def test_a_misspelt_label_is_warned_about(world: World) -> None:
    await world.pods("a-1", labels={"pod-groups.scheduling.sigs.k8s.io": "a"}, cpu=1)
    await world.event("LooksMisspelt", pod="a-1", text="did you mean pod-group.scheduling.sigs.k8s.io?")


async def test_a_misspelt_annotation_of_a_pod_group_is_warned_about(world: World) -> None:
    await world.pod_group("a", minimum=1, annotations={"koordpy.io/disruption-modes": "All"})
    await world.event("LooksMisspelt", pod_group="a", text="did you mean koordpy.io/disruption-mode?")


async def test_a_member_for_a_scheduler_that_is_nearly_ours_is_warned_about(world: World) -> None:
    await world.pods("a-1", annotations=gang("a", minimum=2), scheduler="koord-schduler", cpu=1)
    text = "schedulerName koord-schduler is none of ours"
    await world.event("LooksMisspelt", pod="a-1", text=text)


async def test_what_is_spelt_right_or_means_something_else_is_not_warned_about(world: World) -> None:
    await world.nodes(1, cpu=4)
    odd = {"scheduling.example.com/queue": "x", "koordinator.sh/qosClass": "LS", "app.kubernetes.io/name": "x"}
    await world.pods("a-1", annotations=gang("a", minimum=1) | odd, cpu=1)
    await world.pods("b-1", annotations=gang("a", minimum=1), scheduler="default-scheduler", cpu=1)
    await world.bound("a-1")
    assert not world.events("LooksMisspelt", pod="a-1")
    assert not world.events("LooksMisspelt", pod="b-1")
