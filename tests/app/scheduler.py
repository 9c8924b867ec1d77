"""One `koordpy run`, started, asked, signalled and ended by a test."""

from __future__ import annotations

import asyncio
import json
import signal
import ssl
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Self

import aiohttp

from tests.controlplane.process import Process, free_ports

READY_SECONDS = 20

Condition = Callable[[], bool | Awaitable[bool]]


class SchedulerProcess:
    """`async with SchedulerProcess(directory, "--kubeconfig", path) as scheduler:`; killed at the end of the block."""

    def __init__(self, directory: Path, *arguments: str | Path, elect: bool = False, name: str = "koordpy") -> None:
        (self.port,) = free_ports(1)
        self.log = directory / f"{name}-{self.port}.log"
        always = ["--log-format=json", "--bind-address=127.0.0.1", f"--port={self.port}", f"--leader-elect={elect}"]
        self._command = [sys.executable, "-m", "koordpy", "run", *always, *arguments]
        self._tls = "--tls-cert-file" in arguments

    async def __aenter__(self) -> Self:
        self._process = Process("koordpy", self._command, self.log)
        return self

    async def __aexit__(self, *_: object) -> None:
        for number in (signal.SIGCONT, signal.SIGKILL):  # a stopped process does not die before it goes on
            self._process.signal(number)
        await self.ended()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.running

    def signal(self, number: signal.Signals) -> None:
        self._process.signal(number)

    async def ended(self, seconds: float = 15) -> int:
        """Its exit code."""
        await until(lambda: not self._process.running, seconds, what=lambda: f"{self} still runs\n{self.text()}")
        return self._process._child.returncode

    async def ready(self) -> None:
        await self.until(self._is_ready, READY_SECONDS)

    async def until(self, true: Condition, seconds: float = 30, *, every: float = 0.1) -> None:
        """Wait for something that this process should do; fails with its log, and at once when it ends instead."""

        async def alive_and_true() -> bool:
            assert self.running, f"it ended\n{self.text()}"
            return await _holds(true)

        await until(alive_and_true, seconds, every=every, what=self.text)

    async def _is_ready(self) -> bool:
        return (await self.get("/readyz"))[0] == 200

    async def get(self, path: str, headers: dict[str, str] | None = None) -> tuple[int, str]:
        """An answer of its health and metrics server; status 0 when there is none."""
        scheme = "https" if self._tls else "http"
        trusted = ssl._create_unverified_context() if self._tls else True
        timeout = aiohttp.ClientTimeout(total=5)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout, headers=headers) as session,
                session.get(f"{scheme}://127.0.0.1:{self.port}{path}", ssl=trusted) as answer,
            ):
                return answer.status, await answer.text()
        except (aiohttp.ClientError, TimeoutError):
            return 0, ""

    async def metric(self, name: str) -> float:
        """The value of a metric, by its full name with labels."""
        _, text = await self.get("/metrics")
        lines = [line for line in text.splitlines() if line.startswith(f"{name} ")]
        return float(lines[0].split()[-1]) if lines else 0.0

    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def lines(self, event: str = "") -> list[dict[str, Any]]:
        """The log entries, all or those of one event."""
        entries = [json.loads(line) for line in self.text().splitlines() if line.startswith("{")]
        return [entry for entry in entries if not event or entry["event"] == event]


async def until(
    true: Condition,
    seconds: float = 30,
    *,
    every: float = 0.1,
    what: Callable[[], str] = lambda: "it did not happen",
) -> None:
    """Wait for something to become true; `what` is evaluated when it does not."""
    deadline = time.monotonic() + seconds
    while not await _holds(true):
        assert time.monotonic() < deadline, f"waited {seconds} s: {what()}"
        await asyncio.sleep(every)


async def _holds(true: Condition) -> bool:
    answer = true()
    return answer if isinstance(answer, bool) else await answer
