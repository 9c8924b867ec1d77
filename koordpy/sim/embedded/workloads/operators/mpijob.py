"""MPIJob v2beta1 as the MPI operator plays it: worker pods, and a Job whose pod is the launcher.

Names, labels and order are those of mpi-operator, `pkg/controller/mpi_job_controller.go`: the launcher comes at once,
or with `launcherCreationPolicy: WaitForWorkersReady` when every worker is ready. The job ends as its launcher does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from koordpy.sim.embedded.workloads.operators import roles
from koordpy.sim.embedded.workloads.pods import is_active, is_going, ready_since

if TYPE_CHECKING:
    from koordpy.sim.embedded.store import Stored
    from koordpy.sim.embedded.workloads.control import Control

Obj = dict[str, Any]

_JOBS = "jobs.batch"


class MPIJobs:
    storage, component = "mpijobs.kubeflow.org", "mpi-job-controller"

    def __init__(self, control: Control) -> None:
        self._control = control

    def gone(self, stored: Stored) -> None:
        """Its pods and its launcher go with it."""

    def sync(self, stored: Stored) -> float | None:
        if is_going(stored.obj) or roles.condition_of(stored) in roles.ENDED:
            return None
        launcher = next(iter(self._control.owned(stored.obj, _JOBS)), None)
        ended = _end_of(launcher)
        if not ended:
            self._adjust_workers(stored)
            if launcher is None and self._may_launch(stored):
                self._launch(stored)
        elif (roles.spec_of(stored).get("runPolicy") or {}).get("cleanPodPolicy") in ("Running", "All"):
            for pod in self._control.owned(stored.obj):
                self._control.delete(pod)
        running = launcher is not None and bool((launcher.obj.get("status") or {}).get("ready"))
        state = ended or ("Running" if running else "Created")
        status: Obj = {"conditions": roles.with_condition(self._control, stored, state)}
        status["replicaStatuses"] = {"Worker": roles.count_phases(self._control.owned(stored.obj))}
        self._control.set_status(stored, status)
        return None

    def _adjust_workers(self, stored: Stored) -> None:
        wanted = roles.replicas(_role(stored, "Worker")) if not roles.is_suspended(stored) else 0
        names = [f"{stored.key[1]}-worker-{index}" for index in range(wanted)]
        there = {pod.key[1]: pod for pod in self._control.owned(stored.obj)}
        for name in there.keys() - set(names):
            self._control.delete(there[name])
        for index, name in enumerate(names):
            if name not in there:
                labels = {**_labels(stored, "worker"), roles.REPLICA_INDEX: str(index)}
                pod = roles.pod_of(stored, _role(stored, "Worker"), labels, "Never")
                pod["metadata"]["name"] = name
                self._control.create("pods", stored.obj, pod)

    def _may_launch(self, stored: Stored) -> bool:
        if roles.spec_of(stored).get("launcherCreationPolicy") != "WaitForWorkersReady":
            return True
        workers = [pod.obj for pod in self._control.owned(stored.obj)]
        return bool(workers) and all(is_active(pod) and ready_since(pod) is not None for pod in workers)

    def _launch(self, stored: Stored) -> None:
        name = f"{stored.key[1]}-launcher"
        template = roles.pod_of(stored, _role(stored, "Launcher"), _labels(stored, "launcher"), "Never")
        spec = {"template": template, "suspend": roles.is_suspended(stored)}
        labels = {"app": stored.key[1]}
        body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": labels}, "spec": spec}
        self._control.create(_JOBS, stored.obj, body)


def _role(stored: Stored, name: str) -> Obj:
    found: Obj = (roles.spec_of(stored).get("mpiReplicaSpecs") or {}).get(name) or {"replicas": 0}
    return found


def _labels(stored: Stored, role: str) -> dict[str, str]:
    return {roles.OPERATOR_NAME: "mpi-operator", roles.JOB_NAME: stored.key[1], roles.JOB_ROLE: role}


def _end_of(launcher: Stored | None) -> str:
    """`Succeeded`, `Failed`, or empty while it runs."""
    conditions = (launcher.obj.get("status") or {}).get("conditions") or () if launcher is not None else ()
    true = {each["type"] for each in conditions if each["status"] == "True"}
    return "Succeeded" if "Complete" in true else "Failed" if "Failed" in true else ""
