"""`server`: the embedded API and the real one, in turn, behind the same client.

A test that passes on one and fails on the other has found a mistake in the embedded server, or in the test.
"""

from collections.abc import AsyncIterator

import pytest

from tests.api_behaviour.servers import Server, embedded, real
from tests.controlplane.client import Client


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real)])
async def server(request: pytest.FixtureRequest) -> AsyncIterator[Server]:
    # Asked for by name so that the runs on the embedded server do not start the real one.
    started = embedded() if request.param == "embedded" else real(request.getfixturevalue("control_plane"))
    async with started as server:
        yield server


@pytest.fixture
def api(server: Server) -> Client:
    """The client of the server under test, in a namespace of this test's own."""
    return server.client
