"""A QueueJob's pods: what the controller knows of one, and what it creates."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

from koordpy.api.keys import DISRUPTION_TARGET, INCARNATION, INDEX, QUEUEJOB, TASK
from koordpy.api.meta import ObjectMeta, OwnerReference
from koordpy.api.pod import Pod
from koordpy.api.queuejob import API_VERSION, GROUP, KIND, QueueJob, TaskSpec
from koordpy.controllers.queuejob.names import Slot, hostname, pod_name, task_names

Json = dict[str, Any]

_VARIABLES = {"KOORDPY_TASK": TASK, "KOORDPY_INDEX": INDEX}


class JobPod(NamedTuple):
    """What decisions are made from. Two that are equal need no look at their QueueJob."""

    name: str
    uid: str
    slot: Slot
    incarnation: int
    phase: str
    terminating: bool = False
    cause: str = ""  # why it ended or is ending, in a few words
    created: str = ""

    @property
    def runs(self) -> bool:
        return self.phase == "Running" and not self.terminating

    @property
    def succeeded(self) -> bool:
        return self.phase == "Succeeded"

    @property
    def failed(self) -> bool:
        return self.phase == "Failed"


def owner_of(meta: ObjectMeta) -> OwnerReference | None:
    """The QueueJob that controls an object, if one does."""
    for owner in meta.owner_references:
        if owner.controller:
            return owner if owner.kind == KIND and owner.api_version.startswith(f"{GROUP}/") else None
    return None


def cause_of(pod: Pod) -> str:
    """Why it ended or is ending: `exit code 137 (OOMKilled)`, `Evicted`, `deleted`."""
    disrupted = pod.condition(DISRUPTION_TARGET)
    if disrupted is not None and disrupted.status == "True":
        return f"{disrupted.reason}: {disrupted.message}".rstrip(": ")
    if pod.status.phase == "Failed":
        if pod.status.reason:
            return pod.status.reason
        ends = (each.state.terminated for each in pod.status.container_statuses)
        bad = next((end for end in ends if end is not None and end.exit_code), None)
        if bad is not None:
            return f"exit code {bad.exit_code}" + (f" ({bad.reason})" if bad.reason not in ("", "Error") else "")
        return "failed"
    return "deleted" if pod.metadata.deletion_timestamp else ""


def owned_by(job: QueueJob) -> list[Json]:
    return [
        {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "name": job.metadata.name,
            "uid": job.metadata.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


def pod_body(job: QueueJob, slot: Slot) -> Json:
    """The template, with a name, an owner and what tells its containers which of all they are."""
    name = job.metadata.name
    template = copy.deepcopy(_task(job, slot.task).template)
    metadata: Json = template.get("metadata") or {}
    labels = {
        **(metadata.get("labels") or {}),
        QUEUEJOB: name,
        TASK: slot.task,
        INDEX: str(slot.index),
        INCARNATION: str(job.status.incarnation),
    }
    spec: Json = template.get("spec") or {}
    # As in a Job: a container that ends well has done its work. `Always` would run it again for ever.
    if spec.get("restartPolicy") in (None, "Always"):
        spec["restartPolicy"] = "Never"
    if job.spec.scheduler_name:
        spec["schedulerName"] = job.spec.scheduler_name
    if job.spec.network == "Hostnames":
        spec |= {"hostname": hostname(name, slot), "subdomain": name}
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        _tell_index(container)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **{key: metadata[key] for key in ("annotations", "finalizers") if key in metadata},
            "name": pod_name(name, slot, job.status.incarnation),
            "namespace": job.metadata.namespace,
            "labels": labels,
            "ownerReferences": owned_by(job),
        },
        "spec": spec,
    }


def _task(job: QueueJob, name: str) -> TaskSpec:
    return job.spec.task_specs[task_names(job.spec).index(name)]


def _tell_index(container: Json) -> None:
    """Through the downward API, so that the environment and the labels cannot disagree. What a user sets stays."""
    env = container["env"] = list(container.get("env") or ())
    known = {each.get("name") for each in env}
    for variable, label in _VARIABLES.items():
        if variable not in known:
            env.append({"name": variable, "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{label}']"}}})
