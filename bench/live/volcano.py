"""Volcano, with the plugins of its own manifests and preemption. Owns its configuration and its flags."""

from __future__ import annotations

from dataclasses import dataclass

from bench.live.manifests import SCHEDULER_NAME
from bench.live.scheduler import GOGC, NOTHING_SET, REQUESTS_PER_SECOND, Site, with_gogc
from bench.peers.build import build as build_peer

PERIOD_MS = 1000
ACTIONS, RECLAIMING = "enqueue, allocate, preempt, backfill", "enqueue, allocate, preempt, reclaim, backfill"
CONFIGURATION = """\
actions: "{actions}"
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


@dataclass(frozen=True)
class Tuning:
    """What is set for speed, and whether queues take from each other. Its text is made from what is set."""

    period_ms: int = PERIOD_MS  # between two sessions; one that begins while pods are being bound plans in vain
    nodes_to_find: int = 0  # percent; 0: the fewer, the more nodes there are
    gogc: int = GOGC
    reclaims: bool = False  # off in its manifests

    def __str__(self) -> str:
        settings = [
            *([f"schedule-period {self.period_ms} ms"] if self.period_ms != PERIOD_MS else []),
            *([f"percentage-nodes-to-find {self.nodes_to_find}"] if self.nodes_to_find else []),
            *([f"GOGC {self.gogc}"] if self.gogc != GOGC else []),
            *(["action reclaim"] if self.reclaims else []),
        ]
        return ", ".join(settings) or NOTHING_SET


def volcano(site: Site, tuning: Tuning) -> list[str]:
    path = site.directory / "volcano.conf"
    actions = RECLAIMING if tuning.reclaims else ACTIONS
    path.write_text(CONFIGURATION.format(actions=actions))
    command = [
        str(build_peer("volcano").program),
        f"--kubeconfig={site.kubeconfig}",
        f"--scheduler-conf={path}",
        f"--scheduler-name={SCHEDULER_NAME}",
        f"--kube-api-qps={REQUESTS_PER_SECOND}",
        f"--kube-api-burst={REQUESTS_PER_SECOND}",
        f"--schedule-period={tuning.period_ms}ms",
        f"--percentage-nodes-to-find={tuning.nodes_to_find}",
        "--leader-elect=false",
        "--cache-dumper=false",
        "--logtostderr",
        "-v=0",
    ]
    return with_gogc(tuning.gogc, command)
