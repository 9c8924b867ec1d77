"""The rig of front-ends with Queues: `rig.has_queue("a", cpu=(2, 4))` has a quota of 2 CPUs and a limit of 4.

`rig.job("a-1", "a")` is a pod of one CPU in queue a; `rig.ran("a-1", "a")` one that runs already.
"""

from __future__ import annotations

from typing import Any

from koordpy.api.pod import Pod
from koordpy.api.queue import Queue
from koordpy.plan.framework.profiles import default_profile
from koordpy.scheduler.settings import GangSettings
from tests.builders import Json, typed, with_identity
from tests.scheduler.frontends.rig import FrontEndRig
from tests.scheduler.gangs.rig import member_json, pod_group_sinks
from tests.scheduler.wakeups.rig import SCHEDULER, Rig, uid

LABEL = "kai.scheduler/queue"


class QueueRig(FrontEndRig):
    """A rig in which jobs may preempt, with Queues."""

    def __init__(self) -> None:
        Rig.__init__(self, default_profile(SCHEDULER), gangs=GangSettings())
        self.pod_groups = pod_group_sinks(self)
        self.sinks = self.built.sinks

    def has_queue(self, name: str, *, parent: str = "", cpu: Any = (0, -1), weight: float = 1, **spec: Any) -> None:
        """A Queue appeared or changed; `cpu` is its quota and its limit in CPUs, None for not counted."""
        resources = {}
        if cpu is not None:
            quota, limit = (each * 1000 if each > 0 else each for each in cpu)
            resources["cpu"] = {"quota": quota, "limit": limit, "overQuotaWeight": weight}
        obj: Json = {"metadata": {"name": name}, "spec": {"resources": resources} | spec}
        if parent:
            obj["spec"]["parentQueue"] = parent
        self.sinks.queues.upsert(typed(with_identity(obj), Queue))
        self.sinks.settle_queues()

    def no_queue(self, name: str) -> None:
        self.sinks.queues.remove(name, "")
        self.sinks.settle_queues()

    def job(self, name: str, queue: str = "", **given: Any) -> None:
        """A pod of one CPU in a queue."""
        labels = {LABEL: queue} if queue else {}
        self.member(name, labels=labels | given.pop("labels", {}), **given)

    def jobs_of(self, queue: str, count: int, **given: Any) -> None:
        for number in range(count):
            self.job(f"{queue}-{number}", queue, **given)

    def started(self, name: str, queue: str, at: str) -> None:
        """A pod of one CPU that runs on node n since a moment."""
        obj = member_json(name, on="n", labels={LABEL: queue})
        obj["status"] = {"phase": "Running", "startTime": at}
        self.pods.upsert(typed(obj, Pod))

    def queue_activate(self, name: str) -> None:
        """What the timer of a hold does, when it is up."""
        self.built.queue.activate(uid(name))

    def evicted(self) -> list[str]:
        """The names of pods that are being evicted, or were told to go."""
        victims = {pod.name for run in self.built.parts.evictor._runs.values() for pod in run.victims.values()}
        return sorted(victims)

    def carry_out(self) -> None:
        """Victims are gone, as their kubelets would have it, and what waited for them is tried."""
        for name in self.evicted():
            self.gone(name)
        self.settle()

    def in_queue(self, queue: str) -> list[str]:
        """The names of pods of a queue that have a node."""
        return sorted(pod.name for pod in self.cluster.pods.values() if pod.node and pod.queue == queue)

    def is_placed(self, name: str) -> bool:
        return bool(self.cluster.pods[uid(name)].node)
