"""Each story on the embedded API in virtual time, and on a real kube-apiserver with kube-controller-manager."""

from __future__ import annotations

import pytest

from tests.controllers.queuejob import morestories
from tests.controllers.queuejob.stories import Story
from tests.controllers.queuejob.world import World


@pytest.mark.parametrize("story", morestories.ALL, ids=lambda story: story.__name__)
async def test_story(story: Story, world: World):
    async with world.controllers():
        await story(world)
