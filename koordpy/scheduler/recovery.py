"""After an error of ours: nothing that is derived is trusted any more.

An exception in the middle of a change can leave counts, tickets and wake-ups half done. What the API server says about
pods is kept in records, and records are replaced as a whole; so everything else is made anew from them. It costs what a
start costs, and happens only after a mistake.
"""

from __future__ import annotations

import structlog

from koordpy import metrics
from koordpy.scheduler.jobs import Jobs
from koordpy.state.cluster import Cluster

log = structlog.get_logger()


class Recovery:
    """Makes counts and tickets anew."""

    def __init__(self, cluster: Cluster, jobs: Jobs) -> None:
        self._cluster, self._jobs = cluster, jobs

    def run(self) -> None:
        metrics.INTERNAL_ERRORS.inc()
        self._cluster.recount()
        self._jobs.refresh_all()
        log.warning("recounted", pods=len(self._cluster.pods), hint="after an error of koordpy's own, see above")
