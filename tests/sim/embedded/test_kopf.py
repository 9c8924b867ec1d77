"""A kopf operator runs on the embedded API: it discovers, watches, handles and patches."""

import asyncio
import threading

import aiohttp

from koordpy.sim.embedded.server import EmbeddedServer
from tests.sim.embedded.inprocess import PODS, pod

TIMEOUT = aiohttp.ClientTimeout(total=20)


def _operate(kubeconfig: str, seen: asyncio.Queue, loop: asyncio.AbstractEventLoop, stop: threading.Event) -> None:
    """Run an operator in this thread: kopf wants a loop of its own."""
    import kopf

    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    def login(**_: object) -> kopf.ConnectionInfo:
        return kopf.ConnectionInfo(server=kubeconfig)

    @kopf.on.event("pods", registry=registry)
    def told(type: str | None, name: str | None, **_: object) -> None:  # noqa: A002 -- kopf names it
        loop.call_soon_threadsafe(seen.put_nowait, (type, name))

    @kopf.on.create("configmaps", registry=registry)
    def created(patch: kopf.Patch, **_: object) -> None:
        patch.metadata.labels["handled"] = "yes"

    kopf.run(registry=registry, standalone=True, clusterwide=True, stop_flag=stop)


async def test_a_kopf_operator_hears_pods_and_patches_what_it_handles():
    async with EmbeddedServer() as server, aiohttp.ClientSession(server.url, timeout=TIMEOUT) as session:
        seen: asyncio.Queue[tuple[str | None, str]] = asyncio.Queue()
        stop = threading.Event()
        arguments = (server.url, seen, asyncio.get_running_loop(), stop)
        await server.create(PODS, pod("before"))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(asyncio.to_thread(_operate, *arguments))
            try:
                async with asyncio.timeout(30):
                    assert await seen.get() == (None, "before")
                    await server.create(PODS, pod("after"))
                    assert await seen.get() == ("ADDED", "after")
                    await _handled(server, session)
            finally:
                stop.set()


async def _handled(server: EmbeddedServer, session: aiohttp.ClientSession) -> None:
    configmaps = "/api/v1/namespaces/default/configmaps"
    await server.create(configmaps, {"metadata": {"name": "c"}})
    while True:
        async with session.get(f"{configmaps}/c") as response:
            if (await response.json())["metadata"].get("labels") == {"handled": "yes"}:
                return
        await asyncio.sleep(0.05)
