"""One child process of a test run, with its log in a file, that cannot outlive the run.

It signals only the process group that it started itself, and never looks for processes by name.
"""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

PR_SET_PDEATHSIG = 1
TAIL_LINES = 30
POLL_SECONDS = 0.05


class StartError(Exception):
    """A program did not come up; the message carries the end of its log."""


class Process:
    """A running program. It is its own process group, so that what it starts ends with it."""

    def __init__(self, name: str, command: Sequence[str | Path], log: Path) -> None:
        # The kernel ties the death signal to the *thread* that started the child: started from a thread of a
        # pool, the program would be killed when the pool shrinks, in the middle of an unrelated test.
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError(f"{name} must be started from the main thread: it dies with the thread that started it")
        self.name = name
        self.log = log
        with log.open("ab") as output:
            self._child = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_die_with(os.getpid()),  # noqa: PLW1509 - see the rule about threads above
            )

    @property
    def running(self) -> bool:
        return self._child.poll() is None

    @property
    def pid(self) -> int:
        return self._child.pid

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the whole group; a group that has ended is left alone."""
        if self.running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._child.pid, number)

    def wait_stopped(self, timeout: float) -> None:
        """Wait for the end that a signal has asked for, and force it when it does not come."""
        try:
            self._child.wait(timeout)
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
            self._child.wait()

    def wait_until(self, ready: Callable[[], bool], timeout: float) -> None:
        """Wait until `ready()`, or raise StartError with the end of the log."""
        deadline = time.monotonic() + timeout
        while not ready():
            if not self.running:
                code = self._child.returncode
                raise StartError(f"{self.name} ended with code {code} before it was ready\n{self.tail()}")
            if time.monotonic() > deadline:
                raise StartError(f"{self.name} was not ready after {timeout:.0f} s\n{self.tail()}")
            time.sleep(POLL_SECONDS)

    def tail(self) -> str:
        """The end of the log, with the path of all of it."""
        lines = self.log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
        return "\n".join([f"the end of {self.log}:", *(f"    {line}" for line in lines)])


def _die_with(parent: int) -> Callable[[], None] | None:
    if sys.platform != "linux":
        return None  # elsewhere only an orderly end, or Ctrl-C, takes the children down
    libc = ctypes.CDLL(None)  # loaded here: between fork and exec nothing may be allocated that needs a lock

    def ask_the_kernel() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before we asked
            os._exit(1)

    return ask_the_kernel


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on at this moment; another program may be quicker: be ready to retry."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for sock in sockets:
            sock.bind(("127.0.0.1", 0))
        return [sock.getsockname()[1] for sock in sockets]
