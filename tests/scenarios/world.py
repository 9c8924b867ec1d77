"""The two worlds in which each story is told: the embedded API in virtual time, and a real kube-apiserver.

In both, koordpy is the whole process in the test's own loop, on a connection of its own that stories can break.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import looptime

from koordpy.app.settings import LeaderElection, Settings
from koordpy.kube.auth.credentials import load_credentials
from koordpy.kube.http.transport import HttpTransport, Transport
from koordpy.server import http
from koordpy.server.settings import Serving
from koordpy.sim.embedded.server import EmbeddedCluster
from koordpy.sim.embedded.transport import DirectTransport
from tests.configs import reading
from tests.controlplane.fixtures import corner
from tests.controlplane.process import free_ports
from tests.controlplane.server import ControlPlane
from tests.controlplane.sweep import cluster_scoped, sweep
from tests.scenarios import clock
from tests.scenarios.api import Api
from tests.scenarios.asking import Captured, over_the_network
from tests.scenarios.cluster import ClusterVerbs
from tests.scenarios.controlling import ControllingVerbs, controllers_instance
from tests.scenarios.crds import install_crds
from tests.scenarios.evicting import EvictingVerbs
from tests.scenarios.faults import FaultyTransport
from tests.scenarios.mirror import EVENTS, GANG_OBJECTS, NODES, PODS, QUEUES, Mirror
from tests.scenarios.network import NetworkVerbs
from tests.scenarios.observer import Observer
from tests.scenarios.queueing import QueueVerbs
from tests.scenarios.scheduler import Instance, scheduler_instance, traceable_tasks

_CONNECTIONS = 32
# A power of two: sums of times are then exact. A timer that is late by rounding alone would be set again for ever.
_TICK_S = 2.0**-20


class World(QueueVerbs, ClusterVerbs, NetworkVerbs, ControllingVerbs, EvictingVerbs):
    """A cluster with koordpy on it, and everything that a story can do with it and expect of it."""

    other_namespace: str


@dataclasses.dataclass(frozen=True)
class Pace:
    """How long things may take, in the seconds of a world."""

    wait_s: float  # until something expected counts as missing
    quiet_s: float  # long enough to see that nothing happens
    settle_s: float  # that a gang may be seen bound in part


VIRTUAL = Pace(wait_s=60.0, quiet_s=30.0, settle_s=45.0)
REAL = Pace(wait_s=30.0, quiet_s=0.5, settle_s=8.0)


@contextlib.asynccontextmanager
async def embedded_world() -> AsyncIterator[World]:
    captured = Captured()
    loop = asyncio.get_running_loop()
    assert isinstance(loop, looptime.LoopTimeEventLoop)
    loop.setup_looptime(resolution=_TICK_S)
    with looptime.enabled(strict=True), clock.virtual_clocks(), mock.patch.object(http, "serve", captured.serve):
        async with EmbeddedCluster(kubelets=False, controllers=False, clock=clock.wall) as cluster:
            transport = DirectTransport(cluster.handle)
            for name in ("scenario", "scenario-2"):
                await cluster.create("/api/v1/namespaces", {"metadata": {"name": name}})
            async with _world(transport, transport, "scenario", VIRTUAL, Serving("127.0.0.1", 0)) as world:
                world.http = captured.ask
                yield world


@contextlib.asynccontextmanager
async def real_world(control_plane: ControlPlane) -> AsyncIterator[World]:
    async with corner(control_plane) as own, _second_namespace(control_plane, own.namespace, own.client):
        with _kubeconfig(control_plane) as path:
            credentials = await load_credentials(path)
        (port,) = free_ports(1)
        async with (
            HttpTransport(credentials, _CONNECTIONS) as ours,
            HttpTransport(credentials, _CONNECTIONS) as koordpys,
            _world(ours, koordpys, own.namespace, REAL, Serving("127.0.0.1", port)) as world,
        ):
            world.http = over_the_network(port)
            yield world


@contextlib.asynccontextmanager
async def _world(
    ours: Transport, koordpys: Transport, namespace: str, pace: Pace, serving: Serving
) -> AsyncIterator[World]:
    server = Api(ours)
    await install_crds(server)
    mirror = Mirror(server, {namespace, f"{namespace}-2"})
    observer = Observer(mirror, asyncio.get_running_loop().time, pace.settle_s)

    def new_instance(coscheduling: dict[str, Any], election: LeaderElection) -> Instance:
        settings = dataclasses.replace(_settings(coscheduling), leader_election=election, serving=serving)
        return scheduler_instance(FaultyTransport(koordpys), settings)

    def new_controllers(election: LeaderElection) -> Instance:
        settings = dataclasses.replace(_settings({}), leader_election=election)
        return controllers_instance(FaultyTransport(koordpys), settings)

    async with mirror.running(PODS, NODES, EVENTS, QUEUES, *GANG_OBJECTS):
        world = World(
            server,
            mirror,
            observer,
            namespace=namespace,
            new_instance=new_instance,
            wait_s=pace.wait_s,
            quiet_s=pace.quiet_s,
            wall=clock.wall if pace is VIRTUAL else time.time,
        )
        world.other_namespace = f"{namespace}-2"
        world.new_controllers = new_controllers
        with traceable_tasks():
            await world.start()
            try:
                yield world
                if not observer.has_spoken:
                    await world.at_rest()
            finally:
                await world.end()


def _settings(given: dict[str, Any]) -> Settings:
    """Through the configuration file, as users give them: `koordpy` and `profiles` are fields of it, the others args.

    `profiles` are what follows the first one, which is koord-scheduler's.
    """
    args = {key: value for key, value in given.items() if key not in ("koordpy", "profiles")}
    first: dict[str, Any] = {"schedulerName": "koord-scheduler"}
    if args:
        first["pluginConfig"] = [{"name": "Coscheduling", "args": args}]
    fields = {"profiles": [first, *given.get("profiles", ())], "koordpy": given.get("koordpy", {})}
    with tempfile.TemporaryDirectory() as folder:
        return reading(Path(folder), **fields)[0]


@contextlib.contextmanager
def _kubeconfig(control_plane: ControlPlane) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        yield str(control_plane.kubeconfig(Path(folder) / "kubeconfig"))


@contextlib.asynccontextmanager
async def _second_namespace(control_plane: ControlPlane, first: str, client: Any) -> AsyncIterator[None]:
    """For groups that span two; swept like the first."""
    name = f"{first}-2"
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    (await client.create("namespaces", body)).ok()
    try:
        yield
    finally:
        await sweep(control_plane.etcd_url, name, await cluster_scoped(control_plane.etcd_url))
