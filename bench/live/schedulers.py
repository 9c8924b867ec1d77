"""Which schedulers are measured, each in the configuration in which it is fastest. A new one is a line in SCHEDULERS.

A setting for speed counts only if the scheduler still does what the workloads ask for: gangs all or nothing,
preemption, topology where it has it, its default filters and scores, and events. `NAME-default` has no such setting.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import yaml

from bench.live import asking, framework, kai, manifests, queues, volcano
from bench.live.framework import AS_SHIPPED, Tuning
from bench.live.manifests import ManifestsOf
from bench.live.objects import Json
from bench.live.queues import QueuesOf
from bench.live.scheduler import NOTHING_SET, Grouper, Scheduler, Site
from bench.peers.build import build as build_peer
from bench.peers.programs import PROGRAMS
from tests.controlplane.build import build
from tests.controlplane.components import KUBERNETES

CRDS = Path(__file__).parents[2] / "crds"
# As a grouper leaves it that ends in order. Where it is, pods that could be of a gang wait for a grouper: it makes no
# difference which of the two processes is up first.
GROUPER_LEASE: Json = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "koordpy-podgrouper", "namespace": "kube-system"},
    "spec": {"holderIdentity": "", "renewTime": "2026-01-01T00:00:00.000000Z"},
}


def koordpy(site: Site) -> list[str]:
    return [sys.executable, "-m", "koordpy", *koordpy_flags(site)]


def koordpy_asked(site: Site) -> list[str]:
    return [sys.executable, "-m", "koordpy", *koordpy_flags(site, port=asking.PORT)]


def asker(_: Site) -> list[str]:
    return [sys.executable, "-m", "bench.live.asking", str(asking.PORT)]


def koordpy_flags(site: Site, port: int = 0) -> list[str]:
    flags = ("--leader-elect=false", "--bind-address=127.0.0.1", f"--port={port}", "--log-level=warning")
    return ["run", f"--kubeconfig={site.kubeconfig}", *flags]


def koordpy_grouper(site: Site) -> list[str]:
    """A process of its own, so that what it costs can be told. It stands for its lease: the scheduler asks for that."""
    flags = ("--bind-address=127.0.0.1", "--port=0", "--log-level=warning")
    return [sys.executable, "-m", "koordpy", "controllers", f"--kubeconfig={site.kubeconfig}", *flags]


def koordpy_definitions(directory: Path = CRDS) -> list[Json]:
    return [yaml.safe_load(path.read_text()) for path in sorted(directory.glob("*.yaml"))]


def bare_client(site: Site) -> list[str]:
    """The upper bound: what the control plane takes from a client that only binds."""
    return [sys.executable, "-m", "bench.live.bare", site.url, str(site.ca_path), site.namespace]


# Chosen by single runs of 100 gangs of 20 on a busy machine, by the CPU that a pod costs the scheduler: rates were too
# noisy. docs/benchmarks.md says what each setting does, what was tried in vain, and how to confirm the choice.
FAST_KUBE = Tuning(nodes_to_score=10)
FAST = Tuning(nodes_to_score=10, gogc=400)
GATE_OFF = Tuning(gates={"NominatedNodeNameForExpectation": False})
FAST_KOORD = Tuning(gates=GATE_OFF.gates, skips=("preBind",), nodes_to_score=10, gogc=400)
FAST_VOLCANO = volcano.Tuning(nodes_to_find=10, gogc=400)
RECLAIMING_VOLCANO = volcano.Tuning(nodes_to_find=10, gogc=400, reclaims=True)
EAGER_VOLCANO = volcano.Tuning(period_ms=100, nodes_to_find=10, gogc=400)


def _kube_scheduler(name: str, tuning: Tuning) -> Scheduler:
    return Scheduler(
        name,
        partial(framework.kube_scheduler, tuning=tuning),
        manifests.plain_pods,
        configuration=f"{KUBERNETES}, {tuning}",
        definitions=koordpy_definitions,
        built=lambda: build(("kube-scheduler",)),
        knows_gangs=False,
    )


def _peer(
    name: str,
    program: str,
    command: Callable[..., list[str]],
    manifests_of: ManifestsOf,
    tuning: object,
    *,
    queues_of: QueuesOf | None = None,
) -> Scheduler:
    return Scheduler(
        name,
        partial(command, tuning=tuning),
        manifests_of,
        configuration=f"{PROGRAMS[program].version}, {tuning}",
        definitions=lambda: build_peer(program).definitions(),
        built=lambda: build_peer(program),
        queues_of=queues_of,
    )


def _kai(name: str, tuning: kai.Tuning) -> Scheduler:
    scheduler = _peer(name, "kai", kai.scheduler, manifests.kai, tuning, queues_of=queues.run_ai)
    grouper = Grouper(partial(kai.grouper, tuning=tuning))
    return replace(scheduler, objects=kai.OBJECTS, beside=kai.beside(tuning), grouper=grouper)


_koord_scheduler = partial(
    _peer, program="koord-scheduler", command=framework.koord_scheduler, manifests_of=manifests.koordinator
)
_coscheduling = partial(_peer, program="coscheduling", command=framework.coscheduling, manifests_of=manifests.sigs)
_volcano = partial(_peer, program="volcano", command=volcano.volcano, manifests_of=manifests.volcano)

KOORDPY = Scheduler(
    "koordpy",
    koordpy,
    configuration=NOTHING_SET,
    definitions=koordpy_definitions,
    grouper=Grouper(koordpy_grouper, (("leases", GROUPER_LEASE),)),
    queues_of=queues.run_ai,
)
_ALL = (
    KOORDPY,
    replace(
        KOORDPY,
        name="koordpy-asked",
        command=koordpy_asked,
        configuration=f"{asking.ASKERS} clients ask what-if without a pause; CPU and memory are with theirs",
        beside={"asker": asker},
    ),
    _kube_scheduler("kube-scheduler", FAST_KUBE),
    _kube_scheduler("kube-scheduler-default", AS_SHIPPED),
    _koord_scheduler("koord-scheduler", tuning=FAST_KOORD),
    _koord_scheduler("koord-scheduler-gate-off", tuning=GATE_OFF),
    _koord_scheduler("koord-scheduler-default", tuning=AS_SHIPPED),
    _coscheduling("coscheduling", tuning=FAST),
    _coscheduling("coscheduling-default", tuning=AS_SHIPPED),
    _volcano("volcano", tuning=FAST_VOLCANO),
    _volcano("volcano-eager", tuning=EAGER_VOLCANO),
    _volcano("volcano-reclaim", tuning=RECLAIMING_VOLCANO, queues_of=queues.volcano),
    _volcano("volcano-default", tuning=volcano.Tuning()),
    _kai("kai", kai.Tuning(gogc=400)),
    _kai("kai-default", kai.Tuning()),
    Scheduler("bare client", bare_client, configuration="32 connections", knows_gangs=False, decides=False),
)
SCHEDULERS = {scheduler.name: scheduler for scheduler in _ALL}
QUICK = ("koordpy", "koord-scheduler", "kube-scheduler", "bare client")
# Each at its best, and koord-scheduler also as it is shipped. The other variants run when they are named.
FULL = (
    "koordpy",
    "kube-scheduler",
    "koord-scheduler",
    "koord-scheduler-default",
    "coscheduling",
    "volcano",
    "bare client",
)
