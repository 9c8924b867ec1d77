"""`world`: the embedded API in virtual time and a real kube-apiserver, in turn; koordpy runs on it already."""

from collections.abc import AsyncIterator

import pytest

from koordpy.scheduler.answers import explaining
from koordpy.scheduler.answers.starts import Forward
from tests.scenarios.world import World, embedded_world, real_world


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real)])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    # Asked for by name so that the runs on the embedded server do not start the real one.
    which = embedded_world() if request.param == "embedded" else real_world(request.getfixturevalue("control_plane"))
    async with which as world:
        yield world


@pytest.fixture
async def virtual() -> AsyncIterator[World]:
    """The embedded API alone: for what would take minutes by a real clock, or has a hundred variants."""
    async with embedded_world() as world:
        yield world


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, all changes are tried, and the queue is played to its end."""
    monkeypatch.setattr(explaining, "BUDGET_S", 60.0)
    monkeypatch.setitem(Forward.__init__.__kwdefaults__, "budget_s", 60.0)
