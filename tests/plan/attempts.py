"""The scheduler from the watch to the decision, without an API server: what is refused, and what would be bound."""

from dataclasses import replace
from typing import Any

from koordpy.api.node import Node
from koordpy.api.pod import Pod
from koordpy.kube.lane import Lane
from koordpy.plan.framework.answers import Refusal
from koordpy.plan.framework.profiles import default_profile
from koordpy.scheduler.ingest.intake import NodeIntake, PodIntake
from koordpy.scheduler.jobs import Jobs
from koordpy.scheduler.loop import Scheduler
from koordpy.scheduler.queue.queue import JobQueue
from koordpy.state.cluster import Cluster
from koordpy.state.pods import PodRecord
from tests.builders import typed

Json = dict[str, Any]

NAME = "koord-scheduler"


class Attempts:
    """Objects go in as JSON, as the watch brings them; `run` tries everything that is ready."""

    def __init__(self, *nodes: Json) -> None:
        self.cluster, self._queue = Cluster(), JobQueue()
        self.refusals: dict[str, Refusal] = {}  # by namespace/name
        self.lane = Lane(1)  # as the reporter has one; nobody carries it out
        jobs = Jobs(self.cluster, self._queue, {NAME})
        self._nodes = NodeIntake(self.cluster, self._queue, jobs)
        self._pods = PodIntake(self.cluster, self._queue, jobs, on_gone=lambda uid: None)
        profiles = {NAME: replace(default_profile(NAME), preempts=False)}
        self._scheduler = Scheduler(
            None, self.cluster, self._queue, jobs, profiles=profiles, reporter=self, volumes=None, bind_width=1
        )
        for node in nodes:
            self.see_node(node)

    def see_node(self, node: Json) -> None:
        self._nodes.upsert(typed(node, Node))

    def see_pod(self, pod: Json) -> None:
        self._pods.upsert(typed(pod, Pod))
        self._pods.settle()

    def run(self) -> None:
        while (ticket := self._queue.pop()) is not None:
            self._scheduler.schedule_one(ticket)

    @property
    def placed(self) -> dict[str, str]:
        """Pods that are on their way to a node."""
        return {record.key: record.node for record in self.cluster.pods.values() if record.node and not record.bound}

    def refused(self, pod: PodRecord, refusal: Refusal, *, of: int = 1) -> None:
        """What the reporter would be told."""
        self.refusals[pod.key] = refusal
