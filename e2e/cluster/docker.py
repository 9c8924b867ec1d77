"""Docker: the daemon of the machine where there is one, else one of our own with its data in the cache directory.

A daemon that we did not start is never stopped.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster.programs import CannotRun, Failed, cache, run, succeeds

PATIENCE_S = 60


@dataclass(frozen=True)
class Docker:
    """A client and the daemon that it talks to."""

    client: str
    host: str  # empty: what the environment says

    @property
    def environment(self) -> dict[str, str]:
        """For programs that call docker themselves, such as kind."""
        client = str(Path(self.client).parent)
        inherited = {**os.environ, "PATH": f"{client}:{os.environ['PATH']}"}
        return {**inherited, "DOCKER_HOST": self.host} if self.host else inherited

    def __call__(self, *arguments: str | Path, given: bytes | None = None, label: str = "") -> str:
        return run([self.client, *arguments], env=self.environment, given=given, label=label)

    def is_up(self) -> bool:
        return succeeds([self.client, "info"], env=self.environment)

    def has_image(self, image: str) -> bool:
        return succeeds([self.client, "image", "inspect", image], env=self.environment)


def machines_own() -> Docker | None:
    """The daemon that the user has, if it answers."""
    client = shutil.which("docker")
    docker = Docker(client, "") if client else None
    return docker if docker and docker.is_up() else None


def client_with_buildkit() -> str:
    """A client that can build with secrets: one with buildx, or one so old that it has BuildKit built in."""
    for directory in os.environ["PATH"].split(":"):
        client = Path(directory) / "docker"
        if not os.access(client, os.X_OK):
            continue
        if succeeds([client, "buildx", "version"]):
            return str(client)
        version = run([client, "--version"]).split()[2]
        if int(version.partition(".")[0]) < 23:
            return str(client)
    raise CannotRun("no docker client that has BuildKit: install docker-buildx, or docker.io of Debian 12")


class OwnDaemon:
    """A dockerd with its data, socket and log in the cache directory."""

    def __init__(self, runtime: Path) -> None:
        self._root = cache()
        self._runtime = runtime
        self.docker = Docker(client_with_buildkit(), f"unix://{self._root / 'docker.sock'}")

    def start(self) -> None:
        if self.docker.is_up():
            return
        with (self._root / "dockerd.log").open("w") as log:
            # Without docker0, which another daemon may have: kind makes a network of its own.
            command = ["dockerd", "--bridge=none", f"--data-root={self._root / 'docker'}"]
            command += [f"--exec-root={self._root / 'docker-exec'}", f"--pidfile={self._pidfile}"]
            command += [f"--host={self.docker.host}", f"--add-runtime=clamp={self._runtime}", "--default-runtime=clamp"]
            subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + PATIENCE_S
        while not self.docker.is_up():
            if time.monotonic() > deadline:
                raise CannotRun(f"dockerd does not come up; its log is {self._root / 'dockerd.log'}")
            time.sleep(0.5)

    def stop(self) -> None:
        """By the id that it wrote down itself, unless containers run on it: somebody has kept a cluster."""
        if not self._pidfile.exists() or self.docker("ps", "--quiet").strip():
            return
        pid = int(self._pidfile.read_text())
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE_S
        while self._pidfile.exists():
            if time.monotonic() > deadline:
                raise Failed(f"dockerd, process {pid}, does not end")
            time.sleep(0.2)

    @property
    def _pidfile(self) -> Path:
        return self._root / "dockerd.pid"
