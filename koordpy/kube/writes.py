"""The writes of the scheduler, each as one function after which the process may crash.

Every write to a pod has its UID as a precondition (and, where it matters, the resource version): it never touches a
pod that was recreated under the same name, or that another client has just bound.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from koordpy.api.decode import Decoder
from koordpy.api.errors import MalformedObject
from koordpy.api.keys import (
    BOUND_BY_CONTROLLER,
    DISRUPTION_TARGET,
    POD_SCHEDULED,
    PREEMPTION_BY_SCHEDULER,
    SELECTED_NODE,
)
from koordpy.api.pod import Pod
from koordpy.api.storage import PersistentVolume, PersistentVolumeClaim
from koordpy.api.times import instant_of_seconds
from koordpy.kube.client import MERGE_PATCH, STRATEGIC_MERGE_PATCH, Client
from koordpy.kube.errors import Conflict, NotFound, Transient

_decode_pod = Decoder("Pod", Pod)


class PodRef(NamedTuple):
    """One pod, by UID."""

    namespace: str
    name: str
    uid: str

    @property
    def path(self) -> str:
        return f"/api/v1/namespaces/{quote(self.namespace)}/pods/{quote(self.name)}"

    @property
    def as_object(self) -> ObjectRef:
        return ObjectRef("v1", "Pod", self.namespace, self.name, self.uid)


class ObjectRef(NamedTuple):
    """Any object, for the `regarding` of an event."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


class BindOutcome(enum.Enum):
    """The outcome of a bind."""

    BOUND = "bound"  # by this request, or by an earlier one whose answer was lost
    GONE = "gone"  # the pod was deleted, or deleted and recreated
    TAKEN = "taken"  # another client bound it to another node
    REFUSED = "refused"  # still unbound: it is terminating or gated, or the API server keeps failing on it


async def bind(client: Client, pod: PodRef, node: str, annotations: Mapping[str, str] | None = None) -> BindOutcome:
    """Bind a pod to a node, and return only when the outcome is known, however long the API server does not answer.

    Annotations of a Binding become those of the pod, in the same write.

    A bind without an answer may have taken effect: unreserving its pod now could overcommit the node.
    """
    metadata: dict[str, Any] = {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid}
    if annotations:
        metadata["annotations"] = annotations
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": metadata,
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    try:
        await client.write("POST", f"{pod.path}/binding", body)
    except NotFound:
        return BindOutcome.GONE
    except (Conflict, Transient):
        return await _outcome_of(client, pod, node)
    return BindOutcome.BOUND


async def _outcome_of(client: Client, pod: PodRef, node: str) -> BindOutcome:
    """The outcome by the pod itself: a 409 may come from our own first attempt, whose answer was lost."""
    try:
        found = await _get_pod(client, pod)
    except NotFound:
        return BindOutcome.GONE
    if found.metadata.uid != pod.uid:
        return BindOutcome.GONE
    if not found.spec.node_name:
        return BindOutcome.REFUSED
    return BindOutcome.BOUND if found.spec.node_name == node else BindOutcome.TAKEN


async def _get_pod(client: Client, pod: PodRef) -> Pod:
    """GET the pod, until the API server answers and not a proxy with a page of its own."""
    while True:
        try:
            return _decode_pod(await client.get_patiently(pod.path))
        except MalformedObject:
            await asyncio.sleep(1.0)


class Unscheduled(NamedTuple):
    """The content of a `PodScheduled=False` condition, and the version of the pod that it is about."""

    reason: str
    message: str
    version: str  # resourceVersion of the pod
    generation: int
    at: float


async def say_unscheduled(client: Client, pod: PodRef, condition: Unscheduled) -> None:
    """Set `PodScheduled=False`; raises Conflict when the pod has changed since.

    Without the version, a delayed patch could write the condition to a pod that has been bound meanwhile.
    """
    body = {
        "metadata": {"resourceVersion": condition.version},
        "status": {
            "conditions": [
                {
                    "type": POD_SCHEDULED,
                    "status": "False",
                    "reason": condition.reason,
                    "message": condition.message,
                    "lastTransitionTime": instant_of_seconds(condition.at),
                    "observedGeneration": condition.generation,
                }
            ]
        },
    }
    await client.write("PATCH", f"{pod.path}/status", body, content_type=STRATEGIC_MERGE_PATCH)


class Disruption(NamedTuple):
    """The content of a `DisruptionTarget` condition."""

    message: str
    generation: int
    at: float
    reason: str = PREEMPTION_BY_SCHEDULER


async def say_disrupted(client: Client, pod: PodRef, disruption: Disruption) -> None:
    """Set `DisruptionTarget=True` on a victim, before it is deleted."""
    condition = {
        "type": DISRUPTION_TARGET,
        "status": "True",
        "reason": disruption.reason,
        "message": disruption.message,
        "lastTransitionTime": instant_of_seconds(disruption.at),
        "observedGeneration": disruption.generation,
    }
    body = {"metadata": {"uid": pod.uid}, "status": {"conditions": [condition]}}
    await client.write("PATCH", f"{pod.path}/status", body, content_type=STRATEGIC_MERGE_PATCH)


async def is_still_there(client: Client, pod: PodRef) -> bool:
    """Whether the pod exists, with this UID."""
    try:
        return (await _get_pod(client, pod)).metadata.uid == pod.uid
    except NotFound:
        return False


async def delete_pod(client: Client, pod: PodRef, *, dry_run: bool = False) -> None:
    """Delete the pod, with its own grace period; raises Conflict when it was recreated under its name.

    A dry run asks whether that would be allowed: permissions and admission webhooks answer, and the pod stays.
    """
    body: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": pod.uid}}
    await client.write("DELETE", pod.path, body | {"dryRun": ["All"]} if dry_run else body)


async def set_nominated_node(client: Client, pod: PodRef, node: str) -> None:
    """Set `status.nominatedNodeName`, or clear it."""
    body = {"metadata": {"uid": pod.uid}, "status": {"nominatedNodeName": node or None}}
    await client.write("PATCH", f"{pod.path}/status", body, content_type=STRATEGIC_MERGE_PATCH)


async def annotate(client: Client, pod: PodRef, annotations: Mapping[str, str | None]) -> None:
    """Put annotations on a pod, or take them away (None); 422 when it was recreated under its name."""
    body = {"metadata": {"uid": pod.uid, "annotations": annotations}}
    await client.write("PATCH", pod.path, body, content_type=MERGE_PATCH)


async def annotate_object(client: Client, about: ObjectRef, plural: str, annotations: Mapping[str, str | None]) -> None:
    """Put annotations on a namespaced object, or take them away (None)."""
    path = f"/apis/{about.api_version}/namespaces/{quote(about.namespace)}/{plural}/{quote(about.name)}"
    await client.write("PATCH", path, {"metadata": {"annotations": annotations}}, content_type=MERGE_PATCH)


async def give_volume(client: Client, volume: PersistentVolume, claim: PersistentVolumeClaim) -> None:
    """Set the `claimRef` of a volume, as the PersistentVolume controller would; that controller completes the claim.

    Raises Conflict when the volume has changed since. A repetition after a lost answer changes nothing.
    """
    meta = claim.metadata
    body = {
        "metadata": {
            "resourceVersion": volume.metadata.resource_version,
            "annotations": {BOUND_BY_CONTROLLER: "yes"},
        },
        "spec": {
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": meta.namespace,
                "name": meta.name,
                "uid": meta.uid,
                "resourceVersion": meta.resource_version,
            }
        },
    }
    path = f"/api/v1/persistentvolumes/{quote(volume.metadata.name)}"
    await client.write("PATCH", path, body, content_type=MERGE_PATCH)


async def provision_for(client: Client, claim: PersistentVolumeClaim, node: str) -> None:
    """Set `selected-node` on a claim, for its provisioner; raises Conflict as above."""
    meta = claim.metadata
    body = {"metadata": {"resourceVersion": meta.resource_version, "annotations": {SELECTED_NODE: node}}}
    path = f"/api/v1/namespaces/{quote(meta.namespace)}/persistentvolumeclaims/{quote(meta.name)}"
    await client.write("PATCH", path, body, content_type=MERGE_PATCH)
