"""Reading a cluster once and counting what its queues have, want and are due.

By the code of the queue controller, which knows what pods are in which queue, and of `koordpy.quota`.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection

import numpy as np

from koordpy.api.answers import QueueJobs, QueueList
from koordpy.api.decode import Decoder
from koordpy.api.errors import MalformedObject
from koordpy.api.pod import Pod
from koordpy.api.podgroup.coscheduling import GROUPS
from koordpy.api.times import instant_of_seconds
from koordpy.app.process import CannotStart
from koordpy.controllers.queues.index import Job, QueueIndex
from koordpy.controllers.queues.members import Standing
from koordpy.controllers.queues.sinks import GangSink, PriorityClassSink, QueueSink, RunAISink
from koordpy.kube.auth.credentials import load_credentials
from koordpy.kube.client import Client
from koordpy.kube.errors import ApiError, NotFound
from koordpy.kube.http.transport import HttpTransport
from koordpy.kube.watch.listing import listed
from koordpy.kube.watch.reflector import Resource
from koordpy.kube.watch.sinks import Sink, T
from koordpy.quota.amounts import K, amounts_of
from koordpy.quota.answer import Moment, queue_list
from koordpy.quota.capacity import allocatable_of, is_counted
from koordpy.quota.shares import divide
from koordpy.quota.usage import Usage
from koordpy.scheduler.ingest.resources import KAI_POD_GROUPS, NODES, POD_GROUPS, PRIORITY_CLASSES, QUEUES
from koordpy.state.arrays import Ints

_UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"
_PODS = Resource("/api/v1/pods", Decoder("Pod", Pod), field_selector=_UNFINISHED)


async def queues_of(
    schedulers: Collection[str], kubeconfig: str | None, context: str | None
) -> tuple[QueueList, list[MalformedObject]]:
    """What there is, and what could not be read of it; raises BadCredentials or CannotStart with one line."""
    credentials = await load_credentials(kubeconfig, context)
    async with HttpTransport(credentials, connections=1) as transport:
        try:
            reading = _Reading(Client(transport), schedulers)
            return queue_list(await reading.moment()), reading.skipped
        except ApiError as error:
            raise CannotStart(f"the API server cannot be used: {error}") from error


class _Reading:
    def __init__(self, client: Client, schedulers: Collection[str]) -> None:
        self._client = client
        self._index = QueueIndex(schedulers, lambda _: None)
        self._on_node: dict[str, str] = {}  # by UID of the pod
        self.skipped: list[MalformedObject] = []

    async def moment(self) -> Moment:
        index = self._index
        await self._list(QUEUES, QueueSink(index))
        await self._list(PRIORITY_CLASSES, PriorityClassSink(index))
        await self._list(KAI_POD_GROUPS, RunAISink(index))
        for group in GROUPS:
            await self._list(POD_GROUPS[group], GangSink(index, group))
        nodes = [node async for node in listed(self._client, NODES, self.skipped)]
        async for pod in listed(self._client, _PODS, self.skipped):
            index.upsert(pod)
            self._on_node[pod.metadata.uid] = pod.spec.node_name
        usage = self._usage()
        counted = {node.metadata.name: allocatable_of(node) for node in nodes if is_counted(node)}
        capacity = sum(counted.values(), np.zeros(K, dtype=np.int64)) - self._outside(counted)
        return Moment(
            usage, divide(capacity, index.tree, usage.asked()), self._job_counts(), instant_of_seconds(time.time())
        )

    async def _list(self, resource: Resource[T], sink: Sink[T]) -> None:
        """A definition that is not installed has no objects."""
        try:
            async for obj in listed(self._client, resource, self.skipped):
                sink.upsert(obj)
        except NotFound:
            if not resource.optional:
                raise

    def _usage(self) -> Usage:
        usage = Usage(self._index.tree)
        for job in self._index.jobs():
            row = self._index.row_of(job)
            if row is None:
                continue
            for member in job.members.values():
                if not member.is_ours or member.standing is Standing.ABSENT:
                    continue
                amounts = amounts_of(member.amounts)
                usage.request(row, amounts)
                if member.standing is Standing.RUNNING:
                    usage.allocate(row, amounts, preemptible=self._index.is_preemptible(job, member))
        return usage

    def _outside(self, counted: Collection[str]) -> Ints:
        """What pods have on these nodes that are in no queue: theirs is not to be divided."""
        total = np.zeros(K, dtype=np.int64)
        for job in self._index.jobs():
            row = self._index.row_of(job)
            queued = row is not None and self._index.tree.is_ready(row)
            for uid, member in job.members.items():
                if self._on_node[uid] in counted and not (queued and member.is_ours):
                    total += amounts_of(member.amounts)
        return total

    def _job_counts(self) -> dict[int, QueueJobs]:
        jobs: dict[int, list[Job]] = defaultdict(list)
        for job in self._index.jobs():
            row = self._index.row_of(job)
            if row is not None:
                jobs[row].append(job)
        return {
            row: QueueJobs(running=sum(job.is_running for job in found), waiting=sum(job.is_waiting for job in found))
            for row, found in jobs.items()
        }
