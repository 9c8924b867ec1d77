"""The lanes in which the scheduler's writes travel, and which of them go behind which."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from koordpy.kube.lane import Lane

_EVICTIONS = 16
# Pods that wait for their volumes, which can take minutes, have a lane of their own: no other bind waits for them.
_VOLUME_BINDS = 256
_REPORTS = 8
_SCHEDULED_EVENTS = 16
# How long conditions and warnings wait while others are evicted or bound: a job waits for those, and it takes moments.
_REPORT_WITHIN_S = 2.0
# The `Scheduled` event of a pod, while one bind follows another; else at once.
_SCHEDULED_WITHIN_S = 10.0


@dataclass(frozen=True, slots=True)
class Lanes:
    """One for each kind of write."""

    binds: Lane
    volume_binds: Lane
    evictions: Lane
    reports: Lane  # conditions, warnings, annotations
    scheduled_events: Lane

    @classmethod
    def build(
        cls, bind_width: int, clock: Callable[[], float] = time.monotonic, on_error: Callable[[], None] | None = None
    ) -> Lanes:
        binds, evictions = Lane(bind_width, on_error=on_error), Lane(_EVICTIONS, on_error=on_error)
        return cls(
            binds,
            Lane(_VOLUME_BINDS, on_error=on_error),
            evictions,
            Lane(_REPORTS, behind=(evictions, binds), patience_s=_REPORT_WITHIN_S, clock=clock, on_error=on_error),
            Lane(_SCHEDULED_EVENTS, behind=(binds,), patience_s=_SCHEDULED_WITHIN_S, clock=clock, on_error=on_error),
        )

    @property
    def are_binding(self) -> bool:
        """Pods are being bound, or wait for that."""
        return not (self.binds.is_idle and self.volume_binds.is_idle)

    @property
    def are_idle(self) -> bool:
        """No call is under way, and none waits."""
        lanes = (self.binds, self.volume_binds, self.evictions, self.reports, self.scheduled_events)
        return all(lane.is_idle for lane in lanes)

    async def run(self) -> None:
        """Carry calls out until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for lane in (self.binds, self.volume_binds, self.evictions, self.reports, self.scheduled_events):
                tasks.create_task(lane.run())

    async def drained(self) -> None:
        """Return when everything is sent; volumes are not waited for, as they can take minutes."""
        for lane in (self.binds, self.evictions, self.reports, self.scheduled_events):
            await lane.drained()

    def clear(self) -> None:
        """Forget what was not begun, as when leadership was lost."""
        for lane in (self.binds, self.volume_binds, self.evictions, self.reports, self.scheduled_events):
            lane.clear()
