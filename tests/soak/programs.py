"""koordpy as it is run: processes with logs, which are killed and started again, and the memory that they have."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.controlplane.process import Process

STOP_SECONDS = 20
_FLAGS = ("--bind-address=127.0.0.1", "--port=0", "--log-format=json")


class Look(NamedTuple):
    """At one process, at one moment."""

    at: float  # of the monotonic clock
    age_s: float
    memory_mb: float


class Program:
    """One of koordpy's commands, started again and again under the same name."""

    def __init__(self, name: str, command: str, kubeconfig: Path, directory: Path) -> None:
        self.name = name
        self._command = [sys.executable, "-m", "koordpy", command, f"--kubeconfig={kubeconfig}", *_FLAGS]
        self.log = directory / f"{name}.log"
        self.starts = 0
        self.looks: list[Look] = []
        self.start()

    def start(self) -> None:
        self._process = Process(self.name, self._command, self.log)
        self._began = time.monotonic()
        self.starts += 1

    def kill(self) -> None:
        """As a node that fails: nothing of it is cleaned up."""
        self._process.signal(signal.SIGKILL)
        self._process.wait_stopped(STOP_SECONDS)

    def end(self) -> bool:
        """By SIGTERM, as an upgrade does it; whether it ended in time."""
        self._process.signal(signal.SIGTERM)
        began = time.monotonic()
        self._process.wait_stopped(STOP_SECONDS)
        return time.monotonic() - began < STOP_SECONDS

    @property
    def running(self) -> bool:
        return self._process.running

    def look(self) -> None:
        now = time.monotonic()
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        self.looks.append(Look(now, now - self._began, pages * 4096 / 1e6))

    def mistakes(self) -> Iterator[str]:
        """What it has said of itself that should not be: errors, and lines that are no log."""
        for line in self.log.read_text(errors="replace").splitlines():
            try:
                said = json.loads(line)
            except ValueError:
                yield f"{self.name} wrote: {line[:300]}"
                continue
            if said.get("level") in ("error", "critical"):
                yield f"{self.name} logged: {line[:300]}"
