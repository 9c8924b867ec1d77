"""The demo's cluster and what is asked of it: 24 nodes, and pods of which some must wait and one can never run.

The amounts are chosen so that the interesting things happen: GPUs for 8 of the 10 `train` pods, CPU for 28 of the 34
`batch` pods, and no node that could hold `huge`. No pod is told where to go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from koordpy.embedded.kubelet import RUN_SECONDS
from koordpy.embedded.nodes import simulated_node

Obj = dict[str, Any]

SCHEDULER = "koord-scheduler"
GPU = "nvidia.com/gpu"
_LABEL = "app"


@dataclass(frozen=True)
class Workload:
    """Equal pods that are submitted together."""

    name: str
    at_s: float  # after the beginning of the story
    count: int
    cpu: str
    memory: str
    gpus: int = 0
    run_s: float | None = None  # of the shortest-lived pod; None: they run for ever
    step_s: float = 0.0  # pods end one after another, as jobs do, and not all at the same moment
    steps: int = 1

    @property
    def summary(self) -> str:
        """`10 train pods, each 2 cpu, 8Gi, 2 GPUs; each runs 4.5 to 6 s`."""
        gpus = f", {self.gpus} GPU{'s' if self.gpus > 1 else ''}" if self.gpus else ""
        some = f"{self.count} {self.name} pods, each" if self.count > 1 else f"1 {self.name} pod:"
        return f"{some} {self.cpu} cpu, {self.memory}{gpus}; {self._life}"

    @property
    def _life(self) -> str:
        each = "each runs" if self.count > 1 else "runs"
        if self.run_s is None:
            return f"{each} for ever"
        return f"{each} {self.run_s:g} to {self.run_s + self.step_s * (self.steps - 1):g} s"

    def pods(self) -> list[Obj]:
        return [self._pod(number) for number in range(1, self.count + 1)]

    def _pod(self, number: int) -> Obj:
        requests = {"cpu": self.cpu, "memory": self.memory} | ({GPU: str(self.gpus)} if self.gpus else {})
        resources: Obj = {"requests": requests} | ({"limits": {GPU: str(self.gpus)}} if self.gpus else {})
        metadata: Obj = {"name": f"{self.name}-{number}", "labels": {_LABEL: self.name}}
        if self.run_s is not None:
            metadata["annotations"] = {RUN_SECONDS: str(self.run_s + self.step_s * (number % self.steps))}
        container = {"name": "main", "image": f"example.com/{self.name}:1", "resources": resources}
        spec = {"schedulerName": SCHEDULER, "restartPolicy": "Never", "containers": [container]}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


WORKLOADS = (
    Workload("web", at_s=0.0, count=12, cpu="500m", memory="1Gi"),
    Workload("train", at_s=1.5, count=10, cpu="2", memory="8Gi", gpus=2, run_s=4.5, step_s=0.5, steps=4),
    Workload("batch", at_s=3.0, count=34, cpu="5", memory="8Gi", run_s=3.5, step_s=0.25, steps=8),
    Workload("huge", at_s=4.0, count=1, cpu="64", memory="128Gi"),
)


def workload_of(name: str, labels: dict[str, str]) -> str:
    """The heading a pod is shown under; a visitor's own pods have no label of ours and go by their own name."""
    return labels.get(_LABEL, name)


def demo_nodes() -> list[Obj]:
    """Twenty small nodes, and four larger ones with four GPUs each."""
    small = [simulated_node(f"cpu-{number:02}", cpu="8", memory="32Gi") for number in range(1, 21)]
    large = [simulated_node(f"gpu-{number}", cpu="16", memory="64Gi", extended={GPU: "4"}) for number in range(1, 5)]
    return small + large


def bigger_node() -> Obj:
    """What `huge` waits for; the demo writes it to a file, for the visitor to apply."""
    return simulated_node("big-1", cpu="96", memory="256Gi")
