"""PyTorchJob as the training operator plays it: all pods of all roles at once, none made again once the job has ended.

Names and labels are those of training-operator, `pkg/controller.v1/common/pod.go`. A job is done when its master is, or
without one its workers are; it fails with the first pod that does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from koordpy.sim.embedded.workloads.operators import roles
from koordpy.sim.embedded.workloads.pods import is_active, is_going, phase

if TYPE_CHECKING:
    from koordpy.sim.embedded.store import Stored
    from koordpy.sim.embedded.workloads.control import Control

Obj = dict[str, Any]


class PyTorchJobs:
    storage, component = "pytorchjobs.kubeflow.org", "pytorchjob-controller"

    def __init__(self, control: Control) -> None:
        self._control = control

    def gone(self, stored: Stored) -> None:
        """Its pods go with it."""

    def sync(self, stored: Stored) -> float | None:
        if is_going(stored.obj) or roles.condition_of(stored) in roles.ENDED:
            return None
        pods = self._control.owned(stored.obj)
        if roles.is_suspended(stored):
            for pod in pods:
                self._control.delete(pod)
            self._report(stored, "Suspended")
            return None
        for name, role in (roles.spec_of(stored).get("pytorchReplicaSpecs") or {}).items():
            self._adjust(stored, name.lower(), role, pods)
        self._report(stored, self._state(self._control.owned(stored.obj)))
        return None

    def _adjust(self, stored: Stored, role: str, spec: Obj, pods: list[Stored]) -> None:
        """Create the indexes that are missing, and delete those beyond the replicas."""
        wanted, job = roles.replicas(spec), stored.key[1]
        there = {pod.key[1]: pod for pod in pods if _role(pod) == role}
        names = [f"{job}-{role}-{index}" for index in range(wanted)]
        for name in there.keys() - set(names):
            self._control.delete(there[name])
        for index, name in enumerate(names):
            if name not in there:
                self._create(stored, role, spec, index)

    def _create(self, stored: Stored, role: str, spec: Obj, index: int) -> None:
        job = stored.key[1]
        labels = {
            roles.OPERATOR_NAME: self.component,
            roles.JOB_NAME: job,
            roles.REPLICA_TYPE: role,
            roles.REPLICA_INDEX: str(index),
        }
        if role == "master":
            labels[roles.JOB_ROLE] = "master"
        pod = roles.pod_of(stored, spec, labels, "OnFailure")
        pod["metadata"]["name"] = f"{job}-{role}-{index}"
        self._control.create("pods", stored.obj, pod)
        self._control.event(stored.obj, "SuccessfulCreatePod", f"Created pod: {job}-{role}-{index}")

    def _state(self, pods: list[Stored]) -> str:
        leading = [pod for pod in pods if _role(pod) == "master"] or pods
        if any(phase(pod.obj) == "Failed" for pod in pods):
            return "Failed"
        if leading and all(phase(pod.obj) == "Succeeded" for pod in leading):
            return "Succeeded"
        return "Running" if any(phase(pod.obj) == "Running" and is_active(pod.obj) for pod in leading) else "Created"

    def _report(self, stored: Stored, state: str) -> None:
        control = self._control
        before = stored.obj.get("status") or {}
        by_role: dict[str, list[Stored]] = {}
        for pod in control.owned(stored.obj):
            by_role.setdefault(_role(pod).capitalize(), []).append(pod)
        status = {
            "startTime": before.get("startTime", control.now),
            "conditions": roles.with_condition(control, stored, state),
            "replicaStatuses": {role: roles.count_phases(pods) for role, pods in sorted(by_role.items())},
            "completionTime": before.get("completionTime") or (control.now if state in roles.ENDED else None),
        }
        control.set_status(stored, status)


def _role(pod: Stored) -> str:
    return str(pod.obj["metadata"]["labels"].get(roles.REPLICA_TYPE, ""))
