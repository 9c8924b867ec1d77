"""What the loop works with. `app/build.py` puts it together; nothing is decided here."""

from __future__ import annotations

from dataclasses import dataclass

from koordpy.scheduler.cycles import EvictionCycles
from koordpy.scheduler.execute.bind import Binder
from koordpy.scheduler.execute.evict import Evictor
from koordpy.scheduler.execute.inflight import InFlight
from koordpy.scheduler.execute.lanes import Lanes
from koordpy.scheduler.jobs import Jobs
from koordpy.scheduler.permit import Permit
from koordpy.scheduler.planning import Planning
from koordpy.scheduler.preempt import PostFilter
from koordpy.scheduler.queue.queue import JobQueue
from koordpy.scheduler.queues.admission import Admission
from koordpy.scheduler.recovery import Recovery
from koordpy.scheduler.report.advice import Advice
from koordpy.scheduler.report.reporter import Reporter
from koordpy.scheduler.reservations.backfill import Backfill
from koordpy.scheduler.runtimes.learnt import LearntRunTimes
from koordpy.scheduler.timers import GangTimer
from koordpy.scheduler.wakeups import Wakeups
from koordpy.state.cluster import Cluster


@dataclass(frozen=True, slots=True)
class Parts:
    """What the loop works with; put together in `app/build.py`."""

    cluster: Cluster
    queue: JobQueue
    jobs: Jobs
    wakeups: Wakeups
    timers: tuple[GangTimer, ...]
    recovery: Recovery
    planning: Planning
    permit: Permit
    admission: Admission
    backfill: Backfill
    postfilter: PostFilter
    cycles: EvictionCycles
    lanes: Lanes
    in_flight: InFlight
    binder: Binder
    evictor: Evictor
    reporter: Reporter
    advice: Advice
    learnt: LearntRunTimes
