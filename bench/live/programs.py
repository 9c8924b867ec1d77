"""The processes of a scheduler in a run: itself, what it needs beside it, its grouper. Owns them and their logs."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

from bench.figures import BenchError
from bench.live.scheduler import Scheduler, Site
from bench.live.usage import cpu_seconds, peak_mb
from tests.controlplane.process import Process

STOP_SECONDS = 10
GROUPER = "grouper"


class Programs:
    """All processes count: another scheduler may do in three what one does in a single one."""

    def __init__(self, processes: dict[str, Process]) -> None:
        self._processes = processes

    @property
    def cpu_s(self) -> float:
        return cpu_seconds(process.pid for process in self._processes.values())

    @property
    def grouper_cpu_s(self) -> float:
        grouper = self._processes.get(GROUPER)
        return cpu_seconds([grouper.pid]) if grouper else 0.0

    @property
    def peak_mb(self) -> float:
        """The sum of the most that each ever had."""
        return sum(peak_mb(process.pid) for process in self._processes.values())

    def check(self) -> None:
        for process in self._processes.values():
            if not process.running:
                raise BenchError(f"{process.name} has ended in the middle of the run\n{process.tail()}")

    def tails(self) -> str:
        return "\n".join(process.tail() for process in self._processes.values())


@contextlib.contextmanager
def running(scheduler: Scheduler, site: Site, *, grouped: bool) -> Iterator[Programs]:
    """Started together, the scheduler last; `grouped`: with the grouper."""
    commands = dict(scheduler.beside)
    if grouped and scheduler.grouper is not None:
        commands[GROUPER] = scheduler.grouper.command
    processes: dict[str, Process] = {}
    try:
        for name, command in (*commands.items(), (scheduler.name, scheduler.command)):
            processes[name] = Process(name, command(site), site.directory / f"{name.replace(' ', '-')}.log")
        yield Programs(processes)
    finally:
        for process in processes.values():
            process.signal(signal.SIGTERM)
        for process in processes.values():
            process.wait_stopped(STOP_SECONDS)
