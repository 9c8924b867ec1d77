"""Leader election on a Lease: at most one process writes.

Two clocks must agree that a lease has expired before another candidate acquires it. The leader is certain of its lease
only until `renew_deadline` after the *start* of its last successful renewal, on its own monotonic clock (which goes on
while the process is stopped). The others wait until they have seen the lease unchanged for `lease_duration`, on theirs.
The deadline is shorter than the duration, so the old leader stops writing before the new one starts.

What no lease can prevent: a process that is stopped after its last check of the clock and before the kernel has its
bytes sends them when it goes on. `Client` checks as late as it can (see `Transport.send`); one turn of the event loop
remains.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

import msgspec
import structlog
from prometheus_client import Gauge

from koordpy import metrics
from koordpy.api.coordination import Lease, LeaseSpec
from koordpy.api.decode import Decoder
from koordpy.api.errors import MalformedObject
from koordpy.api.times import micro_instant_of_seconds
from koordpy.kube.client import Client
from koordpy.kube.errors import ApiError, Conflict, NotFound, Transient
from koordpy.kube.writes import ObjectRef

_RELEASE_TIMEOUT_S = 3.0

log = structlog.get_logger()


@dataclass(frozen=True)
class Timing:
    """kube-scheduler's defaults."""

    lease_duration_s: float = 15.0
    renew_deadline_s: float = 10.0  # must be below the duration: the difference makes the hand-over safe
    retry_period_s: float = 2.0


@dataclass(frozen=True)
class LeaseName:
    namespace: str
    name: str

    @property
    def collection(self) -> str:
        return f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases"

    @property
    def path(self) -> str:
        return f"{self.collection}/{self.name}"


class LeaderLease:
    """A candidate: acquires the lease, renews it while it can, and releases it at the end."""

    def __init__(
        self,
        client: Client,
        lease: LeaseName,
        identity: str,
        timing: Timing,
        clock: Callable[[], float] = time.monotonic,
        *,
        gauge: Gauge = metrics.LEADER,
    ) -> None:
        self._gauge = gauge  # 1 while we lead
        self._client, self._lease, self._identity, self._timing, self._clock = client, lease, identity, timing, clock
        self._decode = Decoder("Lease", Lease)
        self._held: Lease | None = None  # as the API server last returned it
        self._certain_until = float("-inf")
        self._observed = ""  # resourceVersion of the lease of another holder
        self._logged_leader = ""  # the holder in the last `standing_by`
        self._held_by_other_until = float("-inf")  # counted from when we first saw this version
        self.trouble = ""  # why the lease cannot be acquired or renewed; empty while it can

    @property
    def about(self) -> ObjectRef | None:
        """The lease as events name it, once we have held it."""
        if self._held is None:
            return None
        meta = self._held.metadata
        return ObjectRef("coordination.k8s.io/v1", "Lease", meta.namespace, meta.name, meta.uid)

    @property
    def holder(self) -> str:
        """Who leads instead of us, as the lease last said; empty if we do not know."""
        return self._logged_leader

    def holds(self) -> bool:
        """Whether this process is certain, at this moment, that no other leads."""
        return self._clock() < self._certain_until

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Stand by, lead, and stand by again when the lease is lost; cancel it to stop and release."""
        while True:
            await self._acquire()
            self._logged_leader = ""
            self._gauge.set(1)
            log.info("leading", lease=self._lease.name, identity=self._identity)
            try:
                await self._lead_while_held(lead)
            finally:
                self._gauge.set(0)
                await self._release()
            log.warning("leadership_lost", lease=self._lease.name, hint="standing by; nothing is written meanwhile")

    async def _lead_while_held(self, lead: Callable[[], Awaitable[None]]) -> None:
        async with asyncio.TaskGroup() as group:
            leading = group.create_task(_forever(lead))
            await self._renew_until_lost()
            leading.cancel()

    async def _acquire(self) -> None:
        while True:
            try:
                if await self._try_acquire():
                    return
                self.trouble = ""
            except Conflict:
                pass  # another candidate was quicker
            except (ApiError, MalformedObject) as error:
                if type(error).__name__ != self.trouble.partition(":")[0]:
                    log.warning("lease_unreachable", lease=self._lease.name, problem=str(error))
                self.trouble = f"{type(error).__name__}: {error}"
            await asyncio.sleep(self._timing.retry_period_s * (1 + random.random() / 5))  # noqa: S311 - jitter

    async def _try_acquire(self) -> bool:
        """GET the lease, and create or update it if it is free; True when it is ours."""
        started = self._clock()
        try:
            found = self._decode(await self._client.get(self._lease.path))
        except NotFound:
            if self._clock() < self._held_by_other_until:  # deleted: its holder may not have noticed yet
                return False
            body = {
                "metadata": {"name": self._lease.name, "namespace": self._lease.namespace},
                "spec": self._spec(None),
            }
            return await self._store("POST", self._lease.collection, body, started)
        if not self._can_acquire(found):
            self._stand_by_for(found.spec.holder_identity or "")
            return False
        return await self._put(found, self._spec(found.spec), started)

    def _can_acquire(self, found: Lease) -> bool:
        """No holder, or ours (the answer to an earlier write was lost), or not renewed for the lease duration."""
        if found.spec.holder_identity in (None, "", self._identity):
            self._held_by_other_until = float("-inf")
            return True
        now = self._clock()
        if self._observed != found.metadata.resource_version:
            self._observed = found.metadata.resource_version
            self._held_by_other_until = now + (found.spec.lease_duration_seconds or self._timing.lease_duration_s)
        return now >= self._held_by_other_until

    def _stand_by_for(self, leader: str) -> None:
        """Logged once for each leader."""
        if leader != self._logged_leader:
            self._logged_leader = leader
            log.info("standing_by", lease=self._lease.name, leader=leader, identity=self._identity)

    async def _renew_until_lost(self) -> None:
        while self.holds():
            await asyncio.sleep(self._timing.retry_period_s)
            try:
                async with asyncio.timeout(max(0.0, self._certain_until - self._clock())):
                    if not await self._renew():
                        break
                self.trouble = ""
            except (ApiError, MalformedObject, TimeoutError) as error:
                problem = str(error) or "no answer in time"
                log.warning("lease_renewal_failed", lease=self._lease.name, problem=problem)
                self.trouble = f"renewal failed: {problem}"
        self._certain_until = float("-inf")

    async def _renew(self) -> bool:
        """False when the lease is not ours any more."""
        try:
            return await self._update_held()
        except (Conflict, Transient):  # PUT of a deleted Lease with a version is answered with 500
            return await self._still_ours() and await self._update_held()

    async def _update_held(self) -> bool:
        assert self._held is not None
        return await self._put(self._held, self._spec(self._held.spec), started=self._clock())

    async def _still_ours(self) -> bool:
        """False if the lease has another holder or was deleted; True if only the answer to a renewal was lost."""
        try:
            self._held = self._decode(await self._client.get(self._lease.path))
        except NotFound:
            return False
        return self._held.spec.holder_identity == self._identity

    async def _release(self) -> None:
        """Let another candidate acquire at once. Nothing writes any more; if this fails, the others wait longer."""
        was_certain, self._certain_until = self.holds(), float("-inf")
        if not was_certain:
            return
        try:
            async with asyncio.timeout(_RELEASE_TIMEOUT_S):
                try:
                    await self._clear_holder()
                except Conflict:  # a renewal was in flight when we were cancelled
                    if await self._still_ours():
                        await self._clear_holder()
        except (ApiError, MalformedObject, TimeoutError) as error:
            log.warning("lease_not_released", lease=self._lease.name, problem=str(error) or "no answer in time")

    async def _clear_holder(self) -> None:
        assert self._held is not None
        released = msgspec.structs.replace(self._held.spec, holder_identity="", lease_duration_seconds=1)
        await self._client.write("PUT", self._lease.path, _body(self._held, released), attempts=1)

    async def _put(self, current: Lease, spec: LeaseSpec, started: float) -> bool:
        return await self._store("PUT", self._lease.path, _body(current, spec), started)

    async def _store(self, method: str, path: str, body: object, started: float) -> bool:
        answer = await self._client.write(method, path, body, attempts=1, timeout_s=self._timing.renew_deadline_s / 2)
        self._held = self._decode(answer)
        self.trouble = ""
        self._certain_until = started + self._timing.renew_deadline_s
        return True

    def _spec(self, before: LeaseSpec | None) -> LeaseSpec:
        now = micro_instant_of_seconds(time.time())
        mine = before is not None and before.holder_identity == self._identity
        transitions = 0 if before is None else (before.lease_transitions or 0) + (not mine)
        return LeaseSpec(
            holder_identity=self._identity,
            # Whole seconds, rounded up: the others wait for as long as the lease says.
            lease_duration_seconds=math.ceil(self._timing.lease_duration_s),
            acquire_time=before.acquire_time if before is not None and mine else now,
            renew_time=now,
            lease_transitions=transitions,
        )


async def leases_named(client: Client, name: str) -> list[Lease]:
    """Those of a name, in all namespaces; what cannot be read is left out."""
    decode, found = Decoder("Lease", Lease), []
    page = await client.page("/apis/coordination.k8s.io/v1/leases", fieldSelector=f"metadata.name={name}")
    for raw in page.items:
        with suppress(MalformedObject):
            found.append(decode(raw))
    return found


async def _forever(lead: Callable[[], Awaitable[None]]) -> None:
    await lead()
    raise RuntimeError("what a leader does must not end by itself")


def _body(current: Lease, spec: LeaseSpec) -> dict[str, object]:
    meta = current.metadata
    return {
        "metadata": {"name": meta.name, "namespace": meta.namespace, "resourceVersion": meta.resource_version},
        "spec": spec,
    }
