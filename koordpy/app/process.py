"""`koordpy run` put together: connection, state, watches, lease, scheduler and health, as one tree of tasks.

Everything lives in one task group. Losing the lease cancels what writes and keeps what watches; a signal cancels all of
it, releases the lease and ends the process with 0.
"""

from __future__ import annotations

import asyncio
import gc
import secrets
import socket
import time
from collections.abc import Callable, Collection, Iterator
from functools import cache
from typing import Any

import structlog

from koordpy import __version__, metrics
from koordpy.app.build import BuiltScheduler
from koordpy.app.competitors import Competitors
from koordpy.app.gauges import Gauges
from koordpy.app.journal.files import BadJournal
from koordpy.app.leadership import leadership
from koordpy.app.settings import Settings
from koordpy.controllers.grouping.kinds.table import Kinds
from koordpy.controllers.grouping.settings import GroupingSettings
from koordpy.kube.auth.credentials import load_credentials
from koordpy.kube.client import Client
from koordpy.kube.errors import ApiError, Transient
from koordpy.kube.events import EventRecorder
from koordpy.kube.http.transport import HttpTransport
from koordpy.kube.leader import LeaderLease, LeaseName
from koordpy.kube.watch.shared import SharedReflectors
from koordpy.scheduler.answers.advisor import Advisor
from koordpy.scheduler.answers.answering import Answering
from koordpy.scheduler.answers.bodies import Expand
from koordpy.scheduler.ingest.watches import Watches
from koordpy.scheduler.runtimes.learnt import LearntRunTimes
from koordpy.scheduler.runtimes.store import RunTimeStore
from koordpy.server.health import Health

# Connections for what is not a bind, so that neither waits for one of the other's.
_FOR_THE_REST = 32

log = structlog.get_logger()


class CannotStart(Exception):
    """The start cannot succeed; `str()` is one line that says why."""


async def run(settings: Settings) -> None:
    """Schedule until cancelled; raises CannotStart, BadCredentials or CannotServe with one line for the user."""
    credentials = await load_credentials(settings.kubeconfig, settings.context)
    async with HttpTransport(credentials, connections=connections(settings)) as transport:
        client = Client(transport)
        await check_reachable(client, "/api/v1/nodes")
        await Process(client, settings, SharedReflectors(client)).run()


def connections(settings: Settings) -> int:
    """For the scheduler's binds, and for the rest beside them."""
    return settings.bind_width + _FOR_THE_REST


async def check_reachable(client: Client, path: str) -> None:
    """A wrong address or dead credentials should be one line at the start and not a process that looks alive."""
    try:
        await client.page(path, limit=1)
    except ApiError as error:
        if error.status == 403:  # permissions may be granted later; readyz says what is missing until then
            log.warning("forbidden", problem=str(error), hint="grant koordpy's ClusterRole; readyz fails until then")
            return
        if isinstance(error, Transient) and error.status:  # 429 or 5xx: it is there, and the watches are patient
            log.warning("api_server_busy", problem=str(error), hint="trying again; readyz fails until it answers")
            return
        raise CannotStart(f"the API server cannot be used: {error}") from error


class Process:
    """One running scheduler on a given connection; it runs the reflectors, whoever else has subscribed to them."""

    def __init__(self, client: Client, settings: Settings, reflectors: SharedReflectors) -> None:
        identity = f"{socket.gethostname()}_{secrets.token_hex(4)}"
        election = settings.leader_election
        self._settings, self._client = settings, client
        self._lease: LeaderLease | None = None
        self._leads = False
        if election.enabled:
            name = LeaseName(election.namespace, election.name)
            self._lease = LeaderLease(client, name, identity, election.timing)
            writing = client.guarded_by(self._lease.holds)
        else:
            writing = client
        self._competitors = Competitors(
            client,
            [profile.scheduler_name for profile in settings.profiles],
            election.name,
            lease=self._lease,
            recorder=EventRecorder(writing, identity),
        )
        learnt = LearntRunTimes()
        try:
            self._leadership = leadership(settings, writing, identity, learnt, self._competitors.saw_foreign_bind)
        except BadJournal as error:
            raise CannotStart(f"--journal: {error}") from error
        self._expand = expansion(settings.grouping)
        self._answers = (self.built, _answering(self.built, self._expand))
        self._run_times = RunTimeStore(writing, learnt, election.namespace, self._leadership.act)
        self._reflectors, self._watches = (
            reflectors,
            Watches(reflectors, self._leadership.sinks, settings.leader_election.namespace),
        )
        self._advisor = Advisor(lambda: self.built.parts, self._answering, act=self._leadership.act)
        self.health = Health(self._checks)
        self._gauges = Gauges(lambda: self.built, lambda: self._leads)

    @property
    def built(self) -> BuiltScheduler:
        """The scheduler of the moment; with a journal there is another one in each of its files."""
        return self._leadership.built

    async def run(self) -> None:
        """Until cancelled."""
        metrics.BUILD.labels(__version__).set(1)
        log.info("starting", version=__version__, profiles=[p.scheduler_name for p in self._settings.profiles])
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._reflectors.run())
                group.create_task(self._serve())
                group.create_task(_measure_lag())
                group.create_task(self._lead() if self._lease is None else self._lease.run(self._lead))
        finally:
            self.health.shut_down()

    def _checks(self) -> dict[str, Callable[[], str]]:
        election = {"leader-election": _electing(self._lease)} if self._lease is not None else {}
        return self._reflectors.checks() | election

    async def _serve(self) -> None:
        """Loading a web server takes a moment, so that is done while the API server puts the first lists together."""
        await asyncio.sleep(0)
        from koordpy.server.answers import add_answer_routes  # noqa: PLC0415
        from koordpy.server.authorization import Delegated, middleware  # noqa: PLC0415
        from koordpy.server.gangs import add_gang_routes  # noqa: PLC0415
        from koordpy.server.http import application, serve  # noqa: PLC0415

        serving = self._settings.serving
        checks = [middleware(Delegated(self._review), serving.always_allow_paths)]
        app = application(self.health, self._gauges.refresh, checks if serving.authorization == "delegated" else ())
        add_gang_routes(app, lambda: self.built.cluster.gangs, lambda: self._leads)
        add_answer_routes(app, self._answering, lambda: self._leads, self._leader)
        await serve(app, serving)

    def _answering(self) -> Answering:
        """Who answers questions about the scheduler of the moment."""
        if self._answers[0] is not self.built:
            self._answers = (self.built, _answering(self.built, self._expand))
        return self._answers[1]

    async def _review(self, path: str, review: dict[str, Any]) -> bytes:
        """Reviews are asked with POST, and write nothing."""
        return await self._client.write("POST", path, review, attempts=2, timeout_s=5.0)

    def _leader(self) -> str:
        """Who leads, as far as we know."""
        return self._lease.holder if self._lease is not None else ""

    async def _lead(self) -> None:
        began = time.monotonic()
        await self._watches.synced()
        if self._lease is None:
            metrics.LEADER.set(1)
        else:
            # Whoever led before us may have bound pods a moment ago that our watch has not shown yet.
            await self._watches.pods.resync()
        self._leadership.start_over()
        gc.collect()
        gc.freeze()  # the state stays; no later collection needs to look at it
        log.info(
            "scheduling",
            nodes=len(self.built.cluster.nodes),
            pods=len(self.built.cluster.pods),
            seconds=round(time.monotonic() - began, 3),
        )
        self._leads = True
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._competitors.run())
                group.create_task(self._leadership.run())
                group.create_task(self._run_times.run())
                if self._settings.advice:
                    group.create_task(self._advisor.run())
        finally:
            self._leads = False


def _answering(built: BuiltScheduler, expand: Expand) -> Answering:
    return Answering(built.parts, built.book, built.throttle, built.schedulers, expand=expand)


def expansion(settings: GroupingSettings) -> Expand:
    """What a workload becomes by the kinds that the grouper has; they are loaded when somebody asks."""

    @cache
    def kinds() -> Kinds:
        from koordpy.app.groupers import kinds_of_others  # noqa: PLC0415

        return Kinds(kinds_of_others(settings))

    def expand(workload: dict[str, Any], classes: Collection[str]) -> Iterator[dict[str, Any] | None] | None:
        from koordpy.controllers.grouping.expansion import expanded  # noqa: PLC0415

        return expanded(workload, classes, kinds())

    return expand


def _electing(lease: LeaderLease) -> Callable[[], str]:
    return lambda: lease.trouble


async def _measure_lag() -> None:
    """How long anything has to wait for the loop."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + 1.0
        await asyncio.sleep(1.0)
        metrics.LOOP_LAG_SECONDS.observe(max(0.0, loop.time() - due))
