"""`server`: the embedded API and the real one, in turn, behind the same client.

A test that passes on one and fails on the other has found a mistake in the embedded server, or in the test.
"""

import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import pytest

from koordpy.embedded.server import EmbeddedServer
from tests.controlplane.client import Client
from tests.controlplane.fixtures import Real, corner
from tests.controlplane.sweep import compact

EMBEDDED_NAMESPACE = "behaviour"


@dataclass(frozen=True)
class Server:
    """An API under test. `forget_history` makes it lose every version older than the present one."""

    client: Client
    forget_history: Callable[[], Awaitable[None]]


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.real)])
async def server(request: pytest.FixtureRequest) -> AsyncIterator[Server]:
    if request.param == "embedded":
        async with (
            EmbeddedServer(kubelets=False) as embedded,
            Client(embedded.url, namespace=EMBEDDED_NAMESPACE) as client,
        ):
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": EMBEDDED_NAMESPACE}}
            (await client.create("namespaces", body)).ok()

            async def forget() -> None:
                embedded.forget_history()

            yield Server(client, forget)
    else:
        async with corner(request.getfixturevalue("control_plane")) as real:
            yield Server(real.client, lambda: _forget(real))


@pytest.fixture
def api(server: Server) -> Client:
    """The client of the server under test, in a namespace of this test's own."""
    return server.client


async def _forget(real: Real) -> None:
    """Compact etcd, then restart the API server: its watch cache remembers what etcd has forgotten."""
    listed = (await real.client.list("pods")).ok()
    await compact(real.control_plane.etcd_url, int(listed["metadata"]["resourceVersion"]))
    await real.control_plane.stop_apiserver(signal.SIGKILL)
    await real.control_plane.start_apiserver()
