"""Running programs: quiet while they work, their last words when they fail, a sign of life when they take long."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

HEARTBEAT_S = 20
LAST_LINES = 40


class Failed(Exception):
    """A program ended badly; `str()` has its command line and the end of what it said."""


class CannotRun(Exception):
    """The machine lacks something: no story is told, and none has failed. `str()` says what is missing."""


def cache() -> Path:
    """Where everything that takes long to make is kept between runs."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    directory = Path(base) / "koordpy" / "e2e"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} e2e: {text}", flush=True)


def run(
    command: Sequence[str | Path],
    *,
    given: str | bytes | None = None,
    env: Mapping[str, str] | None = None,
    label: str = "",
    limit_s: float = 600,
) -> str:
    """The standard output of a program that must succeed."""
    words = [str(word) for word in command]
    started = time.monotonic()
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(env) if env is not None else None,
    )
    data = given.encode() if isinstance(given, str) else given
    try:
        out, err = _wait(process, data, label, started, limit_s)
    finally:
        process.kill()  # without effect on one that has ended; on Ctrl-C nothing goes on by itself
    if process.returncode:
        said = "\n".join(f"    {line}" for line in (out + err).decode(errors="replace").splitlines()[-LAST_LINES:])
        raise Failed(f"{' '.join(words)}: exit code {process.returncode}\n{said}")
    return out.decode(errors="replace")


def _wait(
    process: subprocess.Popen[bytes], data: bytes | None, label: str, started: float, limit_s: float
) -> tuple[bytes, bytes]:
    while True:
        try:
            return process.communicate(data, timeout=HEARTBEAT_S)
        except subprocess.TimeoutExpired:
            data = None  # communicate() remembers what it has not sent yet
            passed = time.monotonic() - started
            if passed > limit_s:
                process.kill()
                raise Failed(f"{process.args!r}: not done after {limit_s:.0f} s") from None
            if label:
                say(f"{label}: still at it after {passed:.0f} s")


def succeeds(command: Sequence[str | Path], *, env: Mapping[str, str] | None = None, limit_s: float = 60) -> bool:
    try:
        run(command, env=env, limit_s=limit_s)
    except (Failed, OSError):
        return False
    return True
