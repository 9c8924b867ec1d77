"""What the figures were measured on: without it they mean nothing. Reads the machine, changes nothing."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

from bench.peers.programs import PROGRAMS
from tests.controlplane.components import ETCD, KUBERNETES

PACKAGES = ("aiohttp", "msgspec", "numpy", "uvloop")


def description() -> dict[str, str]:
    """Machine and versions, as they are printed and recorded."""
    size = f"{len(os.sched_getaffinity(0))} cores, {_memory_gb():.0f} GB"
    busy = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    return {
        "machine": f"{_processor()}, {size}, {platform.platform()}",
        "load before": f"{busy} (1, 5, 15 min); other work on the machine makes every figure worse than it is",
        "versions": ", ".join(
            [
                f"koordpy {version('koordpy')}",
                f"Python {platform.python_version()}",
                *(f"{package} {version(package)}" for package in PACKAGES),
                f"Kubernetes {KUBERNETES}",
                f"etcd {ETCD}",
                *(peer.label for peer in PROGRAMS.values()),
            ]
        ),
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _memory_gb() -> float:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
