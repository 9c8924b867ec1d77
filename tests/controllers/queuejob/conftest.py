"""`world`: the embedded API in virtual time, and a real kube-apiserver with kube-controller-manager, in turn."""

from collections.abc import AsyncIterator, Iterator

import looptime
import pytest

from tests.controllers.queuejob.world import World, embedded_world, real_world
from tests.controlplane.manager import ControllerManager
from tests.controlplane.server import ControlPlane


@pytest.fixture(scope="module")
def controller_manager(
    control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControllerManager]:
    directory = tmp_path_factory.mktemp("controller-manager")
    manager = ControllerManager(control_plane, directory, "garbage-collector-controller", "resourcequota-controller")
    yield manager
    manager.close()


@pytest.fixture
def with_controller_manager() -> None:
    """Has it built before the first test (`tests/conftest.py`)."""


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real)])
async def world(request: pytest.FixtureRequest, with_controller_manager: None) -> AsyncIterator[World]:
    if request.param == "embedded":
        with looptime.enabled(strict=True):
            async with embedded_world() as world:
                yield world
        return
    # Asked for by name so that the runs on the embedded server do not start the real one.
    manager = request.getfixturevalue("controller_manager")
    async with real_world(request.getfixturevalue("control_plane"), manager.start) as world:
        yield world


@pytest.fixture
async def real_world_of_jobs(control_plane: ControlPlane) -> AsyncIterator[World]:
    """Without kube-controller-manager: for what the API server alone does."""
    async with real_world(control_plane, lambda: None) as world:
        yield world
