"""The controller is killed before and after each of its calls, in every story.

The end is that of the undisturbed run, and no place of a job has two pods at any instant.
"""

from __future__ import annotations

from typing import Any

import looptime
import pytest

from tests.controllers.queuejob import morestories
from tests.controllers.queuejob.killed import Killing, NoPodTwice, end_of, restarted_controllers
from tests.controllers.queuejob.stories import Story
from tests.controllers.queuejob.world import embedded_world

pytestmark = pytest.mark.random


@pytest.mark.parametrize("story", morestories.ALL, ids=lambda story: story.__name__)
async def test_a_controller_that_is_killed_at_any_call_comes_to_the_same_end(story: Story):
    with looptime.enabled(strict=True):
        undisturbed, writes = await _told(story)
        assert writes
        for nth in range(1, len(writes) + 1):
            for when in ("before", "after"):
                end, _ = await _told(story, nth, when)
                assert end == undisturbed, f"killed {when} call {nth}, {writes[nth - 1]}"


async def _told(story: Story, nth: int = 0, when: str = "before") -> tuple[dict[str, Any], list[str]]:
    async with embedded_world() as world:
        observer = NoPodTwice(world.store)
        transport = Killing(world.transport, nth, when)
        async with restarted_controllers(world, transport):
            try:
                await story(world)
                end = await end_of(world)
            except AssertionError as error:
                error.add_note(f"killed {when} call {nth}: {transport.writes[-1:]}")
                raise
        assert observer.seen == []
        return end, transport.writes
