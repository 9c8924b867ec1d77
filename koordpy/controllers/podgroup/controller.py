"""Builds the PodGroup controller: watches of pods and PodGroups, index, work queue and reconciler."""

from __future__ import annotations

from collections.abc import Callable, Collection

from koordpy.controllers.podgroup.api import PodGroupApi
from koordpy.controllers.podgroup.gangs import GangIndex, PodGroupKey
from koordpy.controllers.podgroup.kinds import KINDS
from koordpy.controllers.podgroup.reconciler import PodGroupReconciler
from koordpy.controllers.runtime.controller import Controller
from koordpy.controllers.runtime.workqueue import WorkQueue
from koordpy.kube.client import Client
from koordpy.kube.watch.shared import SharedReflectors
from koordpy.scheduler.ingest.resources import GANG_OBJECTS, POD_GROUP_DEFINITION, PODS


def podgroup_controller(
    reflectors: SharedReflectors,
    writing: Client,
    schedulers: Collection[str],
    clock: Callable[[], float],
    *,
    workers: int,
) -> Controller[PodGroupKey]:
    """`reflectors` list and watch, for all of the process; `writing` writes, and only while this process leads.

    `schedulers` are the names by which pods ask for koordpy. `clock` is the wall clock, in seconds since the epoch.
    """
    queue: WorkQueue[PodGroupKey] = WorkQueue()
    gangs = GangIndex(schedulers, queue.add, clock)
    apis = {version: PodGroupApi(kind, gangs) for version, kind in KINDS.items()}
    # All pods, not only those with a label: annotations can name a gang, and cannot be selected by.
    pods = reflectors.subscribe(PODS, gangs)
    for version, api in apis.items():
        reflectors.subscribe(GANG_OBJECTS[version], api)
    installed = reflectors.installed(POD_GROUP_DEFINITION)
    return Controller(
        "podgroup",
        PodGroupReconciler(writing, gangs, apis, clock),
        queue,
        synced=pods.synced,
        all_keys=gangs.keys,
        workers=workers,
        is_installed=lambda: installed.now,
    )
