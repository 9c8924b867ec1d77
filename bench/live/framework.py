"""kube-scheduler, and the schedulers that are built on its framework: koord-scheduler and coscheduling.

Owns their `KubeSchedulerConfiguration` and their flags. All of them run without a lease, with little logging and with
limits on requests far above what the API server takes; what else differs from the defaults is a `Tuning`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from bench.live.manifests import SCHEDULER_NAME
from bench.live.objects import Json
from bench.live.scheduler import GOGC, NOTHING_SET, REQUESTS_PER_SECOND, Site, with_gogc
from bench.peers.build import build as build_peer
from tests.controlplane.build import build
from tests.controlplane.process import free_ports


@dataclass(frozen=True)
class Tuning:
    """What is set for speed alone. Its text is made from what is set, so that it cannot say anything else."""

    gates: Mapping[str, bool] = field(default_factory=dict)
    nodes_to_score: int = 0  # percent; 0: the fewer, the more nodes there are (42 at 1,000, 10 at 5,000)
    gogc: int = GOGC
    skips: tuple[str, ...] = ()  # extension points at which the plugin for gangs does not run

    def __str__(self) -> str:
        settings = [
            *(f"feature gate {name} {'on' if on else 'off'}" for name, on in self.gates.items()),
            *(f"Coscheduling not at {point}" for point in self.skips),
            *([f"percentageOfNodesToScore {self.nodes_to_score}"] if self.nodes_to_score else []),
            *([f"GOGC {self.gogc}"] if self.gogc != GOGC else []),
        ]
        return ", ".join(settings) or NOTHING_SET

    def flags(self) -> list[str]:
        written = [f"{name}={str(on).lower()}" for name, on in self.gates.items()]
        return [f"--feature-gates={','.join(written)}"] if written else []


AS_SHIPPED = Tuning()


def kube_scheduler(site: Site, tuning: Tuning) -> list[str]:
    """With its default plugins."""
    program = build(("kube-scheduler",))["kube-scheduler"]
    return _command(program, site, {"schedulerName": SCHEDULER_NAME}, tuning)


def koord_scheduler(site: Site, tuning: Tuning) -> list[str]:
    """The default plugins of Kubernetes, and of its own the one for gangs, with preemption and topology.

    Its chart enables load awareness, NUMA, devices, reservations and quotas too, which would only cost it time here.
    """
    all_points = ("preEnqueue", "preFilter", "preScore", "score", "reserve", "permit", "preBind", "postBind")
    points = [point for point in all_points if point not in tuning.skips]
    profile = {
        "schedulerName": SCHEDULER_NAME,
        "plugins": {
            **{point: {"enabled": [{"name": "Coscheduling"}]} for point in points},
            "queueSort": {"disabled": [{"name": "*"}], "enabled": [{"name": "PrioritySort"}]},
            "postFilter": {"disabled": [{"name": "*"}], "enabled": [{"name": "Coscheduling"}]},
        },
        "pluginConfig": [
            {
                "name": "Coscheduling",
                "args": {
                    "apiVersion": "kubescheduler.config.k8s.io/v1",
                    "kind": "CoschedulingArgs",
                    "enablePreemption": True,
                    "awareNetworkTopology": True,
                },
            }
        ],
    }
    command = _command(build_peer("koord-scheduler").program, site, profile, tuning)
    return [*command, "--port=0", "--enable-network-topology-manager=true"]


def coscheduling(site: Site, tuning: Tuning) -> list[str]:
    """The default plugins of Kubernetes and Coscheduling; gangs may wait long enough to be planned one by one."""
    profile = {
        "schedulerName": SCHEDULER_NAME,
        "plugins": {
            "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
            "queueSort": {"disabled": [{"name": "*"}], "enabled": [{"name": "Coscheduling"}]},
        },
        "pluginConfig": [{"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 300}}],
    }
    return _command(build_peer("coscheduling").program, site, profile, tuning)


def _command(program: Path, site: Site, profile: Json, tuning: Tuning) -> list[str]:
    limits = {"qps": REQUESTS_PER_SECOND, "burst": REQUESTS_PER_SECOND}
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(site.kubeconfig), **limits},
        "leaderElection": {"leaderElect": False},
        "percentageOfNodesToScore": tuning.nodes_to_score,
        "profiles": [profile],
    }
    path = site.directory / "scheduler.yaml"
    path.write_text(yaml.safe_dump(configuration))
    (port,) = free_ports(1)
    serving = ("--bind-address=127.0.0.1", f"--secure-port={port}", f"--cert-dir={site.directory}")
    return with_gogc(tuning.gogc, [str(program), f"--config={path}", *serving, "--v=0", *tuning.flags()])
