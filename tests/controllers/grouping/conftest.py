"""`world`: the embedded API and a real kube-apiserver, in turn."""

from collections.abc import AsyncIterator

import pytest

from tests.controllers.grouping.world import World, embedded_world, real_world, run_ai_definition


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real)])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    which = embedded_world() if request.param == "embedded" else real_world(request.getfixturevalue("control_plane"))
    async with which as world:
        await world.install(run_ai_definition())
        yield world


@pytest.fixture
async def embedded() -> AsyncIterator[World]:
    """The embedded API alone, for what does not depend on the server."""
    async with embedded_world() as world:
        await world.install(run_ai_definition())
        yield world
