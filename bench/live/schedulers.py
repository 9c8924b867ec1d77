"""Which schedulers are measured, and how each is started. A new one is a function here and a line in SCHEDULERS.

All of them get the same kubeconfig and the same pods, write no lease, and log as little as they can.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml

from bench.live.workloads import SCHEDULER_NAME
from tests.controlplane.build import build
from tests.controlplane.process import free_ports


@dataclass(frozen=True)
class Site:
    """Where a scheduler finds its cluster, and may put its files."""

    directory: Path
    kubeconfig: Path
    url: str
    ca_path: Path
    namespace: str


@dataclass(frozen=True)
class Scheduler:
    """A program that binds pods."""

    name: str
    command: Callable[[Site], list[str]]
    streams: bool = True  # binds pods that come after it was started


def koordpy(site: Site) -> list[str]:
    flags = ("--leader-elect=false", "--bind-address=127.0.0.1", "--port=0", "--log-level=warning")
    return [sys.executable, "-m", "koordpy", "run", f"--kubeconfig={site.kubeconfig}", *flags]


def kube_scheduler(site: Site) -> list[str]:
    """With its defaults, but for the limits on requests, which are made for clusters that must be protected."""
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(site.kubeconfig), "qps": 5000, "burst": 5000},
        "leaderElection": {"leaderElect": False},
        "profiles": [{"schedulerName": SCHEDULER_NAME}],
    }
    path = site.directory / "kube-scheduler.yaml"
    path.write_text(yaml.safe_dump(configuration))
    (port,) = free_ports(1)
    program = build(("kube-scheduler",))["kube-scheduler"]
    serving = ("--bind-address=127.0.0.1", f"--secure-port={port}", f"--cert-dir={site.directory}")
    return [str(program), f"--config={path}", *serving, "--v=0"]


def bare_client(site: Site) -> list[str]:
    """The ceiling: what the control plane takes from somebody who only binds."""
    return [sys.executable, "-m", "bench.live.bare", site.url, str(site.ca_path), site.namespace]


BARE = Scheduler("bare client", bare_client, streams=False)
SCHEDULERS = {
    scheduler.name: scheduler
    for scheduler in (Scheduler("koordpy", koordpy), Scheduler("kube-scheduler", kube_scheduler), BARE)
}
