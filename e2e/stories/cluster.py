"""The cluster as stories see it: kubectl, helm, and waiting for what should become true."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import yaml

from e2e.cluster.programs import Failed, run

Json = dict[str, Any]
T = TypeVar("T")
PATIENCE_S = 120
SYSTEM = "koordpy-system"
RELEASE = "koordpy"


@dataclass(frozen=True)
class Cluster:
    """A cluster, the programs that talk to it, and what is installed on it."""

    kubeconfig: Path
    kubectl_program: str
    helm_program: str
    image: str
    chart: Path

    def kubectl(self, *arguments: str, given: str | None = None, limit_s: float = PATIENCE_S) -> str:
        return run([self.kubectl_program, f"--kubeconfig={self.kubeconfig}", *arguments], given=given, limit_s=limit_s)

    @contextmanager
    def kubectl_that_goes_on(self, *arguments: str) -> Iterator[Iterator[str]]:
        """The lines of a kubectl that ends with the block, or that is ended when it has run for too long."""
        command = [self.kubectl_program, f"--kubeconfig={self.kubeconfig}", *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            too_long = threading.Timer(PATIENCE_S, process.kill)
            too_long.start()
            try:
                assert process.stdout is not None
                yield iter(process.stdout)
            finally:
                too_long.cancel()
                process.kill()

    def koord(self, *arguments: str | Path, kubeconfig: Path | None = None) -> tuple[int, str]:
        """`kubectl koord`, found on the PATH as any plugin is: its exit code, and all that it says."""
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        command = [self.kubectl_program, "koord", *arguments, f"--kubeconfig={kubeconfig or self.kubeconfig}"]
        done = subprocess.run(
            command, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False, timeout=PATIENCE_S
        )
        return done.returncode, done.stdout + done.stderr

    def helm(self, *arguments: str | Path, limit_s: float = 300) -> str:
        return run([self.helm_program, f"--kubeconfig={self.kubeconfig}", *arguments], limit_s=limit_s)

    def install(self, *more: str, patience: str = "4m") -> None:
        """Install or upgrade by the chart, and wait until it is ready."""
        repository, _, tag = self.image.rpartition(":")
        values = [f"image.repository={repository}", f"image.tag={tag}", *more]
        sets = [word for value in values for word in ("--set", value)]
        wait = ["--create-namespace", "--wait", f"--timeout={patience}"]
        self.helm("upgrade", "--install", RELEASE, self.chart, f"--namespace={SYSTEM}", *wait, *sets)

    def apply(self, *objects: Json, namespace: str) -> None:
        """Create or change objects; what the API server does not know in them is an error."""
        text = yaml.safe_dump_all(objects)
        self.kubectl("apply", f"--namespace={namespace}", "--validate=strict", "-f", "-", given=text)

    def get(self, kind: str, name: str, namespace: str = "") -> Json:
        found: Json = json.loads(self.kubectl("get", kind, name, f"--namespace={namespace or 'default'}", "-o", "json"))
        return found

    def list(self, kind: str, namespace: str = "", selector: str = "") -> list[Json]:
        where = f"--namespace={namespace}" if namespace else "--all-namespaces"
        words = ["get", kind, where, "-o", "json", *([f"--selector={selector}"] if selector else [])]
        items: list[Json] = json.loads(self.kubectl(*words))["items"]
        return items

    @contextmanager
    def with_definitions(self, definitions: Iterable[Json]) -> Iterator[None]:
        """Those that the cluster does not have yet; those that it has are somebody's."""
        there = {each["metadata"]["name"] for each in self.list("crd")}
        missing = [each for each in definitions if each["metadata"]["name"] not in there]
        names = [f"crd/{each['metadata']['name']}" for each in missing]
        if missing:
            self.kubectl("apply", "--server-side", "-f", "-", given=yaml.safe_dump_all(missing))
            # kubectl stumbles over a definition that has no conditions yet
            wait = partial(self.kubectl, "wait", "--for=condition=Established", *names)
            until(wait, "the definitions are served")
        yield
        if missing:
            self.kubectl("delete", *names)

    def leader(self) -> str:
        """The pod that holds the scheduler's lease."""
        lease = self.get("lease", "koord-scheduler", "kube-system")
        return str(lease["spec"].get("holderIdentity", "")).rpartition("_")[0]


def until(holds: Callable[[], T], what: str, patience_s: float = PATIENCE_S) -> T:
    """What `holds` returns as soon as that is something; fails with `what` when it never is."""
    deadline = time.monotonic() + patience_s
    while True:
        trouble: object = None
        try:
            found = holds()
        except Failed as error:  # the API server may be away for a moment
            found, trouble = None, error
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {patience_s:.0f} s: {what}{f': {trouble}' if trouble else ''}")
        time.sleep(0.5)


def phases(pods: Iterable[Json]) -> list[str]:
    """Of each pod: Running only when its container is ready too."""
    return sorted(_phase(pod) for pod in pods)


def _phase(pod: Json) -> str:
    if pod["metadata"].get("deletionTimestamp"):
        return "Terminating"
    phase = str(pod["status"].get("phase", ""))
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))
    return phase if phase != "Running" or ready else "Starting"


def node_of(pod: Json) -> str:
    return str(pod["spec"].get("nodeName", ""))
