"""The real kube-scheduler as a process, and its log, which says what it has seen and how it scored.

Its log is the only place where it tells the scores, and the only one where it tells that a node or a pod has reached
its cache. This file reads that log and decides nothing.
"""

import asyncio
import re
import signal
import ssl
import time
import urllib.error
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Self

import yaml

from tests.controlplane.build import build
from tests.controlplane.process import Process, free_ports
from tests.controlplane.server import ControlPlane
from tests.differential.answer import Scores

READY_SECONDS = 60
SEEN_SECONDS = 20
STOP_SECONDS = 10
POLL_SECONDS = 0.002

Event = tuple[str, str]  # what the log says, and about which node or pod
CHOSEN = "node chosen, now for the volumes there"
WENT = (
    "Preemptor Pod preempted victim Pod",
    "Victim Pod is already being deleted, skipping the API call for it",
)

# Scores are told at level 10, but at that level the whole program would also log every byte it sends and receives.
VERBOSITY = "schedule_one=10,eventhandlers=4,binder=4,executor=2"
# The first would let a pod follow an equal one to the next best node, without asking the others again. Without the
# second, all victims are evicted by the time that the pod is said to wait for them.
GATES = "OpportunisticBatching=false,SchedulerAsyncPreemption=false"

LINE = re.compile(rb'\] "([^"]*)" (.*)')
FIELD = re.compile(r'(\w+)=(?:"([^"]*)"|(\S+))')


class KubeScheduler:
    """A running kube-scheduler; `async with` nothing: it is started from the main thread, `with KubeScheduler(...)`."""

    def __init__(self, control_plane: ControlPlane, directory: Path) -> None:
        self._control_plane, self._directory = control_plane, directory
        self._offset = 0
        self._seen: Counter[Event] = Counter()
        self._chosen: dict[str, str] = {}
        self._victims: dict[str, set[str]] = defaultdict(set)
        self._totals: dict[str, Scores] = defaultdict(dict)
        self._by_plugin: dict[str, dict[str, Scores]] = defaultdict(lambda: defaultdict(dict))

    def __enter__(self) -> Self:
        (port,) = free_ports(1)
        self._url = f"https://127.0.0.1:{port}"
        program = build(("kube-scheduler",))["kube-scheduler"]
        self._process = Process("kube-scheduler", [program, *self._flags(port)], self._directory / "kube-scheduler.log")
        self._process.wait_until(lambda: _get(f"{self._url}/readyz") is not None, READY_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.signal(signal.SIGTERM)
        self._process.wait_stopped(STOP_SECONDS)

    def _flags(self, port: int) -> list[str]:
        kubeconfig = self._control_plane.kubeconfig(self._directory / "kube-scheduler.kubeconfig")
        configuration = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 5000, "burst": 5000},
            "leaderElection": {"leaderElect": False},
            "percentageOfNodesToScore": 100,
            # koordpy knows no resource claims; and where a pod is refused before this plugin has had its say, it is
            # beside itself afterwards, and preemption is not asked at all.
            "profiles": [{"plugins": {"multiPoint": {"disabled": [{"name": "DynamicResources"}]}}}],
        }
        path = self._directory / "kube-scheduler.yaml"
        path.write_text(yaml.safe_dump(configuration))
        return [
            f"--config={path}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={self._directory}",
            f"--vmodule={VERBOSITY}",
            f"--feature-gates={GATES}",
            "--authorization-always-allow-paths=/readyz,/metrics",
        ]

    async def wait_for(self, events: Iterable[Event]) -> None:
        """Wait until the log has told all of these, as often as they are given."""
        wanted = Counter(events)
        deadline = time.monotonic() + SEEN_SECONDS
        while missing := wanted - self._seen:
            if time.monotonic() > deadline:
                raise TimeoutError(f"kube-scheduler has not said {sorted(missing)}\n{self._process.tail()}")
            await asyncio.sleep(POLL_SECONDS)
            self._read()

    async def wait_for_added(self, kind: str, total: int) -> None:
        """Wait until it has been told of so many new objects of a kind that its log says nothing of."""
        deadline = time.monotonic() + SEEN_SECONDS
        counter = re.compile(
            rf'^scheduler_event_handling_duration_seconds_count{{event="{kind}Add"}} (\d+)$', re.MULTILINE
        )
        while True:
            metrics = await asyncio.to_thread(_get, f"{self._url}/metrics")
            found = counter.search(metrics or "")
            if found and int(found[1]) >= total:
                return
            if time.monotonic() > deadline:
                raise TimeoutError(f"kube-scheduler knows of {found[1] if found else 'no'} {kind}, not of all {total}")

    def scores(self, pod: str) -> tuple[Scores, dict[str, Scores]]:
        """The total of each node for a pod (`namespace/name`) that it has decided on, and the parts by plugin."""
        self._read()
        return self._totals.pop(pod, {}), dict(self._by_plugin.pop(pod, {}))

    def chosen(self, pod: str) -> str:
        """The node that a pod goes to when its volumes are there; empty for pods without, or not decided yet."""
        self._read()
        return self._chosen.get(pod, "")

    def victims(self, pod: str) -> frozenset[str]:
        """Whom it has evicted for a pod, and who is leaving already and is waited for; empty: nobody."""
        self._read()
        return frozenset(self._victims.pop(pod, ()))

    def forget(self, objects: Iterable[str] | None = None) -> None:
        """Some are made again; and objects of the next scene have other names, so that all is of no use any more."""
        for event in [event for event in self._seen if objects is None or event[1] in objects]:
            del self._seen[event]

    def _read(self) -> None:
        with self._process.log.open("rb") as log:
            log.seek(self._offset)
            text = log.read()
        complete = text[: text.rfind(b"\n") + 1]
        self._offset += len(complete)
        for line in complete.splitlines():
            if found := LINE.search(line):
                fields = {key: quoted or bare for key, quoted, bare in FIELD.findall(found[2].decode())}
                self._take(found[1].decode(), fields)

    def _take(self, said: str, fields: dict[str, str]) -> None:
        if said == "Plugin scored node for pod":
            self._by_plugin[fields["pod"]][fields["plugin"]][fields["node"]] = int(fields["score"])
        elif said == "Calculated node's final score for pod":
            self._totals[fields["pod"]][fields["node"]] = int(fields["score"])
        elif " event for " in said:
            self._seen[said, fields.get("pod") or fields["node"]] += 1
        elif said in WENT:
            self._victims[fields["preemptor"]].add(fields["victim"])
        elif said == "AssumePodVolumes":
            self._chosen[fields["pod"]] = fields["node"]
            self._seen[CHOSEN, fields["pod"]] += 1


def _get(url: str) -> str | None:
    """What it answers; None while it does not."""
    anybody = ssl._create_unverified_context()  # it makes its own certificate, and nobody else listens on loopback
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=anybody))
    try:
        with opener.open(url, timeout=5) as reply:
            return reply.read().decode()
    except (urllib.error.URLError, OSError):
        return None
