"""The demo's cluster and what is asked of it: 24 nodes, single pods and gangs, some of which must wait.

The amounts are chosen so that the interesting things happen: CPU for 20 of the 23 `batch` pods, which are single pods
and start one by one; of 16 GPUs, `tune` leaves 4 free where the gang `train` needs 8 at once; the gang `huge` needs 24;
and `mpi` has room at any time, but not all of its members. `ring` has to be below one spine of the network
(`network.py`), and fills one. In the end `scan` and `probe` fill the GPUs, and `deploy`,
of high priority, needs half of them: two of `scan` are one job, eight of `probe` would be eight, so `scan` has to go.
No pod is told where to go.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from koordpy.api.gangs import membership_of
from koordpy.api.keys import NETWORK_TOPOLOGY_SPEC, POD_GROUP
from koordpy.api.meta import ObjectMeta
from koordpy.api.podgroup.coscheduling import SIGS_GROUP, VERSION
from koordpy.sim.demo.network import places
from koordpy.sim.embedded.kubelet import RUN_SECONDS
from koordpy.sim.embedded.nodes import simulated_node

Obj = dict[str, Any]

SCHEDULER = "koord-scheduler"
GPU = "nvidia.com/gpu"
APP = "app"
_HIGH = "high"


@dataclass(frozen=True)
class Workload:
    """Equal pods; a gang of them starts together or not at all."""

    name: str
    count: int
    cpu: str
    memory: str
    gpus: int = 0
    is_gang: bool = False
    gathered: str = ""  # the layer of the network of which one domain must hold it
    is_urgent: bool = False  # has a higher priority than all others
    run_s: float | None = None  # of the shortest-lived pod; None: they run for ever
    step_s: float = 0.0  # pods end one after another, as jobs do, and not all at the same moment
    steps: int = 1

    @property
    def summary(self) -> str:
        """`10 train pods, each 2 cpu, 8Gi, 2 GPUs; each runs 4.5 to 6 s`."""
        gpus = f", {self.gpus} GPU{'s' if self.gpus > 1 else ''}" if self.gpus else ""
        return f"{self.count} {self.name} pods, each {self.cpu} cpu, {self.memory}{gpus}; {self._life}"

    @property
    def _life(self) -> str:
        if self.run_s is None:
            return "each runs for ever"
        longest = self.run_s + self.step_s * (self.steps - 1)
        return f"each runs {self.run_s:g} s" if longest == self.run_s else f"each runs {self.run_s:g} to {longest:g} s"

    def pod_group(self) -> Obj:
        api_version = f"{SIGS_GROUP}/{VERSION}"
        spec = {"minMember": self.count}
        metadata: Obj = {"name": self.name}
        if self.gathered:
            strategy = f'{{"gatherStrategy":[{{"layer":"{self.gathered}","strategy":"MustGather"}}]}}'
            metadata["annotations"] = {NETWORK_TOPOLOGY_SPEC: strategy}
        return {"apiVersion": api_version, "kind": "PodGroup", "metadata": metadata, "spec": spec}

    def pods(self, numbers: Iterable[int]) -> list[Obj]:
        return [self._pod(number) for number in numbers]

    def _pod(self, number: int) -> Obj:
        requests = {"cpu": self.cpu, "memory": self.memory} | ({GPU: str(self.gpus)} if self.gpus else {})
        resources: Obj = {"requests": requests} | ({"limits": {GPU: str(self.gpus)}} if self.gpus else {})
        labels = {APP: self.name} | ({POD_GROUP: self.name} if self.is_gang else {})
        metadata: Obj = {"name": f"{self.name}-{number}", "labels": labels}
        if self.run_s is not None:
            metadata["annotations"] = {RUN_SECONDS: str(self.run_s + self.step_s * (number % self.steps))}
        container = {"name": "main", "image": f"example.com/{self.name}:1", "resources": resources}
        spec: Obj = {"schedulerName": SCHEDULER, "restartPolicy": "Never", "containers": [container]}
        if self.is_urgent:
            spec["priorityClassName"] = _HIGH
        if self.gpus:
            spec["tolerations"] = [{"key": GPU, "operator": "Exists"}]
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@dataclass(frozen=True)
class Cue:
    """Something is submitted."""

    at_s: float  # after the beginning of the story, or later
    says: str
    workload: Workload
    numbers: range  # of the pods
    once: tuple[str, str] | None = None  # not before all pods of this workload are in this state

    @property
    def begins(self) -> bool:
        return self.numbers.start == 1


WEB = Workload("web", count=12, cpu="500m", memory="1Gi")
BATCH = Workload("batch", count=23, cpu="7", memory="8Gi", run_s=3.75, step_s=0.25, steps=4)
HUGE = Workload("huge", count=6, cpu="4", memory="16Gi", gpus=4, is_gang=True)
TUNE = Workload("tune", count=12, cpu="1", memory="4Gi", gpus=1, run_s=4.0, step_s=0.5, steps=4)
TRAIN = Workload("train", count=8, cpu="1", memory="4Gi", gpus=1, is_gang=True, run_s=3.0)
RING = Workload("ring", count=6, cpu="5", memory="8Gi", is_gang=True, gathered="SpineLayer", run_s=4.0)
MPI = Workload("mpi", count=4, cpu="500m", memory="1Gi", is_gang=True, run_s=3.5)
SCAN = Workload("scan", count=2, cpu="1", memory="4Gi", gpus=4, is_gang=True, run_s=30.0)
PROBE = Workload("probe", count=8, cpu="1", memory="4Gi", gpus=1, run_s=4.0)
DEPLOY = Workload("deploy", count=2, cpu="1", memory="4Gi", gpus=4, is_gang=True, is_urgent=True, run_s=2.0)


def _all(at_s: float, workload: Workload, once: tuple[str, str] | None = None) -> Cue:
    where = " and below one spine" if workload.gathered else " or none"
    gang = f"a gang{' of high priority' * workload.is_urgent}, all together{where}: " if workload.is_gang else ""
    return Cue(at_s, f"submitting {gang}{workload.summary}", workload, range(1, workload.count + 1), once)


CUES = (
    _all(0.0, WEB),
    _all(0.6, BATCH),
    _all(1.6, HUGE),
    _all(2.4, TUNE),
    _all(3.2, TRAIN),
    Cue(3.6, "submitting a gang, but only 3 of its 4 members: mpi-1…3, each 500m cpu, 1Gi", MPI, range(1, 4)),
    Cue(5.6, "submitting mpi-4, the last of its gang", MPI, range(4, 5)),
    _all(5.6, RING, once=("batch", "finished")),
    _all(5.6, SCAN, once=("train", "finished")),
    _all(5.6, PROBE, once=("scan", "bound")),
    _all(5.6, DEPLOY, once=("probe", "running")),
)
SUBMITTED = sum(len(cue.numbers) for cue in CUES)


def priority_class() -> Obj:
    """Of those that are urgent."""
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": _HIGH}, "value": 1000}


def workload_of(meta: ObjectMeta) -> str:
    """The heading a pod is shown under; a visitor's pods have no label of ours and go by their gang or their name."""
    member = membership_of(meta)
    return meta.labels.get(APP) or (member.gang.partition("/")[2] if member is not None else meta.name)


def demo_nodes() -> list[Obj]:
    """Twenty small nodes in a network, and four larger ones with four GPUs each, for pods that need them."""
    small = [
        simulated_node(f"cpu-{number:02}", cpu="8", memory="32Gi", labels=place)
        for number, place in enumerate(places(), start=1)
    ]
    return small + [_gpu_node(f"gpu-{number}", cpu="16", memory="64Gi", gpus=4) for number in range(1, 5)]


def bigger_node() -> Obj:
    """What `huge` waits for; the demo writes it to a file, for the visitor to apply."""
    return _gpu_node("gpu-5", cpu="32", memory="128Gi", gpus=8)


def _gpu_node(name: str, *, cpu: str, memory: str, gpus: int) -> Obj:
    taint = {"key": GPU, "value": "present", "effect": "NoSchedule"}
    return simulated_node(name, cpu=cpu, memory=memory, extended={GPU: str(gpus)}, taints=[taint])
