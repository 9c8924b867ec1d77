"""Pods into records; ours that are pending, into the queue."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from koordpy import metrics
from koordpy.api.pod import Pod
from koordpy.scheduler.execute.inflight import InFlight
from koordpy.scheduler.jobs import Jobs
from koordpy.scheduler.wakeups import Wakeups
from koordpy.state.cluster import Cluster
from koordpy.state.pods import PodRecord

log = structlog.get_logger()


class PodSink:
    """The sink of the watch of pods.

    Twenty members of a gang that come at once are one change of it. So what pods mean for gangs and for unschedulable
    jobs is not worked out pod by pod, but when all that came together is in the state: the reflector calls `settle`
    then, before anything is planned.
    """

    def __init__(
        self,
        cluster: Cluster,
        jobs: Jobs,
        wakeups: Wakeups,
        in_flight: InFlight,
        *,
        on_pending: tuple[Callable[[Pod, PodRecord], None], ...],
        on_gone: tuple[Callable[[str], None], ...] = (),
        on_finished: Callable[[Pod, PodRecord | None], None] = lambda *_: None,
        on_foreign_bind: Callable[[PodRecord], None] = lambda _: None,
    ) -> None:
        self._cluster, self._jobs, self._wakeups, self._in_flight = cluster, jobs, wakeups, in_flight
        self._on_pending = on_pending  # each is told every pod that has no node
        self._on_gone = on_gone  # each is told the UID of a pod that is gone or finished
        self._on_finished = on_finished  # is told of a pod that has finished, and what was known of it
        self._on_foreign_bind = on_foreign_bind  # is told of a pod that was pending, and was not bound by us

    def upsert(self, pod: Pod) -> None:
        if pod.is_finished:
            self._on_finished(pod, self._cluster.pods.get(pod.metadata.uid))
            self._cluster.finish_pod(pod)
            self._gone(pod.metadata.uid)
            return
        known = self._cluster.pods.get(pod.metadata.uid)
        record = self._cluster.upsert_pod(pod)
        if record.bound:
            if known is not None and not known.bound and not self._in_flight.may_be_ours(record.uid, record.node):
                self._on_foreign_bind(record)
            self._in_flight.settled(record.uid)
            self._cluster.confirm_volumes(record)
        elif record.terminating:  # an assumption about a terminating pod holds room for nobody
            self._cluster.forget(record.uid)
        else:
            for tell in self._on_pending:
                tell(pod, record)
        if record.own_shape is None:
            self._complain(record)
        self._jobs.pod_changed(record)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - pods are known by UID
        self._cluster.remove_pod(uid)
        self._cluster.forget_finished(uid)
        self._gone(uid)

    def settle(self) -> None:
        """Everything that came together is in."""
        self._wakeups.deliver()

    def _gone(self, uid: str) -> None:
        self._in_flight.settled(uid)
        self._jobs.pod_gone(uid)
        for tell in self._on_gone:
            tell(uid)

    def _complain(self, record: PodRecord) -> None:
        metrics.MALFORMED.labels("Pod").inc()
        log.warning("malformed_object", kind="Pod", object=record.key, problem=record.defect)
