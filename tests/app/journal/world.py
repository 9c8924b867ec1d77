"""A random world whose scheduler keeps a journal: users, an API server that is slow and loses things."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from koordpy.app.build import BuiltScheduler, build_scheduler
from koordpy.app.journal.calls import RecordingClient
from koordpy.app.journal.files import head_of
from koordpy.app.journal.recorder import Recorder
from koordpy.app.journal.settings import JournalSettings
from koordpy.app.journal.terms import Terms
from koordpy.app.settings import Settings
from koordpy.kube.client import Client
from koordpy.plan.framework.profiles import default_profile
from koordpy.scheduler.ingest.sinks import Sinks
from koordpy.scheduler.runtimes.learnt import LearntRunTimes
from tests.builders import Json
from tests.scheduler.gangs.loop import HandLoop
from tests.scheduler.gangs.model.admins import Admins
from tests.scheduler.gangs.model.api import Api
from tests.scheduler.gangs.model.oracle import APIS
from tests.scheduler.gangs.model.temper import Temper
from tests.scheduler.gangs.model.truth import PODS, Truth, Watches
from tests.scheduler.gangs.model.users import Users
from tests.scheduler.wakeups.rig import SCHEDULER, HandClock, OneByOne

SETTINGS = Settings(profiles=(default_profile(SCHEDULER),), bind_width=3)


class EvictingApi(Api):
    """One that also deletes pods, and is told of victims and nominations."""

    def _apply(self, method: str, path: str, body: Json) -> None:
        if method == "DELETE":
            pod = self._pod(path)
            if "dryRun" not in body:
                self._truth.delete(PODS, f"{pod['metadata']['namespace']}/{pod['metadata']['name']}")
        elif method == "PATCH" and path.endswith("/status") and "resourceVersion" not in body["metadata"]:
            pod = self._pod(path.removesuffix("/status"))
            status = pod.setdefault("status", {}) | body["status"]
            pod["status"] = {field: value for field, value in status.items() if value is not None}
            self._truth.changed(PODS, pod)
        elif "/podgroups/" not in path:
            super()._apply(method, path, body)


class _Rig:
    """What the watches of the model deliver to."""

    def __init__(self, sinks: Sinks, built: BuiltScheduler) -> None:
        self.pods, self.nodes, self.built = OneByOne(sinks), sinks.nodes, replace(built, sinks=sinks)
        self.pod_groups = {api: sinks.gang_objects[f"{api}/v1alpha1"] for api in APIS}


class World:
    """A function of its seed."""

    def __init__(self, seed: int, directory: Path, *, file_bytes: int = 2**30, files: int = 4) -> None:
        self.rng = random.Random(seed)
        self.clock = HandClock()
        self._learnt = LearntRunTimes()
        self.loop = HandLoop(self.clock)
        self.truth = Truth(self.clock)
        temper = Temper.choose(self.rng)
        self.api = EvictingApi(self.truth, self.rng, temper, lambda *_: None, lambda _: False)
        self._users, self._admins = Users(self.truth, self.rng, temper), Admins(self.truth, self.rng)
        asyncio.set_event_loop(self.loop)
        self.settings = JournalSettings(directory, file_bytes=file_bytes, files=files)
        self.terms = Terms(self.settings, head_of("here", None), self._build)
        sinks = self.terms.sinks
        self.watches = Watches(self.truth, cast("Any", _Rig(sinks, self.terms.built)), lambda *_: None)
        self._leading: asyncio.Task[None] | None = None

    def _build(self, recorder: Recorder | None) -> BuiltScheduler:
        client = cast("Client", self.api)
        if recorder is None:
            return build_scheduler(
                SETTINGS, client, instance="here", clock=self.clock, wall=self.clock, learnt=self._learnt
            )
        clock = recorder.clock(self.clock)
        recording = RecordingClient(client, recorder)
        return build_scheduler(
            SETTINGS,
            recording,
            instance="here",
            clock=clock,
            wall=clock,
            learnt=self._learnt,
            decided=recorder.decided,
        )

    def lead(self) -> None:
        self._leading = self.loop.start(self._lead())
        self.loop.turn()

    async def _lead(self) -> None:
        self.terms.start_over()
        await self.terms.run()

    def restore_run_times(self, text: str) -> None:
        self.terms.act(("run_times", text), lambda: self._learnt.restore(text))

    def step_down(self) -> None:
        assert self._leading is not None
        self._leading.cancel()
        while not self._leading.done():
            self.loop.turn()
            self.api.arrive()
            self.clock.now += 0.1

    def play(self, steps: int) -> None:
        for _ in range(steps):
            if self.rng.random() < 0.1:
                self._admins.disturb()
            else:
                self._users.disturb()
            for _ in range(self.rng.randrange(8)):
                self.rng.choice([self._deliver, self._deliver, self.api.arrive, self._pass_time])()
                self.loop.turn()

    def rest(self) -> None:
        """Everything arrives, and nothing else happens."""
        self.api.is_calm = True
        for _ in range(400):
            while self._deliver() or self.api.arrive():
                self.loop.turn()
            self.clock.now += 0.1
            self.loop.turn()
        self.api.is_calm = False

    def close(self) -> None:
        if self._leading is not None and not self._leading.done():
            self.step_down()
        self.loop.cut()
        self.loop.close()
        asyncio.set_event_loop(None)

    def _deliver(self) -> bool:
        late = [kind for kind in self.truth.kinds if self.truth.news[kind]]
        if late:
            self.watches.deliver(self.rng.choice(late))
        return bool(late)

    def _pass_time(self) -> None:
        self.clock.now += self.rng.choice([0.001, 0.1, 1, 3, 25])
