"""MPIJob, v1 of the training operator and v2beta1 of the MPI operator: launcher and workers.

With `launcherCreationPolicy: WaitForWorkersReady` the launcher is made when all workers are ready (mpi-operator,
`pkg/controller/mpi_job_controller.go`, syncHandler): until then the gang is the workers. A gang that waits for its
launcher would never start. The launcher of v2beta1 is the pod of a Job of the MPIJob's, that of v1 its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from koordpy.api.grouping import Gang, Workload, WorkloadPod
from koordpy.api.paths import text_at
from koordpy.controllers.grouping.kinds.pytorchjob import REPLICA_TYPE
from koordpy.controllers.grouping.kinds.replicaspecs import MIN_AVAILABLE, asked_minimum, replicas_of

JOB_ROLE = "training.kubeflow.org/job-role"  # of v2beta1
_LAUNCHER = "launcher"


def mpijob(workload: Workload) -> Sequence[Gang]:
    owner = workload.owner
    replicas = replicas_of(owner, "mpiReplicaSpecs", ("Launcher", "Worker"))
    asked = asked_minimum(owner, MIN_AVAILABLE, sum(replicas.values()))
    minimum = sum(replicas.values()) if asked is None else asked
    waits = text_at(owner.body, "spec.launcherCreationPolicy") == "WaitForWorkersReady"
    if waits and not any(_is_launcher(pod) for pod in workload.pods):
        minimum = max(0, minimum - replicas["Launcher"])
    return [Gang(workload.pods, minimum=minimum)]


def _is_launcher(pod: WorkloadPod) -> bool:
    return not pod.terminating and _LAUNCHER in (pod.labels.get(JOB_ROLE), pod.labels.get(REPLICA_TYPE))
