"""Detects other schedulers that take the same pods, and reports them in the log, in an event and by metrics.

Koordinator's chart elects its leader in a namespace of its own, under the name that koordpy's lease has too. With both
running both lead, and pods of one profile are placed twice: no gang and no preemption can be relied on then. There are
two signs of a competitor: a lease of our name in another namespace that another holder renews, and a pod that was
pending here and that another client bound. This module only reports: people decide which of the two has to be stopped.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection

import structlog

from koordpy import metrics
from koordpy.api.coordination import Lease
from koordpy.api.errors import MalformedValue
from koordpy.api.times import seconds_of_instant
from koordpy.kube.client import Client
from koordpy.kube.errors import ApiError, Forbidden
from koordpy.kube.events import EventRecorder, Note
from koordpy.kube.leader import LeaderLease, leases_named
from koordpy.state.pods import PodRecord

_LIST_EVERY_S = 300.0
_REPORT_EVERY_S = 600.0  # of binds, of which there can be thousands
# Clocks of machines differ. A lease that is no longer renewed is recognised by the next list, whatever its clock said.
_CLOCKS_DIFFER_S = 60.0
# A bind of the previous leader may take effect for as long as the API server works on a request.
_AFTER_A_LEADER_S = 60.0
_HINT = "two schedulers take the same pods; stop one of them, or give it another schedulerName"

log = structlog.get_logger()


class Competitors:
    """Looks for other schedulers while this process leads."""

    def __init__(
        self,
        client: Client,
        schedulers: Collection[str],
        lease_name: str,
        *,
        lease: LeaderLease | None,
        recorder: EventRecorder,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`lease` is ours, if leaders are elected. `client` only reads; `recorder` writes while we lead."""
        self._client, self._schedulers, self._lease_name = client, schedulers, lease_name
        self._lease, self._recorder, self._clock, self._wall = lease, recorder, clock, wall
        self._leads_since = float("inf")
        self._renewed: dict[str, str] = {}  # namespace -> renewTime of its lease in the last list
        self._competitors: dict[str, str] = {}  # namespace -> holder
        self._binds, self._first_bind = 0, ""  # not reported yet
        self._bound = asyncio.Event()
        self._forbidden = False

    def saw_foreign_bind(self, pod: PodRecord) -> None:
        """A pod that was pending is bound, and not by us; shortly after we began to lead, by the previous leader."""
        if pod.scheduler not in self._schedulers or self._clock() < self._leads_since + _AFTER_A_LEADER_S:
            return
        metrics.FOREIGN_BINDS.inc()
        self._binds += 1
        self._first_bind = self._first_bind or f"{pod.key} to {pod.node}"
        self._bound.set()

    async def run(self) -> None:
        """While we lead, until cancelled."""
        self._leads_since = self._clock()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._list_forever())
                tasks.create_task(self._report_binds())
        finally:
            self._leads_since = float("inf")
            self._renewed.clear()
            self._competitors.clear()
            self._binds, self._first_bind = 0, ""
            self._bound.clear()
            metrics.COMPETING_LEASES.set(0)

    # --- leases ---

    async def _list_forever(self) -> None:
        while True:
            try:
                await self._list()
            except Forbidden as error:
                if not self._forbidden:
                    log.info("competitors_not_looked_for", problem=str(error), hint="grant it, as in rbac.yaml")
                self._forbidden = True
            except ApiError as error:
                log.debug("competitors_not_looked_for", problem=str(error))  # tried again with the next list
            await asyncio.sleep(_LIST_EVERY_S)

    async def _list(self) -> None:
        found = await leases_named(self._client, self._lease_name)
        competitors = {
            lease.metadata.namespace: lease.spec.holder_identity or "" for lease in found if self._is_competitor(lease)
        }
        self._renewed = {lease.metadata.namespace: lease.spec.renew_time or "" for lease in found}
        metrics.COMPETING_LEASES.set(len(competitors))
        for namespace in self._competitors.keys() - competitors.keys():
            log.info("competing_lease_is_over", lease=f"{namespace}/{self._lease_name}")
        self._competitors = competitors
        for namespace, holder in competitors.items():
            name = f"{namespace}/{self._lease_name}"
            log.error("competing_lease", lease=name, holder=holder, hint=_HINT)
            await self._event(f"lease {name} is renewed by {holder}: {_HINT}")

    def _is_competitor(self, lease: Lease) -> bool:
        """Of another holder, in another namespace, and renewed since the last list; in the first list: recently."""
        ours = self._lease.about if self._lease is not None else None
        if (ours is not None and lease.metadata.namespace == ours.namespace) or not lease.spec.holder_identity:
            return False
        before = self._renewed.get(lease.metadata.namespace)
        if before is not None:
            return lease.spec.renew_time != before
        try:
            age = self._wall() - seconds_of_instant(lease.spec.renew_time or "")
        except MalformedValue:
            return False
        return age < (lease.spec.lease_duration_seconds or 0) + _CLOCKS_DIFFER_S

    # --- binds ---

    async def _report_binds(self) -> None:
        while True:
            await self._bound.wait()
            self._bound.clear()
            count, first = self._binds, self._first_bind
            self._binds, self._first_bind = 0, ""
            log.error("foreign_binds", count=count, first=first, hint=f"{_HINT}; or somebody bound it by hand")
            more = f" and {count - 1} more" if count > 1 else ""
            await self._event(f"somebody else bound pod {first}{more}: {_HINT}")
            await asyncio.sleep(_REPORT_EVERY_S)

    async def _event(self, text: str) -> None:
        """On our lease; without leader election there is no object to put it on."""
        about = self._lease.about if self._lease is not None else None
        if about is None:
            return
        note = Note(about, "Warning", "AnotherScheduler", "LeaderElection", text, next(iter(self._schedulers)))
        try:
            await self._recorder.record(note, self._wall())
        except ApiError as error:
            metrics.writes("event", "failed").inc()
            log.warning("report_failed", what="event", about=f"{about.namespace}/{about.name}", problem=str(error))
