"""Running koordpy's commands as child processes, ended by their own id and by nothing else."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TIME_LIMIT_S = 90


def koordpy(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        _command(arguments), capture_output=True, text=True, timeout=TIME_LIMIT_S, env=_env(environment), check=False
    )


@contextmanager
def started(*arguments: str | Path) -> Iterator[subprocess.Popen[str]]:
    """A running command, which is killed at the end of the block if it still runs."""
    with subprocess.Popen(
        _command(arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=_env({})
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def ended_by(process: subprocess.Popen[str], number: signal.Signals) -> tuple[int, str]:
    """Send a signal to this process; its exit code and what it printed to standard error."""
    process.send_signal(number)
    _, errors = process.communicate(timeout=TIME_LIMIT_S)
    return process.returncode, errors


def child_of(process: subprocess.Popen[str]) -> int:
    """The id of its only child, by parenthood: a search by name could find somebody else's."""
    (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return int(child)


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _command(arguments: tuple[str | Path, ...]) -> list[str]:
    return [sys.executable, "-m", "koordpy", *map(str, arguments)]


def _env(more: dict[str, str]) -> dict[str, str]:
    """Without the clusters of whoever runs the tests."""
    inherited = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    return {**inherited, "HOME": "/nonexistent", "PYTHONUNBUFFERED": "1", **more}
