"""Builds the queue controller: watches, index, work queue and reconciler."""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection

from koordpy.api.definitions import INSTALL
from koordpy.api.podgroup.coscheduling import GROUPS
from koordpy.controllers.queues.index import QueueIndex
from koordpy.controllers.queues.reconciler import QueueReconciler
from koordpy.controllers.queues.sinks import GangSink, PriorityClassSink, QueueSink, RunAISink
from koordpy.controllers.runtime.controller import Controller
from koordpy.controllers.runtime.workqueue import WorkQueue
from koordpy.kube.client import Client
from koordpy.kube.events import EventRecorder
from koordpy.kube.watch.definitions import Definition
from koordpy.kube.watch.shared import SharedReflectors
from koordpy.scheduler.ingest.resources import KAI_POD_GROUPS, POD_GROUPS, PODS, PRIORITY_CLASSES, QUEUES

_WORKERS = 2  # queues are few, and change seldom beside PodGroups
_DEFINITION = Definition("queues", (QUEUES,), f"{INSTALL}; until then there are no Queues")


def queue_controller(
    reflectors: SharedReflectors, writing: Client, schedulers: Collection[str], clock: Callable[[], float]
) -> Controller[str]:
    """`reflectors` list and watch, for all of the process; `writing` writes, and only while this process leads.

    `schedulers` are the names by which pods ask for koordpy. `clock` is the wall clock, in seconds since the epoch.
    """
    queue: WorkQueue[str] = WorkQueue()
    index = QueueIndex(schedulers, queue.add)
    pods = reflectors.subscribe(PODS, index)
    for group in GROUPS:
        reflectors.subscribe(POD_GROUPS[group], GangSink(index, group))
    reflectors.subscribe(KAI_POD_GROUPS, RunAISink(index))
    reflectors.subscribe(PRIORITY_CLASSES, PriorityClassSink(index))
    reflectors.subscribe(QUEUES, QueueSink(index))
    installed = reflectors.installed(_DEFINITION)
    return Controller(
        "queue",
        QueueReconciler(writing, index, EventRecorder(writing, socket.gethostname()), clock),
        queue,
        synced=pods.synced,
        all_keys=index.names,
        workers=_WORKERS,
        is_installed=lambda: installed.now,
    )
