"""The observer itself: a story in which somebody does what never may happen fails, and says what it was."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import pytest

from tests.scenarios import api
from tests.scenarios.api import MERGE
from tests.scenarios.objects import gang
from tests.scenarios.observer import Violation
from tests.scenarios.world import World, embedded_world


@contextlib.asynccontextmanager
async def found(text: str) -> AsyncIterator[World]:
    """A world in which the test plays the scheduler, and a violation that the observer must find in it."""
    with pytest.raises(Violation, match=text):  # noqa: PT012 - which verb fails depends on when it is seen
        async with embedded_world() as world:
            await world.stop()
            world.observer.scheduler_started()
            await world.nodes(2, cpu=4)
            yield world


async def test_a_gang_bound_in_part_is_found() -> None:
    async with found("gang scenario/a stays bound in part: {'a-1': 'n1', 'a-2': ''}") as world:
        await world.pod_group("a", minimum=2)
        await world.pods("a-1", "a-2", gang="a")
        await world.bind("a-1", "n1")


async def test_a_gang_bound_without_its_partner_is_found() -> None:
    async with found("gang scenario/a stays bound in part") as world:
        both = world.group("a", "b")
        await world.pods("a-1", annotations=gang("a", minimum=1, groups=both))
        await world.pods("b-1", annotations=gang("b", minimum=1, groups=both))
        await world.bind("a-1", "n1")


async def test_a_node_with_more_than_it_has_is_found() -> None:
    async with found("node n1 has cpu 4000, and its pods ask for 6000") as world:
        await world.pods("p1", "p2", cpu=3)
        await world.bind("p1", "n1")
        await world.bind("p2", "n1")


async def test_too_many_pods_on_a_node_are_found() -> None:
    async with found("node small has pods 1, and its pods ask for 2") as world:
        await world.node("small", pods=1)
        await world.pods("p1", "p2")
        await world.bind("p1", "small")
        await world.bind("p2", "small")


async def test_a_deletion_by_somebody_else_is_found() -> None:
    async with found("scenario/p was deleted, and not by the story") as world:
        await world.pods("p")
        await world.api.ask("DELETE", api.pods(world.namespace, "p"))
        await world.until(lambda: world.mirror.pod(world.namespace, "p") is None, "p is gone")


async def test_a_pod_that_changes_its_node_is_found() -> None:
    """No API server does this; the observer would see it in one that did."""
    async with found("scenario/p was on n1 and is on n2 now") as world:
        await world.pods("p")
        await world.bind("p", "n1")
        moved = {**world.pod("p"), "spec": {**world.pod("p")["spec"], "nodeName": "n2"}}
        world.mirror._note("/api/v1/pods", "MODIFIED", moved)


async def test_a_gang_whose_binds_settle_is_none_of_its_business() -> None:
    async with embedded_world() as world:
        await world.stop()
        world.observer.scheduler_started()
        await world.nodes(1)
        await world.pods("a-1", "a-2", annotations=gang("a", minimum=2))
        await world.bind("a-1", "n1")
        await world.bind("a-2", "n1")
        await world.pods("a-3", annotations=gang("a", minimum=2))
        await world.delete("a-1")
        await world.at_rest()


async def test_the_minimum_is_that_of_the_oldest_pod_with_a_legal_one() -> None:
    async with found("gang scenario/a stays bound in part") as world:
        await world.pod_group("a", minimum=1)
        await world.pods("a-1", gang="a", annotations=gang(minimum="many"))
        await world.pods("a-2", gang="a", annotations=gang(minimum=2))
        await world.pods("a-3", gang="a", annotations=gang(minimum=1))
        await world.bind("a-1", "n1")


async def test_a_node_that_the_story_made_smaller_is_nobodys_fault() -> None:
    async with embedded_world() as world:
        await world.nodes(1, cpu=4)
        await world.pods("p", cpu=4)
        await world.bound("p")
        await world.resize_node("n1", cpu=2)
        await world.api.ask("PATCH", api.pods(world.namespace, "p"), {"metadata": {"labels": {"x": "y"}}}, MERGE)
        await world.at_rest()
