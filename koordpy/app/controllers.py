"""`koordpy controllers` put together: connection, lease, controllers and health, as one tree of tasks.

The controllers run in a process of their own, or beside the scheduler in one loop (`koordpy run --with-controllers`).
Either way they have a lease of their own, so that of all replicas one writes. This module decides nothing about any
object: each controller has a room in `koordpy/controllers/`.
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
from koordpy.api.errors import MalformedValue
from koordpy.app.groupers import kinds_of_others
from koordpy.app.process import CannotStart, check_reachable
from koordpy.app.settings import Settings
from koordpy.controllers.grouping.controller import LEASE as PODGROUPER_LEASE
from koordpy.controllers.grouping.controller import PodGrouper
from koordpy.controllers.grouping.kinds.table import Kind
from koordpy.controllers.grouping.writer import WIDTH
from koordpy.controllers.podgroup.controller import podgroup_controller
from koordpy.controllers.queuejob.controller import QueueJobController
from koordpy.controllers.queues.controller import queue_controller
from koordpy.controllers.runtime.controller import Controller
from koordpy.controllers.topology.controller import topology_controller
from koordpy.kube.auth.credentials import load_credentials
from koordpy.kube.client import Client
from koordpy.kube.http.transport import HttpTransport
from koordpy.kube.leader import LeaderLease, LeaseName
from koordpy.kube.watch.shared import SharedReflectors
from koordpy.server.health import Health
from koordpy.server.http import application, serve
from koordpy.server.settings import Serving

LEASE = "koordpy-controllers"
WORKERS = 8  # status writes in flight; each has a connection
CONNECTIONS = WORKERS + WIDTH

log = structlog.get_logger()


async def run(settings: Settings, serving: Serving | None) -> None:
    """Keep statuses up to date until cancelled; raises CannotStart, BadCredentials or CannotServe with one line.

    `settings` are the scheduler's: which pods are ours, how leaders are elected, and where the API server is.
    """
    credentials = await load_credentials(settings.kubeconfig, settings.context)
    async with HttpTransport(credentials, connections=CONNECTIONS) as transport:
        client = Client(transport)
        await check_reachable(client, "/api/v1/pods")
        reflectors = SharedReflectors(client)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(reflectors.run())
            tasks.create_task(Controllers(client, settings, reflectors).run(serving))


class Controllers:
    """All controllers. Reconcilers run only while this process leads; the reflectors are run by whoever made them."""

    def __init__(
        self, client: Client, settings: Settings, reflectors: SharedReflectors, clock: Callable[[], float] = time.time
    ) -> None:
        schedulers = [profile.scheduler_name for profile in settings.profiles]
        self._lease, writing = lease_and_writing_client(client, settings)
        self._controllers: tuple[Controller[Any], ...] = (
            podgroup_controller(reflectors, writing, schedulers, clock, workers=WORKERS),
            topology_controller(reflectors, writing, clock),
            QueueJobController(reflectors, writing, clock, workers=WORKERS),
            queue_controller(reflectors, writing, schedulers, clock),
        )
        self._podgrouper: PodGrouper | None = None
        if settings.grouping.enabled:
            self._podgrouper_lease = _podgrouper_lease(client, settings)
            grouping = client.guarded_by(self._podgrouper_lease.holds)
            self._podgrouper = PodGrouper(reflectors, grouping, schedulers, clock, _kinds_of_others(settings))
        self._reflectors = reflectors
        self.health = Health(self._checks)

    async def run(self, serving: Serving | None = None) -> None:
        """Until cancelled."""
        metrics.BUILD.labels(__version__).set(1)
        log.info("starting_controllers", version=__version__)
        try:
            async with asyncio.TaskGroup() as tasks:
                if serving is not None:
                    tasks.create_task(serve(application(self.health, lambda: None), serving))
                tasks.create_task(self._lead() if self._lease is None else self._lease.run(self._lead))
                if self._podgrouper is not None:
                    tasks.create_task(self._group(self._podgrouper))
        finally:
            self.health.shut_down()

    async def _lead(self) -> None:
        if self._lease is None:
            metrics.CONTROLLERS_LEADER.set(1)
        async with asyncio.TaskGroup() as tasks:
            for controller in self._controllers:
                tasks.create_task(controller.run())

    async def _group(self, podgrouper: PodGrouper) -> None:
        await podgrouper.installed()
        await self._podgrouper_lease.run(podgrouper.run)

    def _checks(self) -> dict[str, Callable[[], str]]:
        checks = self._reflectors.checks()
        checks |= {f"{each.name}-status": _status_check(each) for each in self._controllers}
        if self._podgrouper is not None:
            checks["workload-grouping"] = _status_check(self._podgrouper.controller)
            checks["podgrouper-lease"] = lambda: self._podgrouper_lease.trouble
        if (lease := self._lease) is not None:
            checks["leader-election"] = lambda: lease.trouble
        return checks


def _status_check(controller: Controller[Any]) -> Callable[[], str]:
    return lambda: controller.trouble


def lease_and_writing_client(client: Client, settings: Settings) -> tuple[LeaderLease | None, Client]:
    """The lease, if leaders are elected, and a client that refuses to write unless this process holds it."""
    election = settings.leader_election
    if not election.enabled:
        return None, client
    name = LeaseName(election.namespace, LEASE)
    lease = LeaderLease(client, name, _identity(), election.timing, gauge=metrics.CONTROLLERS_LEADER)
    return lease, client.guarded_by(lease.holds)


def _podgrouper_lease(client: Client, settings: Settings) -> LeaderLease:
    """Held also where no leaders are elected: it tells the scheduler that there is a grouper to wait for."""
    election = settings.leader_election
    name = LeaseName(election.namespace, PODGROUPER_LEASE)
    return LeaderLease(client, name, _identity(), election.timing, gauge=metrics.PODGROUPER_LEADER)


def _kinds_of_others(settings: Settings) -> tuple[Kind, ...]:
    try:
        return kinds_of_others(settings.grouping)
    except MalformedValue as error:
        raise CannotStart(str(error)) from error


def _identity() -> str:
    return f"{socket.gethostname()}_{secrets.token_hex(4)}"
