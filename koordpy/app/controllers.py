"""`koordpy controllers` put together: connection, watches, lease, looks and health, as one tree of tasks.

It runs by itself, or beside the scheduler in one loop (`koordpy run --with-controllers`); either way with a lease of
its own, so that of all replicas one writes.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
import time
from collections.abc import Callable
from typing import Any

import structlog

from koordpy import __version__, metrics
from koordpy.api.decode import Decoder
from koordpy.api.podgroup import GROUPS
from koordpy.app.process import check_reachable
from koordpy.app.settings import Settings
from koordpy.controllers.podgroup.api import PodGroupApi
from koordpy.controllers.podgroup.controller import StatusKeeper
from koordpy.controllers.podgroup.gangs import Roster
from koordpy.controllers.podgroup.members import GangPod
from koordpy.controllers.runtime.workqueue import Agenda
from koordpy.controllers.topology.setup import TopologyController
from koordpy.kube.auth.credentials import load_credentials
from koordpy.kube.client import Client
from koordpy.kube.http.transport import HttpTransport
from koordpy.kube.leader import LeaderLease, LeaseName
from koordpy.kube.watch.reflector import Reflector, Resource
from koordpy.server.health import Health
from koordpy.server.http import application, serve
from koordpy.server.settings import Serving

LEASE = "koordpy-controllers"
_WIDTH = 8  # writes in flight

# All pods, not only those with a label: annotations can name a gang, and cannot be selected by. Finished ones as well.
_PODS = Resource("/api/v1/pods", Decoder("Pod", GangPod))

log = structlog.get_logger()


async def run(settings: Settings, serving: Serving | None) -> None:
    """Keep statuses true until cancelled; raises CannotStart, BadCredentials or CannotServe with one line.

    `settings` are the scheduler's: which pods are ours, how leaders are elected, and where the API server is.
    """
    credentials = await load_credentials(settings.kubeconfig)
    async with HttpTransport(credentials, connections=_WIDTH) as transport:
        client = Client(transport)
        await check_reachable(client, "/api/v1/pods")
        await Controllers(client, settings).run(serving)


class Controllers:
    """The controllers on a given connection."""

    def __init__(self, client: Client, settings: Settings, wall: Callable[[], float] = time.time) -> None:
        schedulers = [profile.scheduler_name for profile in settings.profiles]
        self._lease, writing = _elected(client, settings)
        self._agenda = Agenda(_WIDTH)
        self.roster = Roster(schedulers, self._agenda.note, wall)
        apis = {group: PodGroupApi(group, self.roster) for group in GROUPS}
        self._pods = Reflector(client, _PODS, self.roster)
        pod_groups = (Reflector(client, api.resource, api) for api in apis.values())
        self._topology = TopologyController(client, writing, wall)
        self._reflectors: tuple[Reflector[Any], ...] = (self._pods, *pod_groups, *self._topology.reflectors)
        self._keeper = StatusKeeper(writing, self.roster, apis, self._agenda)
        self.health = Health(ready=self._checks())

    async def run(self, serving: Serving | None) -> None:
        """Until cancelled."""
        metrics.BUILD.labels(__version__).set(1)
        log.info("starting_controllers", version=__version__)
        try:
            async with asyncio.TaskGroup() as tasks:
                if serving is not None:
                    tasks.create_task(serve(application(self.health, lambda: None), serving))
                for reflector in self._reflectors:
                    tasks.create_task(reflector.run())
                tasks.create_task(self._lead() if self._lease is None else self._lease.run(self._lead))
        finally:
            self.health.stopping = True

    async def _lead(self) -> None:
        if self._lease is None:
            metrics.CONTROLLERS_LEADER.set(1)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._keep_pod_groups())
            tasks.create_task(self._topology.run())

    async def _keep_pod_groups(self) -> None:
        await self._pods.synced.wait()  # half of the pods would make half a gang
        keys = [gang.key for gang in self.roster if gang.pod_groups]
        log.info("keeping_podgroup_status", podgroups=len(keys))
        await self._agenda.run(self._keeper.look, keys)

    def _checks(self) -> dict[str, Callable[[], str]]:
        checks = {f"watch-{each.full_name}": _trouble(each) for each in self._reflectors}
        checks["podgroup-status"] = lambda: self._keeper.trouble
        checks["topology-status"] = lambda: self._topology.trouble
        if (lease := self._lease) is not None:
            checks["leader-election"] = lambda: lease.trouble
        return checks


def _trouble(reflector: Reflector[Any]) -> Callable[[], str]:
    return lambda: reflector.trouble or ("" if reflector.synced.is_set() else "not synced yet")


def _elected(client: Client, settings: Settings) -> tuple[LeaderLease | None, Client]:
    """The lease, and a client that writes only while we hold it."""
    election = settings.leader_election
    if not election.enabled:
        return None, client
    identity = f"{socket.gethostname()}_{secrets.token_hex(4)}"
    name = LeaseName(election.namespace, LEASE)
    lease = LeaderLease(client, name, identity, election.timing, gauge=metrics.CONTROLLERS_LEADER)
    return lease, client.guarded_by(lease.holds)
