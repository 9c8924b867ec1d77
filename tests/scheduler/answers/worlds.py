"""Small worlds by description, so that a change can be made to the description and the world be built anew."""

from __future__ import annotations

import asyncio
import copy
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from koordpy.api.answers import Explanation, WhatIf
from koordpy.api.node import Node
from koordpy.api.pod import Pod
from koordpy.app.build import BuiltScheduler, build_scheduler
from koordpy.app.settings import Settings
from koordpy.controllers.grouping.expansion import expanded
from koordpy.plan.preemption.search import is_whole
from koordpy.scheduler.answers.answering import Answering
from tests.builders import node_json, pod_json, typed, with_identity
from tests.configs import reading
from tests.scenarios.objects import gang

Json = dict[str, Any]
NOW = 1_767_225_600.0


@cache
def settings() -> Settings:
    with tempfile.TemporaryDirectory() as folder:
        return reading(Path(folder), profiles=[{"schedulerName": "koord-scheduler"}])[0]


@dataclass
class Description:
    """Nodes and pods as JSON; the gang in question is `a`, in namespace `default`."""

    nodes: list[Json] = field(default_factory=list)
    running: list[Json] = field(default_factory=list)
    members: list[Json] = field(default_factory=list)
    minimum: int = 1

    def node(self, name: str, **given: Any) -> Description:
        self.nodes.append(node_json(name, **given))
        return self

    def runs(self, name: str, on: str, **given: Any) -> Description:
        self.running.append(with_identity(pod_json(name, node=on, **given)))
        return self

    def gang(self, minimum: int, count: int | None = None, **given: Any) -> Description:
        self.minimum = minimum
        names = [f"a-{number}" for number in range(minimum if count is None else count)]
        self.members = [with_identity(pod_json(name, **given)) for name in names]
        return self

    def build(self) -> BuiltScheduler:
        async def made() -> BuiltScheduler:
            return build_scheduler(settings(), None, clock=lambda: NOW, wall=lambda: NOW)  # type: ignore[arg-type]

        built = asyncio.run(made())
        for each in self.nodes:
            built.cluster.upsert_node(typed(each, Node))
        for each in self.running:
            built.cluster.upsert_pod(typed(each, Pod))
        for each in self.members:
            obj = copy.deepcopy(each)
            obj["metadata"]["annotations"] = gang("a", minimum=self.minimum)
            built.cluster.upsert_pod(typed(obj, Pod))
        built.parts.jobs.refresh_all()
        built.parts.wakeups.deliver()
        return built

    def starts(self) -> bool:
        """Whether the whole gang starts in a world of this description, asked of the planner itself."""
        built = self.build()
        ticket = built.queue.get("default/a")
        job = built.parts.jobs.job_of(ticket) if ticket is not None else None
        group = built.parts.jobs.group_of(ticket) if ticket is not None else ()
        if job is None or not group or not built.cluster.gangs.own(group)[0].has_enough:
            return False
        return is_whole(built.parts.planning.plan(job))


def answering(built: BuiltScheduler) -> Answering:
    return Answering(built.parts, built.book, built.throttle, built.schedulers, expand=expanded, wall=lambda: NOW)


def explained(built: BuiltScheduler, name: str = "a") -> Explanation:
    return asyncio.run(answering(built).explain("default", name))


def what_if(built: BuiltScheduler, body: bytes, *query: tuple[str, str]) -> WhatIf:
    return asyncio.run(answering(built).what_if(body, query))
