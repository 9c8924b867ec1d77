"""After an error of ours: nothing that is derived is trusted any more.

An exception in the middle of a change can leave counts, tickets and wake-ups half done. What the API server says about
pods is kept in records, and records are replaced as a whole; so everything else is made anew from them. It costs what a
start costs, and happens only after a mistake.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog

from koordpy import metrics
from koordpy.scheduler.execute.inflight import InFlight
from koordpy.scheduler.jobs import Jobs
from koordpy.scheduler.queue.queue import JobQueue
from koordpy.scheduler.report.throttle import Throttle
from koordpy.state.cluster import Cluster

log = structlog.get_logger()


class Recovery:
    """Makes counts and tickets anew, and lets everything be tried and said again."""

    def __init__(
        self, cluster: Cluster, queue: JobQueue, jobs: Jobs, *, in_flight: InFlight, throttle: Throttle
    ) -> None:
        self._cluster, self._queue, self._jobs = cluster, queue, jobs
        self._in_flight, self._throttle = in_flight, throttle

    def guard(self, call: Callable[[], None]) -> None:
        """Call something of ours; should it raise, everything is made anew."""
        try:
            call()
        except Exception:
            log.exception("call_failed", hint="please report this; every job is looked at again")
            self.run()

    def run(self) -> None:
        metrics.INTERNAL_ERRORS.inc()
        self._cluster.recount()
        self._unreserve_stranded()
        self._queue.activate_all()
        self._jobs.refresh_all()
        # Every job is tried and told again, but for members whose gang has timed out.
        timed_out = {uid for uid, pod in self._cluster.pods.items() if pod.timed_out}
        self._throttle.doubt(self._cluster.pods.keys() - timed_out, timed_out)
        log.warning("recounted", pods=len(self._cluster.pods), hint="after an error of koordpy's own, see above")

    def _unreserve_stranded(self) -> None:
        """An assumed pod that is neither about to be bound nor waits at Permit holds room for nobody."""
        for record in list(self._cluster.pods.values()):
            if not record.node or record.bound or record.uid in self._in_flight:
                continue
            if not self._cluster.gangs.is_waiting(record):
                self._cluster.forget(record.uid)
