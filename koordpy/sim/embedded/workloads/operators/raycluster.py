"""RayCluster as KubeRay plays it: the head, then the workers of each group, up to what the group wants.

Names and labels are those of kuberay, `ray-operator/controllers/ray/common/pod.go`; how many workers there are, of
`controllers/ray/utils/util.go`, GetWorkerGroupDesiredReplicas. Nothing autoscales.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from koordpy.sim.embedded.workloads.operators import roles
from koordpy.sim.embedded.workloads.pods import from_template, is_active, is_going, least_missed, phase

if TYPE_CHECKING:
    from koordpy.sim.embedded.store import Stored
    from koordpy.sim.embedded.workloads.control import Control

Obj = dict[str, Any]

_GROUP = "ray.io/group"
_HEAD = "headgroup"
_LONGEST_PREFIX = 50  # of a name, so that `-worker-` and five letters fit


class RayClusters:
    storage, component = "rayclusters.ray.io", "raycluster-controller"

    def __init__(self, control: Control) -> None:
        self._control = control

    def gone(self, stored: Stored) -> None:
        """Its pods go with it."""

    def sync(self, stored: Stored) -> float | None:
        if is_going(stored.obj):
            return None
        spec = roles.spec_of(stored)
        groups = {str(group.get("groupName", "")): group for group in spec.get("workerGroupSpecs") or ()}
        suspended = bool(spec.get("suspend"))
        for pod in self._control.owned(stored.obj):  # a pod that has ended is made again
            if not is_active(pod.obj) and not is_going(pod.obj):
                self._control.delete(pod)
        self._adjust(stored, _HEAD, spec.get("headGroupSpec") or {}, 0 if suspended else 1)
        for name, group in groups.items():
            self._adjust(stored, name, group, 0 if suspended else desired(group))
        self._report(stored, sum(map(desired, groups.values())), suspended=suspended)
        return None

    def _adjust(self, stored: Stored, group: str, spec: Obj, wanted: int) -> None:
        pods = self._control.owned(stored.obj)
        there = [pod for pod in pods if pod.obj["metadata"]["labels"].get(_GROUP) == group and is_active(pod.obj)]
        for pod in least_missed(there, max(0, len(there) - wanted)):
            self._control.delete(pod)
        for _ in range(wanted - len(there)):
            self._control.create("pods", stored.obj, _pod(stored, group, spec))

    def _report(self, stored: Stored, workers: int, *, suspended: bool) -> None:
        pods = self._control.owned(stored.obj)
        running = [pod.obj for pod in pods if phase(pod.obj) == "Running"]
        available = sum(1 for pod in running if pod["metadata"]["labels"].get(_GROUP) != _HEAD)
        status: Obj = {"desiredWorkerReplicas": workers, "availableWorkerReplicas": available}
        if suspended:
            status["state"] = "suspended"
        elif len(running) == workers + 1:
            status["state"] = "ready"
        self._control.set_status(stored, status)


def desired(group: Obj) -> int:
    """Pods of a worker group."""
    if group.get("suspend"):
        return 0
    least, most = int(group.get("minReplicas") or 0), int(group.get("maxReplicas") or 2**31)
    return min(max(int(group.get("replicas") or 0), least), most) * int(group.get("numOfHosts") or 1)


def _pod(stored: Stored, group: str, spec: Obj) -> Obj:
    cluster, kind = stored.key[1], "head" if group == _HEAD else "worker"
    pod = from_template(stored, spec.get("template") or {"spec": {}})
    metadata = pod["metadata"]
    metadata["labels"] |= {
        "ray.io/is-ray-node": "yes",
        "ray.io/cluster": cluster,
        "ray.io/node-type": kind,
        _GROUP: group,
        "ray.io/identifier": f"{cluster}-{kind}",
        "app.kubernetes.io/name": "kuberay",
        "app.kubernetes.io/created-by": "kuberay-operator",
    }
    if kind == "head":
        metadata["name"] = f"{cluster[:_LONGEST_PREFIX]}-head"
    else:
        metadata["generateName"] = f"{f'{cluster}-{group}'[:_LONGEST_PREFIX]}-worker-"
    return pod
