"""The scheduler from the watch to the decision, without an API server: what is refused, and what would be bound."""

from dataclasses import replace
from typing import Any, cast

from koordpy.api.node import Node
from koordpy.api.pod import Pod
from koordpy.app.build import build_scheduler
from koordpy.app.settings import Settings
from koordpy.kube.client import Client
from koordpy.plan.framework.answers import Refusal
from koordpy.plan.framework.profiles import default_profile
from tests.builders import typed

Json = dict[str, Any]

NAME = "koord-scheduler"


class Attempts:
    """Objects go in as JSON, as the watch brings them; `run` tries everything that is ready."""

    def __init__(self, *nodes: Json) -> None:
        settings = Settings(profiles=(replace(default_profile(NAME), preempts=False),))
        self._built = build_scheduler(settings, cast("Client", None))
        self.cluster = self._built.cluster
        for node in nodes:
            self.see_node(node)

    def see_node(self, node: Json) -> None:
        self._built.sinks.nodes.upsert(typed(node, Node))

    def see_pod(self, pod: Json) -> None:
        self._built.sinks.pods.upsert(typed(pod, Pod))
        self._built.sinks.settle_pods()

    def run(self) -> None:
        while (ticket := self._built.scheduler.next_ticket()) is not None:
            self._built.scheduler.attempts.schedule_one(ticket)

    @property
    def placed(self) -> dict[str, str]:
        """Pods that are on their way to a node."""
        return {record.key: record.node for record in self.cluster.pods.values() if record.node and not record.bound}

    @property
    def refusals(self) -> dict[str, Refusal]:
        """By namespace/name."""
        return {ticket.name: ticket.refusal for ticket in self._built.queue if ticket.refusal is not None}
