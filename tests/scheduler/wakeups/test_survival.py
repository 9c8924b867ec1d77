"""One job's bad luck is not everybody's: the scheduler goes on, and the job is tried again."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from koordpy.plan.framework.profiles import default_profile
from koordpy.plugin import Score
from koordpy.scheduler.queue.ticket import State
from koordpy.state.arrays import Ints
from koordpy.state.cluster import Cluster
from koordpy.state.shapes import Shape
from tests.builders import pod_json
from tests.scheduler.wakeups.rig import SCHEDULER, Rig, client_of, uid

pytestmark = pytest.mark.looptime


class Stumbling(Score):
    """A score plugin with a mistake: it fails for one image as long as `broken`."""

    name = "Stumbling"
    broken = True

    def score(self, shape: Shape, cluster: Cluster, candidates: Ints) -> Ints:
        if self.broken and "bad" in shape.traits.images:
            raise KeyError("bad")
        return np.zeros(len(candidates), dtype=np.int64)


async def run_for(rig: Rig, seconds: float) -> None:
    """Let the scheduler run; it must not end by itself."""
    running = asyncio.create_task(rig.scheduler.run())
    await asyncio.sleep(seconds)
    assert not running.done(), "the scheduler ended"
    running.cancel()
    await asyncio.wait([running])


def stumbling_rig() -> tuple[Rig, Stumbling]:
    plugin: Any = Stumbling()
    sound = default_profile(SCHEDULER)
    profile = replace(sound, scores=(*sound.scores, (plugin, 1)))
    client = client_of(lambda _method, _path: (201, b"{}"))
    rig = Rig(profile, client=client, clock=asyncio.get_running_loop().time)
    rig.node("n1")
    rig.node("n2")
    rig.pod("bad", cpu=1, image="bad", priority=5)
    rig.pod("good", cpu=1)
    return rig, plugin


async def test_an_exception_in_planning_costs_only_its_own_pod_a_back_off():
    rig, _ = stumbling_rig()
    await run_for(rig, 0.5)
    assert rig.where("good") in {"n1", "n2"}
    assert rig.where("bad") is State.BACKOFF


async def test_a_pod_whose_planning_failed_is_placed_once_planning_works():
    rig, plugin = stumbling_rig()
    await run_for(rig, 0.5)
    plugin.broken = False
    await run_for(rig, 5)
    assert rig.where("bad") in {"n1", "n2"}


async def test_an_unreadable_answer_after_a_lost_bind_is_asked_for_again():
    """The bind took effect, its answer was lost, and a proxy answers the first questions with a page of its own."""
    pages = [b"<html>log in</html>", b'{"metadata":', b"[]"]
    bound = pod_json("p", node="n1")
    bound["metadata"]["uid"] = uid("p")
    asked = []

    def answer(method: str, path: str) -> tuple[int, bytes]:
        if method == "GET":
            asked.append(path)
            return 200, pages.pop(0) if pages else msgspec.json.encode(bound)
        return (409 if path.endswith("/binding") else 201), b"{}"

    rig = Rig(client=client_of(answer), clock=asyncio.get_running_loop().time)
    rig.node("n1")
    rig.pod("p", cpu=1)
    await run_for(rig, 30)
    assert len(asked) == 4
    assert rig.where("p") == "n1"
    assert rig.ticket("p") is None
