"""Builds the PodGrouper: watches of pods and PodGroups, indexes, work queue and reconciler.

It has a lease of its own, `koordpy-podgrouper`: where it exists, the scheduler holds pods until they are grouped, and
can say since when nobody does. So the grouper stands for the lease only where the definition of its PodGroups is
installed: without that it could group nothing, and everybody would wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable

from koordpy.api.definitions import INSTALL
from koordpy.api.keys import PODGROUPER
from koordpy.controllers.grouping.kinds.table import Kind, Kinds
from koordpy.controllers.grouping.owners import Owners
from koordpy.controllers.grouping.podgroups import POD_GROUPS, PodGroupIndex
from koordpy.controllers.grouping.pods import PodIndex
from koordpy.controllers.grouping.problems import Problems
from koordpy.controllers.grouping.reconciler import GroupingReconciler
from koordpy.controllers.grouping.surroundings import PriorityClassNames, SpecOwners
from koordpy.controllers.grouping.wakeups import Key, Wakeups
from koordpy.controllers.grouping.workloads import WorkloadIndex
from koordpy.controllers.grouping.writer import Writer
from koordpy.controllers.runtime.controller import Controller
from koordpy.controllers.runtime.workqueue import WorkQueue
from koordpy.kube.client import Client
from koordpy.kube.events import EventRecorder
from koordpy.kube.watch.definitions import Definition
from koordpy.kube.watch.shared import SharedReflectors
from koordpy.scheduler.ingest.resources import PODS, PRIORITY_CLASSES, SCHEDULING_SPECS

LEASE = PODGROUPER
WORKERS = 16
_BATCH_S = 0.002  # pods of one workload come together; more would delay its start
_REQUEUE_REFUSED_S = 30.0  # pods wait for it, so it is repeated sooner than a status
_DEFINITION = Definition("kai_podgroups", (POD_GROUPS,), f"{INSTALL}; until then workloads are not grouped")


class PodGrouper:
    """`run` while this process leads, once it is `installed`."""

    def __init__(
        self,
        reflectors: SharedReflectors,
        writing: Client,
        schedulers: Collection[str],
        clock: Callable[[], float],
        others: Iterable[Kind] = (),
    ) -> None:
        queue: WorkQueue[Key] = WorkQueue(batch_s=_BATCH_S)
        kinds, self._workloads = Kinds(others), WorkloadIndex()
        self._wakeups = Wakeups(self._workloads, queue.add)
        pods = PodIndex(schedulers, self._wakeups.pod_changed)
        pod_groups = PodGroupIndex(self._wakeups.pod_group_changed)
        classes = PriorityClassNames(self._wakeups.classes_changed)
        specs = SpecOwners(self._wakeups.owner_changed)
        self._owners = Owners(writing, kinds, pods.get, self._wakeups.owner_changed)
        reconciler = GroupingReconciler(
            pods=pods,
            owners=self._owners,
            kinds=kinds,
            classes=classes,
            specs=specs,
            workloads=self._workloads,
            writer=Writer(writing, pod_groups, pods),
            problems=Problems(EventRecorder(writing, PODGROUPER), clock, PODGROUPER),
            wakeups=self._wakeups,
        )
        watched_groups = reflectors.subscribe(POD_GROUPS, pod_groups)
        self._synced = (
            reflectors.subscribe(PODS, pods),
            watched_groups,
            reflectors.subscribe(PRIORITY_CLASSES, classes),
            reflectors.subscribe(SCHEDULING_SPECS, specs),
        )
        reflectors.installed(_DEFINITION)
        self._installed = asyncio.Event()
        self._installed.set()
        watched_groups.on_served(lambda served: self._installed.set() if served else self._installed.clear())
        self._all_synced = asyncio.Event()
        self.controller: Controller[Key] = Controller(
            "workload",
            reconciler,
            queue,
            synced=self._all_synced,
            all_keys=lambda: [Key("branch", branch) for branch in pods.branches()],
            workers=WORKERS,
            what="grouping",
            requeue_refused_s=_REQUEUE_REFUSED_S,
        )

    async def installed(self) -> None:
        """Return when the definition of its PodGroups is there."""
        for reflector in self._synced:
            await reflector.synced.wait()
        await self._installed.wait()
        self._all_synced.set()

    async def run(self) -> None:
        """Group everything, then what changes, until cancelled; only while this process leads."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._owners.run())  # first: it watches what the others read
                tasks.create_task(self.controller.run())
        finally:
            self._workloads.clear()
            self._wakeups.reset()
