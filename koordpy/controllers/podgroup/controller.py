"""The PodGroup controller put together: watches of pods and PodGroups, index, work queue and reconciler."""

from __future__ import annotations

from collections.abc import Callable, Collection

from koordpy.api.decode import Decoder
from koordpy.api.podgroup import GROUPS
from koordpy.controllers.podgroup.api import PodGroupApi
from koordpy.controllers.podgroup.gangs import GangIndex, PodGroupKey
from koordpy.controllers.podgroup.members import GangPod
from koordpy.controllers.podgroup.reconciler import PodGroupReconciler
from koordpy.controllers.runtime.controller import Controller
from koordpy.controllers.runtime.workqueue import WorkQueue
from koordpy.kube.client import Client
from koordpy.kube.watch.reflector import Reflector, Resource

# All pods, not only those with a label: annotations can name a gang, and cannot be selected by. Finished ones as well.
_PODS = Resource("/api/v1/pods", Decoder("Pod", GangPod))


def podgroup_controller(
    client: Client, writing: Client, schedulers: Collection[str], clock: Callable[[], float], *, workers: int
) -> Controller[PodGroupKey]:
    """`client` lists and watches; `writing` writes, and only while this process leads.

    `schedulers` are the names by which pods ask for koordpy. `clock` is the wall clock, in seconds since the epoch.
    """
    queue: WorkQueue[PodGroupKey] = WorkQueue()
    gangs = GangIndex(schedulers, queue.add, clock)
    apis = {group: PodGroupApi(group, gangs) for group in GROUPS}
    pods = Reflector(client, _PODS, gangs)
    pod_groups = [Reflector(client, api.resource, api) for api in apis.values()]
    return Controller(
        "podgroup",
        PodGroupReconciler(writing, gangs, apis),
        queue,
        reflectors=(pods, *pod_groups),
        synced=pods.synced,
        all_keys=gangs.keys,
        workers=workers,
    )
