"""The scheduling loop: the next job is popped and attempted, for ever; what has a time is done in between.

What an attempt is, `attempt.py` says. The loop owns the pace: planning gives watches and binds a turn every few
milliseconds, and a scheduler without work sleeps.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

import structlog

from koordpy.api.podgroup.frontends import names_of
from koordpy.scheduler.attempt import Attempts
from koordpy.scheduler.parts import Parts
from koordpy.scheduler.queue.ticket import Ticket

# How long planning may keep the event loop to itself before watches and binds get a turn.
_SLICE_S = 0.005
_SHORTEST_S = 1e-3
# A pod's default grace period is 30 s, and the lease must be released within it.
_FINISH_S = 5.0
# kube-scheduler's figures.
_FLUSH_EVERY_S = 30.0
_FLUSH_OLDER_THAN_S = 300.0

log = structlog.get_logger()


class Scheduler:
    """Schedules what is in the queue, for as long as it runs."""

    def __init__(
        self,
        parts: Parts,
        ready: asyncio.Event,
        *,
        clock: Callable[[], float] = time.monotonic,
        decided: Callable[[tuple[object, ...]], None] = lambda _: None,
    ) -> None:
        """`decided` is told every decision, for whoever keeps a journal of them."""
        self._clock, self._is_paused = clock, False
        self._cluster, self._queue, self._jobs = parts.cluster, parts.queue, parts.jobs
        self._wakeups, self._timers, self._recovery = parts.wakeups, parts.timers, parts.recovery
        self._lanes, self._binder, self._evictor = parts.lanes, parts.binder, parts.evictor
        self._reporter, self._permit, self._in_flight = parts.reporter, parts.permit, parts.in_flight
        self._ready = ready  # set when there may be something to do
        self.attempts = Attempts(parts, decided)

    async def run(self) -> None:
        """Schedule until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._lanes.run())
            group.create_task(self._reporter.run())
            group.create_task(self._flush_forever())
            try:
                await self._schedule_forever()
            except asyncio.CancelledError:
                await self._finish()
                raise

    async def _finish(self) -> None:
        """Stopping: let what is in flight arrive, and what was decided be told. Without the lease nothing is sent."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_FINISH_S):
                await self._lanes.drained()

    def start_over(self) -> None:
        """Before leading again: no assumption, nomination or half-sent bind of an earlier term survives."""
        self._lanes.clear()
        self._in_flight.clear()
        self._binder.start_over()
        self._evictor.start_over()
        self._reporter.start_over()
        self._permit.room.clear()
        self._cluster.start_over()
        self._wakeups.deliver()
        self._queue.activate_all()
        self._jobs.refresh_all()
        self._jobs.finish_half_bound()
        for timer in self._timers:
            timer.clear()
            timer.look_at({self._cluster.gangs.group_of(gang.id) for gang in self._cluster.gangs})

    async def _schedule_forever(self) -> None:
        slice_end = self._clock() + _SLICE_S
        while True:
            self.time_out()
            ticket = None if self._is_paused else self.next_ticket()
            if ticket is None:
                await self._rest()
            else:
                self.attempts.run(ticket)
            if self._clock() >= slice_end:
                await asyncio.sleep(0)
                slice_end = self._clock() + _SLICE_S

    def pause(self, *, paused: bool = True) -> None:
        """Attempt nothing for a while; what was decided is carried out, and what happens is heard."""
        self._is_paused = paused
        self._ready.set()

    async def _flush_forever(self) -> None:
        """A belt for the braces: if no wake-up is ever missed, `scheduler_pod_scheduled_after_flush_total` stays 0."""
        while True:
            await asyncio.sleep(_FLUSH_EVERY_S)
            self._queue.flush(_FLUSH_OLDER_THAN_S)

    async def _rest(self) -> None:
        """Nothing to do: sleep until a job is ready or some time is up. An idle scheduler uses no CPU."""
        self._ready.clear()
        times = [self._queue.seconds_to_next(), self._permit.room.seconds_to_next()]
        times += [timer.seconds_to_next() for timer in self._timers]
        # Never zero, which would not be a timer to asyncio.
        due = [max(each, _SHORTEST_S) for each in times if each is not None]
        try:
            async with asyncio.timeout(min(due, default=None)):
                await self._ready.wait()
        except TimeoutError:
            pass

    def next_ticket(self) -> Ticket | None:
        """The job to try now, after all that has changed so far."""
        self._recovery.guard(self._wakeups.deliver)
        return self._queue.pop()

    def time_out(self) -> None:
        """Groups whose time at Permit is up, and whatever else gangs have a time for."""
        for timer in self._timers:
            self._recovery.guard(timer.act)
        for stay in self._permit.room.overdue():
            try:
                self._permit.time_out(stay)
            except Exception:
                log.exception(
                    "time_out_failed", gang=names_of(stay.key), hint="please report this; what it held is free"
                )
                for uid in stay.uids:
                    self._cluster.forget(uid)
                self._recovery.run()
