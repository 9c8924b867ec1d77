"""The two servers that the tests of this directory hold against each other."""

import contextlib
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from koordpy.sim.embedded.server import EmbeddedServer
from tests.controlplane.client import Client
from tests.controlplane.fixtures import corner
from tests.controlplane.server import ControlPlane
from tests.controlplane.sweep import compact

EMBEDDED_NAMESPACE = "behaviour"


@dataclass(frozen=True)
class Server:
    """An API under test. `forget_history` makes it lose every version older than the present one."""

    client: Client
    forget_history: Callable[[], Awaitable[None]]


@contextlib.asynccontextmanager
async def embedded() -> AsyncIterator[Server]:
    """A new server per test; without kubelets and controllers, as the real one has none either."""
    async with (
        EmbeddedServer(kubelets=False, controllers=False) as server,
        Client(server.url, namespace=EMBEDDED_NAMESPACE) as client,
    ):
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": EMBEDDED_NAMESPACE}}
        (await client.create("namespaces", body)).ok()

        async def forget() -> None:
            server.forget_history()

        yield Server(client, forget)


@contextlib.asynccontextmanager
async def real(control_plane: ControlPlane) -> AsyncIterator[Server]:
    """The one of the test run, in a namespace of the test's own."""
    async with corner(control_plane) as own:

        async def forget() -> None:
            """Compact etcd, then restart the API server: its watch cache remembers what etcd has forgotten."""
            listed = (await own.client.list("pods")).ok()
            await compact(control_plane.etcd_url, int(listed["metadata"]["resourceVersion"]))
            await control_plane.stop_apiserver(signal.SIGKILL)
            await control_plane.start_apiserver()

        yield Server(own.client, forget)
