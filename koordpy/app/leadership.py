"""Who schedules while a process leads: one scheduler, or one after another with a journal (`journal/terms.py`)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from koordpy.app.build import BuiltScheduler, build_scheduler
from koordpy.app.journal.calls import RecordingClient
from koordpy.app.journal.files import head_of
from koordpy.app.journal.recorder import Recorder
from koordpy.app.journal.terms import Terms
from koordpy.app.settings import Settings
from koordpy.kube.client import Client
from koordpy.scheduler.acts import Act, unrecorded
from koordpy.scheduler.ingest.sinks import Sinks
from koordpy.scheduler.runtimes.learnt import LearntRunTimes
from koordpy.state.pods import PodRecord


class Leadership(Protocol):
    """Its scheduler hears everything at all times, and decides while `run` runs."""

    @property
    def built(self) -> BuiltScheduler:
        """The scheduler of the moment."""

    @property
    def sinks(self) -> Sinks:
        """What the watches deliver to."""

    @property
    def act(self) -> Act:
        """How others do something to it."""

    def start_over(self) -> None:
        """The process leads from now on."""

    async def run(self) -> None:
        """Schedule until cancelled."""


class Unrecorded:
    """One scheduler for the life of the process."""

    def __init__(self, built: BuiltScheduler) -> None:
        self.built, self.act = built, unrecorded

    @property
    def sinks(self) -> Sinks:
        return self.built.sinks

    def start_over(self) -> None:
        self.built.scheduler.start_over()

    async def run(self) -> None:
        await self.built.scheduler.run()


def leadership(
    settings: Settings,
    client: Client,
    identity: str,
    learnt: LearntRunTimes,
    on_foreign_bind: Callable[[PodRecord], None],
) -> Leadership:
    """As the settings want it; raises BadJournal."""

    def build(recorder: Recorder | None) -> BuiltScheduler:
        if recorder is None:
            return build_scheduler(settings, client, instance=identity, learnt=learnt, on_foreign_bind=on_foreign_bind)
        return build_scheduler(
            settings,
            RecordingClient(client, recorder),
            instance=identity,
            clock=recorder.clock(time.monotonic),
            wall=recorder.clock(time.time),
            learnt=learnt,
            on_foreign_bind=on_foreign_bind,
            decided=recorder.decided,
        )

    if settings.journal is None:
        return Unrecorded(build(None))
    return Terms(settings.journal, head_of(identity, settings.journal.config), build)
