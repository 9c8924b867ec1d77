"""Which schedulers are measured, and how each is started. A new one is a function here and a line in SCHEDULERS.

Each is configured as well as we know how: no lease, little logging, limits on requests far above what the API server
takes, and no plugin that no workload needs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml

from bench.live import dress
from bench.live.dress import SCHEDULER_NAME, Dresser
from bench.live.objects import Json
from bench.peers.build import build as build_peer
from tests.controlplane.build import build
from tests.controlplane.process import free_ports

REQUESTS_PER_SECOND = 5000
CRDS = Path(__file__).parents[2] / "crds"


@dataclass(frozen=True)
class Site:
    """Where a scheduler finds its cluster, and may put its files."""

    directory: Path
    kubeconfig: Path
    url: str
    ca_path: Path
    namespace: str


def _none() -> list[Json]:
    return []


@dataclass(frozen=True)
class Scheduler:
    """A program that binds pods. `command` builds it, where it has to be built."""

    name: str
    command: Callable[[Site], list[str]]
    dress: Dresser = dress.koordinator
    definitions: Callable[[], list[Json]] = _none  # CustomResourceDefinitions that it cannot be without
    built: Callable[[], object] = _none
    knows_gangs: bool = True
    decides: bool = True  # False: the ceiling, which only deals pods out


def koordpy(site: Site) -> list[str]:
    flags = ("--leader-elect=false", "--bind-address=127.0.0.1", "--port=0", "--log-level=warning")
    return [sys.executable, "-m", "koordpy", "run", f"--kubeconfig={site.kubeconfig}", *flags]


def koordpy_definitions() -> list[Json]:
    return [yaml.safe_load(path.read_text()) for path in sorted(CRDS.glob("*.yaml"))]


def kube_scheduler(site: Site) -> list[str]:
    """With its default plugins."""
    configuration = _configuration(site, {"schedulerName": SCHEDULER_NAME})
    program = build(("kube-scheduler",))["kube-scheduler"]
    return [str(program), *_flags(site, "kube-scheduler", configuration)]


def koord_scheduler(site: Site) -> list[str]:
    """The default plugins of Kubernetes, and of its own the one for gangs, with preemption and topology.

    Its chart enables load awareness, NUMA, devices, reservations and quotas too, which would only cost it time here.
    """
    coscheduling = {"enabled": [{"name": "Coscheduling"}]}
    points = ("preEnqueue", "preFilter", "preScore", "score", "reserve", "permit", "preBind", "postBind")
    profile = {
        "schedulerName": SCHEDULER_NAME,
        "plugins": {
            **dict.fromkeys(points, coscheduling),
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
    flags = _flags(site, "koord-scheduler", _configuration(site, profile))
    return [str(build_peer("koord-scheduler").program), *flags, "--port=0", "--enable-network-topology-manager=true"]


def coscheduling(site: Site) -> list[str]:
    """The default plugins of Kubernetes and Coscheduling; gangs may wait long enough to be planned one by one."""
    profile = {
        "schedulerName": SCHEDULER_NAME,
        "plugins": {
            "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
            "queueSort": {"disabled": [{"name": "*"}], "enabled": [{"name": "Coscheduling"}]},
        },
        "pluginConfig": [{"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 300}}],
    }
    return [
        str(build_peer("coscheduling").program),
        *_flags(site, "coscheduling", _configuration(site, profile)),
    ]


VOLCANO_CONFIGURATION = """\
actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
"""


def volcano(site: Site) -> list[str]:
    """The plugins of its own manifests, with preemption; a new session begins at once when one has ended."""
    path = site.directory / "volcano.conf"
    path.write_text(VOLCANO_CONFIGURATION)
    return [
        str(build_peer("volcano").program),
        f"--kubeconfig={site.kubeconfig}",
        f"--scheduler-conf={path}",
        f"--scheduler-name={SCHEDULER_NAME}",
        f"--kube-api-qps={REQUESTS_PER_SECOND}",
        f"--kube-api-burst={REQUESTS_PER_SECOND}",
        "--schedule-period=100ms",
        "--leader-elect=false",
        "--cache-dumper=false",
        "--logtostderr",
        "-v=0",
    ]


def bare_client(site: Site) -> list[str]:
    """The ceiling: what the control plane takes from somebody who only binds."""
    return [sys.executable, "-m", "bench.live.bare", site.url, str(site.ca_path), site.namespace]


def _configuration(site: Site, profile: Json) -> Json:
    limits = {"qps": REQUESTS_PER_SECOND, "burst": REQUESTS_PER_SECOND}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(site.kubeconfig), **limits},
        "leaderElection": {"leaderElect": False},
        "profiles": [profile],
    }


def _flags(site: Site, name: str, configuration: Json) -> list[str]:
    """Of kube-scheduler and everything that is made of it."""
    path = site.directory / f"{name}.yaml"
    path.write_text(yaml.safe_dump(configuration))
    (port,) = free_ports(1)
    serving = ("--bind-address=127.0.0.1", f"--secure-port={port}", f"--cert-dir={site.directory}")
    return [f"--config={path}", *serving, "--v=0"]


def _peer(name: str, command: Callable[[Site], list[str]], dresser: Dresser) -> Scheduler:
    return Scheduler(
        name,
        command,
        dresser,
        definitions=lambda: build_peer(name).definitions(),
        built=lambda: build_peer(name),
    )


_ALL = (
    Scheduler("koordpy", koordpy, definitions=koordpy_definitions),
    Scheduler(
        "kube-scheduler", kube_scheduler, dress.singly,
        definitions=koordpy_definitions, built=lambda: build(("kube-scheduler",)), knows_gangs=False,
    ),
    _peer("koord-scheduler", koord_scheduler, dress.koordinator),
    _peer("coscheduling", coscheduling, dress.sigs),
    _peer("volcano", volcano, dress.volcano),
    Scheduler("bare client", bare_client, knows_gangs=False, decides=False),
)  # fmt: skip
SCHEDULERS = {scheduler.name: scheduler for scheduler in _ALL}
QUICK = ("koordpy", "koord-scheduler", "kube-scheduler", "bare client")
