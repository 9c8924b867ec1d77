"""Leader election on a Lease: at most one process writes.

Two clocks must agree that leadership has passed before anybody else takes it. The leader is certain of its lease only
until `renew_deadline` after the *start* of its last successful renewal, on its own monotonic clock (which goes on while
the process is stopped). The others wait until they have seen the lease unchanged for `lease_duration`, on theirs.
The deadline is shorter than the duration, so the old leader is silent before the new one speaks.

What no lease can prevent: a process stopped after its last look at the clock and before the kernel has its bytes sends
them when it goes on. `Client` looks as late as it can (see `Transport.send`); what is left is one turn of the loop.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
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

_RELEASE_TIMEOUT_S = 3.0

log = structlog.get_logger()


@dataclass(frozen=True)
class Timing:
    """kube-scheduler's defaults."""

    lease_duration_s: float = 15.0
    renew_deadline_s: float = 10.0  # must be below the duration: the gap is what makes the hand-over safe
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
    """Wants the lease, holds it while it can, gives it back at the end."""

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
        self._held: Lease | None = None  # as the API server last gave it to us
        self._certain_until = float("-inf")
        self._observed = ""  # somebody else's resourceVersion
        self._taken_until = float("-inf")  # they may be certain of it until then, counted from when we first saw it
        self.trouble = ""  # why the lease cannot be asked for or renewed; empty while all is well

    def holds(self) -> bool:
        """Certain, at this very moment, that nobody else can lead."""
        return self._clock() < self._certain_until

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Stand by, lead, and stand by again when the lease is lost; cancel it to stop and release."""
        while True:
            await self._acquire()
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
                if await self._try_to_take():
                    return
                self.trouble = ""
            except Conflict:
                pass  # somebody was quicker; look again
            except (ApiError, MalformedObject) as error:
                if type(error).__name__ != self.trouble.partition(":")[0]:
                    log.warning("lease_unreachable", lease=self._lease.name, problem=str(error))
                self.trouble = f"{type(error).__name__}: {error}"
            await asyncio.sleep(self._timing.retry_period_s * (1 + random.random() / 5))  # noqa: S311 - jitter

    async def _try_to_take(self) -> bool:
        """One look at the lease; True when it is ours."""
        started = self._clock()
        try:
            found = self._decode(await self._client.get(self._lease.path))
        except NotFound:
            if self._clock() < self._taken_until:  # deleted under its holder, who may not have noticed yet
                return False
            body = {
                "metadata": {"name": self._lease.name, "namespace": self._lease.namespace},
                "spec": self._spec(None),
            }
            return await self._store("POST", self._lease.collection, body, started)
        if not self._is_free(found):
            return False
        return await self._put(found, self._spec(found.spec), started)

    def _is_free(self, found: Lease) -> bool:
        """Nobody holds it, or we do (the answer to an earlier take was lost), or its holder was silent for too long."""
        if found.spec.holder_identity in (None, "", self._identity):
            self._taken_until = float("-inf")
            return True
        now = self._clock()
        if self._observed != found.metadata.resource_version:
            self._observed = found.metadata.resource_version
            self._taken_until = now + (found.spec.lease_duration_seconds or self._timing.lease_duration_s)
        return now >= self._taken_until

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
            return await self._put_again()
        except (Conflict, Transient):  # a Lease that is gone is answered with 500: PUT could have made it, but not so
            return await self._still_ours() and await self._put_again()

    async def _put_again(self) -> bool:
        assert self._held is not None
        return await self._put(self._held, self._spec(self._held.spec), started=self._clock())

    async def _still_ours(self) -> bool:
        """False if somebody took or deleted the lease; True if only the answer to our last renewal was lost."""
        try:
            self._held = self._decode(await self._client.get(self._lease.path))
        except NotFound:
            return False
        return self._held.spec.holder_identity == self._identity

    async def _release(self) -> None:
        """Let the next one in at once. Nothing of ours writes any more; failing only costs the others the wait."""
        was_certain, self._certain_until = self.holds(), float("-inf")
        if not was_certain:
            return
        try:
            async with asyncio.timeout(_RELEASE_TIMEOUT_S):
                try:
                    await self._give_back()
                except Conflict:  # a renewal was on its way when we were cancelled
                    if await self._still_ours():
                        await self._give_back()
        except (ApiError, MalformedObject, TimeoutError) as error:
            log.warning("lease_not_released", lease=self._lease.name, problem=str(error) or "no answer in time")

    async def _give_back(self) -> None:
        assert self._held is not None
        given_back = msgspec.structs.replace(self._held.spec, holder_identity="", lease_duration_seconds=1)
        await self._client.write("PUT", self._lease.path, _body(self._held, given_back), attempts=1)

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
            # Whole seconds, and never fewer than we count on ourselves: the others wait for as long as it says here.
            lease_duration_seconds=math.ceil(self._timing.lease_duration_s),
            acquire_time=before.acquire_time if before is not None and mine else now,
            renew_time=now,
            lease_transitions=transitions,
        )


async def _forever(lead: Callable[[], Awaitable[None]]) -> None:
    await lead()
    raise RuntimeError("what a leader does must not end by itself")


def _body(current: Lease, spec: LeaseSpec) -> dict[str, object]:
    meta = current.metadata
    return {
        "metadata": {"name": meta.name, "namespace": meta.namespace, "resourceVersion": meta.resource_version},
        "spec": spec,
    }
