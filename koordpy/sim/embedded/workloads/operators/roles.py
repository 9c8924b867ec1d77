"""What the played operators share: pods from the template of a role, and the conditions of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from koordpy.sim.embedded.workloads.pods import from_template, phase

if TYPE_CHECKING:
    from koordpy.sim.embedded.store import Stored
    from koordpy.sim.embedded.workloads.control import Control

Obj = dict[str, Any]

# training-operator and mpi-operator, `common_types.go` and `constants.go` of their APIs.
OPERATOR_NAME = "training.kubeflow.org/operator-name"
JOB_NAME = "training.kubeflow.org/job-name"
JOB_ROLE = "training.kubeflow.org/job-role"
REPLICA_TYPE = "training.kubeflow.org/replica-type"
REPLICA_INDEX = "training.kubeflow.org/replica-index"
ENDED = ("Succeeded", "Failed")


def spec_of(stored: Stored) -> Obj:
    return stored.obj.get("spec") or {}


def replicas(role: Obj) -> int:
    """The operators take missing replicas for 1."""
    return int(role.get("replicas", 1))


def is_suspended(stored: Stored) -> bool:
    return bool((spec_of(stored).get("runPolicy") or {}).get("suspend"))


def pod_of(stored: Stored, role: Obj, labels: dict[str, str], default_policy: str) -> Obj:
    """A pod from the template of a role; the role's restart policy replaces the template's."""
    pod = from_template(stored, role.get("template") or {"spec": {}})
    policy = role.get("restartPolicy", default_policy)
    pod["spec"]["restartPolicy"] = "Never" if policy == "ExitCode" else policy
    pod["metadata"]["labels"] |= labels
    return pod


def count_phases(pods: list[Stored]) -> Obj:
    """As in `replicaStatuses`."""
    phases = [phase(pod.obj) for pod in pods]
    counts = {"active": phases.count("Running"), "succeeded": phases.count("Succeeded")}
    counts["failed"] = phases.count("Failed")
    return {key: value for key, value in counts.items() if value}


def condition_of(stored: Stored) -> str:
    """The last condition that holds, such as Running; empty for none."""
    conditions = (stored.obj.get("status") or {}).get("conditions") or ()
    return next((each["type"] for each in reversed(conditions) if each["status"] == "True"), "")


def with_condition(control: Control, stored: Stored, kind: str) -> list[Obj]:
    """The conditions with this one last and true; those before it are over, but for the creation."""
    before = [dict(each) for each in (stored.obj.get("status") or {}).get("conditions") or ()]
    if condition_of(stored) == kind:
        return before
    kept = [each for each in before if each["type"] != kind]
    for each in kept:
        each["status"] = "True" if each["type"] == "Created" else "False"
    name = stored.obj["kind"]
    told = {"reason": f"{name}{kind}", "message": f"{name} {stored.key[0]}/{stored.key[1]} is {kind.lower()}."}
    return [*kept, {"type": kind, "status": "True", "lastTransitionTime": control.now, **told}]
