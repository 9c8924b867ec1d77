"""Pod templates of the scenes, as a user would write them."""

from __future__ import annotations

from typing import Any

from koordpy.sim.demo.workload import APP, GPU, SCHEDULER
from koordpy.sim.embedded.kubelet import RUN_SECONDS

Obj = dict[str, Any]


def template(app: str, *, cpu: str = "1", gpus: int = 0, run_s: float | None = None) -> Obj:
    """Of pods that ask for so much, and end after so long; without `run_s` they run for ever."""
    requests = {"cpu": cpu, "memory": "1Gi"} | ({GPU: str(gpus)} if gpus else {})
    resources: Obj = {"requests": requests} | ({"limits": {GPU: str(gpus)}} if gpus else {})
    spec: Obj = {
        "schedulerName": SCHEDULER,
        "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "main", "image": f"example.com/{app}:1", "resources": resources}],
    }
    if gpus:
        spec["tolerations"] = [{"key": GPU, "operator": "Exists"}]
    ends = {RUN_SECONDS: f"{run_s:g}"} if run_s is not None else {}
    return {"metadata": {"labels": {APP: app}, "annotations": ends}, "spec": spec}
