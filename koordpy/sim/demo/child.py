"""The scheduler of the demo: `koordpy run` as a process of its own, which reaches the API over HTTP like any other."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from koordpy.app.process import CannotStart

_SERVING = re.compile(r"\bserving\b.*\bport=([0-9]+)")
_LAST_LINES = 12
_GRACE_S = 5.0  # for releasing the lease; it takes milliseconds


class SchedulerEnded(CannotStart):
    """The scheduler ended while it was needed; `str()` carries the end of its log."""


@asynccontextmanager
async def scheduler(kubeconfig: Path, log: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """A running scheduler, with the controllers that keep PodGroups true; it has ended when the block has."""
    command = ["-m", "koordpy", "run", "--with-controllers", "--kubeconfig", str(kubeconfig)]
    serving = ["--bind-address", "127.0.0.1", "--port", "0", "--log-format", "console"]  # any port: the log says which
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *command,
            *serving,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            # Ctrl-C goes to the whole group. It must reach us alone: the scheduler is told to end by us, once, while
            # the API is still there to take its lease back.
            start_new_session=True,
        )
    try:
        yield process
    finally:
        await _end(process)


async def address(log: Path) -> str:
    """Where the scheduler answers, as soon as it does."""
    while True:
        if found := _SERVING.search(_text(log)):
            return f"http://127.0.0.1:{found[1]}"
        await asyncio.sleep(0.1)


async def report_death(process: asyncio.subprocess.Process, log: Path) -> None:
    """Wait for as long as the scheduler runs, then raise."""
    code = await process.wait()
    how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    raise SchedulerEnded(f"the scheduler (koordpy run) ended {how}; the end of its log:\n{last_lines(log)}")


def last_lines(log: Path) -> str:
    """The end of a log, indented."""
    lines = _text(log).splitlines()[-_LAST_LINES:]
    return "\n".join(f"  {line}" for line in lines) or "  (empty)"


def _text(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    try:
        async with asyncio.timeout(_GRACE_S):
            await process.wait()
    except TimeoutError:
        pass
    finally:  # also when a second Ctrl-C cuts the wait short: no child outlives the demo
        if process.returncode is None:
            process.kill()
