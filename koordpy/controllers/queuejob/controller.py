"""Builds the QueueJob controller: watches, index, work queue, reconciler and creator."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from koordpy.api.decode import Decoder
from koordpy.api.definitions import INSTALL
from koordpy.api.queuejob import GROUP, KIND, VERSION, QueueJob, SchedulingSpec
from koordpy.controllers.queuejob.creating import Creator
from koordpy.controllers.queuejob.hands import Hands
from koordpy.controllers.queuejob.index import QueueJobIndex
from koordpy.controllers.queuejob.reconciler import QueueJobReconciler
from koordpy.controllers.runtime.controller import Controller
from koordpy.controllers.runtime.workqueue import WorkQueue
from koordpy.kube.client import Client
from koordpy.kube.watch.definitions import Definition
from koordpy.kube.watch.reflector import Reflector, Resource
from koordpy.kube.watch.shared import SharedReflectors
from koordpy.scheduler.ingest.resources import PODS, PRIORITY_CLASSES, SERVICES

QUEUE_JOBS = Resource(f"/apis/{GROUP}/{VERSION}/queuejobs", Decoder(KIND, QueueJob), optional=True)
SCHEDULING_SPECS = Resource(
    f"/apis/{GROUP}/{VERSION}/schedulingspecs", Decoder("SchedulingSpec", SchedulingSpec), optional=True
)
_DEFINITION = Definition("queuejobs", (QUEUE_JOBS,), f"{INSTALL}; until then there are no QueueJobs")


class QueueJobController(Controller[str]):
    """A controller whose reconciler hands pods to a creator, which runs beside the workers."""

    def __init__(
        self, reflectors: SharedReflectors, writing: Client, clock: Callable[[], float], *, workers: int
    ) -> None:
        queue: WorkQueue[str] = WorkQueue()
        self._index = QueueJobIndex(queue.add, self._freed)
        self._hands = Hands(writing, self._index, clock)
        self._creator = Creator(self._index, self._hands, queue.add)
        self._reconciler_of_jobs = QueueJobReconciler(self._index, self._hands, self._creator, clock, queue.add)
        # Listed again by a new leader.
        self._watched: tuple[Reflector[Any], ...] = (
            reflectors.subscribe(PRIORITY_CLASSES, self._index.classes),
            reflectors.subscribe(SCHEDULING_SPECS, self._index.specs),
            reflectors.subscribe(QUEUE_JOBS, self._index),
        )
        # Not among those: a Service that is created a second time is found.
        self._services = reflectors.subscribe(SERVICES, self._index.services)
        self._pods = reflectors.subscribe(PODS, self._index.pods)
        installed = reflectors.installed(_DEFINITION)
        super().__init__(
            "queuejob",
            self._reconciler_of_jobs,
            queue,
            synced=self._pods.synced,
            all_keys=self._index.keys,
            workers=workers,
            is_installed=lambda: installed.now,
        )

    async def run(self) -> None:
        """Until cancelled; only while this process leads."""
        await self._see_everything()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(super().run())
                tasks.create_task(self._creator.run())
        finally:
            self._creator.reset()
            self._reconciler_of_jobs.reset()
            self._hands.reset()

    async def _see_everything(self) -> None:
        """What the last leader wrote, the watches may not have shown yet: pods would seem lost that are just made."""
        for reflector in (*self._watched, self._services, self._pods):
            await reflector.synced.wait()
        for reflector in self._watched:
            await reflector.resync()
        if self._index.keys():
            await self._pods.resync()

    def _freed(self, namespace: str) -> None:
        self._creator.freed(namespace)
