"""KAI: scheduler, binder and pod-grouper. Owns their flags, and the queue that its chart installs.

Its other controllers, which keep status and metrics, and its webhooks are left out: pods are scheduled without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.live.manifests import KAI_DEFAULT_QUEUE, SCHEDULER_NAME
from bench.live.objects import Json, priority_class
from bench.live.queues import NO_LIMIT, Queue, run_ai
from bench.live.scheduler import GOGC, NOTHING_SET, REQUESTS_PER_SECOND, Command, Site
from bench.peers.build import build as build_peer
from tests.controlplane.process import free_ports

PERIOD_MS = 1000
RECONCILES = 10
_NOBODY = -1  # no port: the plugin server would listen on all interfaces
_ABOVE = "default-parent-queue"
_UNLIMITED = NO_LIMIT, NO_LIMIT
# Two levels and the priority classes, as its chart installs them.
OBJECTS: tuple[tuple[str, Json], ...] = (
    *run_ai((Queue(_ABOVE, *_UNLIMITED), Queue(KAI_DEFAULT_QUEUE, *_UNLIMITED, parent=_ABOVE))),
    ("priorityclasses", priority_class("train", 50)),
)


@dataclass(frozen=True)
class Tuning:
    """What is set for speed alone. Its text is made from what is set, so that it cannot say anything else."""

    period_ms: int = PERIOD_MS  # between two cycles
    reconciles: int = RECONCILES  # at once, of the binder and of the pod-grouper
    gogc: int = GOGC

    def __str__(self) -> str:
        settings = [
            *([f"schedule-period {self.period_ms} ms"] if self.period_ms != PERIOD_MS else []),
            *([f"max-concurrent-reconciles {self.reconciles}"] if self.reconciles != RECONCILES else []),
            *([f"GOGC {self.gogc}"] if self.gogc != GOGC else []),
        ]
        return ", ".join(settings) or NOTHING_SET


def scheduler(site: Site, tuning: Tuning) -> list[str]:
    (port,) = free_ports(1)
    own = (
        f"--schedule-period={tuning.period_ms}ms",
        f"--listen-address=127.0.0.1:{port}",
        f"--plugin-server-port={_NOBODY}",
        "--leader-elect=false",
        "--v=0",
    )
    return _command(build_peer("kai").program, site, tuning, own)


def beside(tuning: Tuning) -> Mapping[str, Command]:
    """The scheduler writes BindRequests; the binder binds."""
    return {"kai-binder": partial(_controller, program="binder", tuning=tuning)}


def grouper(site: Site, tuning: Tuning) -> list[str]:
    return _controller(site, "podgrouper", tuning)


def _controller(site: Site, program: str, tuning: Tuning) -> list[str]:
    own = (
        f"--max-concurrent-reconciles={tuning.reconciles}",
        "--metrics-bind-address=0",
        "--health-probe-bind-address=0",
        "--zap-log-level=error",
    )
    return _command(build_peer("kai").beside[program], site, tuning, own)


def _command(program: Path, site: Site, tuning: Tuning, own: tuple[str, ...]) -> list[str]:
    """The scheduler has no flag for a kubeconfig."""
    environment = (f"KUBECONFIG={site.kubeconfig}", f"GOGC={tuning.gogc}")
    limits = (f"--qps={REQUESTS_PER_SECOND}", f"--burst={REQUESTS_PER_SECOND}")
    return ["/usr/bin/env", *environment, str(program), f"--scheduler-name={SCHEDULER_NAME}", *limits, *own]
