"""StatefulSets: pods with an ordinal each, made and taken away in that order, and a claim each that outlives them.

The templates that it had are kept as ControllerRevisions: a pod below the partition of a rolling update is made anew
from the old one. Claims are never deleted, whatever the retention policy says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from koordpy.sim.embedded.workloads.pods import (
    from_template,
    is_going,
    phase,
    ready_since,
    template_hash,
    unavailable_for,
)

if TYPE_CHECKING:
    from koordpy.sim.embedded.store import Stored
    from koordpy.sim.embedded.workloads.control import Control

Obj = dict[str, Any]

_HASH = "controller-revision-hash"
_REVISIONS = "controllerrevisions.apps"


class StatefulSets:
    storage, component = "statefulsets.apps", "statefulset-controller"

    def __init__(self, control: Control) -> None:
        self._control = control

    def sync(self, stored: Stored) -> float | None:
        if is_going(stored.obj):
            return None
        updated = self._record_revision(stored)
        current = (stored.obj.get("status") or {}).get("currentRevision") or updated
        self._adjust(stored, current, updated)
        return self._tell(stored, current, updated)

    def gone(self, stored: Stored) -> None:
        """Its pods are garbage, and no business of this controller."""

    def _record_revision(self, stored: Stored) -> str:
        """The name of the ControllerRevision with the template as it is now, made if it is new."""
        template = stored.obj["spec"]["template"]
        name = f"{stored.key[1]}-{template_hash(template)}"
        known = self._control.owned(stored.obj, _REVISIONS)
        newest = max((one.obj["revision"] for one in known), default=0)
        found = next((one for one in known if one.key[1] == name), None)
        if found is None:
            labels = {**(template["metadata"].get("labels") or {}), _HASH: name}
            data = {"spec": {"template": {**template, "$patch": "replace"}}}
            revision = {"metadata": {"name": name, "labels": labels}, "data": data, "revision": newest + 1}
            self._control.create(_REVISIONS, stored.obj, revision)
        elif found.obj["revision"] < newest:
            self._control.store.replace(found, {**found.obj, "revision": newest + 1})
        return name

    def _template(self, stored: Stored, revision: str) -> Obj:
        found = self._control.store.get(_REVISIONS, stored.key[0], revision)
        kept = found.obj["data"]["spec"]["template"] if found else stored.obj["spec"]["template"]
        return {key: value for key, value in kept.items() if key != "$patch"}

    def _pods(self, stored: Stored) -> dict[int, Stored]:
        prefix = f"{stored.key[1]}-"
        ordinals = {pod.key[1].removeprefix(prefix): pod for pod in self._control.owned(stored.obj)}
        return {int(text): pod for text, pod in sorted(ordinals.items()) if text.isdecimal()}

    def _adjust(self, stored: Stored, current: str, updated: str) -> None:
        """Create, delete and replace pods; one that is not ready holds up those after it, unless it is Parallel."""
        spec = stored.obj["spec"]
        in_order = spec["podManagementPolicy"] == "OrderedReady"
        first = (spec.get("ordinals") or {}).get("start", 0)
        wanted = range(first, first + spec["replicas"])
        pods = self._pods(stored)
        for ordinal in wanted:
            pod = pods.get(ordinal)
            if pod is None:
                old = ordinal - first < _partition(spec) and current != updated
                self._create(stored, ordinal, current if old else updated)
            elif phase(pod.obj) in ("Failed", "Succeeded") and not is_going(pod.obj):
                self._delete(stored, pod)
            if in_order and (pod is None or not _is_healthy(pod)):
                return
        for ordinal in sorted(set(pods) - set(wanted), reverse=True):
            if not is_going(pods[ordinal].obj):
                self._delete(stored, pods[ordinal])
            if in_order:
                return
        self._update(stored, [pods[ordinal] for ordinal in reversed(wanted) if ordinal in pods], updated)

    def _update(self, stored: Stored, pods: list[Stored], updated: str) -> None:
        """Replace pods of an old revision, the highest ordinal first and one at a time."""
        spec = stored.obj["spec"]
        if spec["updateStrategy"]["type"] != "RollingUpdate":
            return
        for pod in pods[: max(0, len(pods) - _partition(spec))]:
            if _revision(pod) != updated and not is_going(pod.obj):
                self._delete(stored, pod)
                return
            if not _is_healthy(pod):
                return

    def _create(self, stored: Stored, ordinal: int, revision: str) -> None:
        spec, name = stored.obj["spec"], f"{stored.key[1]}-{ordinal}"
        pod = from_template(stored, self._template(stored, revision))
        identity = {"statefulset.kubernetes.io/pod-name": name, "apps.kubernetes.io/pod-index": str(ordinal)}
        pod["metadata"] |= {"name": name, "generateName": f"{stored.key[1]}-"}
        pod["metadata"] |= {"labels": {**pod["metadata"]["labels"], **identity, _HASH: revision}}
        pod["spec"]["hostname"] = name
        if spec.get("serviceName"):
            pod["spec"]["subdomain"] = spec["serviceName"]
        claims = {self._claim_of(stored, claim, ordinal): claim for claim in spec.get("volumeClaimTemplates") or ()}
        mounted = [
            {"name": claim["metadata"]["name"], "persistentVolumeClaim": {"claimName": claim_name}}
            for claim_name, claim in claims.items()
        ]
        others = [
            volume for volume in pod["spec"].get("volumes") or () if volume["name"] not in {m["name"] for m in mounted}
        ]
        if mounted or others:
            pod["spec"]["volumes"] = [*mounted, *others]
        self._control.create("pods", stored.obj, pod)
        self._control.event(
            stored.obj, "SuccessfulCreate", f"create Pod {name} in StatefulSet {stored.key[1]} successful"
        )

    def _claim_of(self, stored: Stored, template: Obj, ordinal: int) -> str:
        """The name of a pod's claim, which is made if it is missing."""
        namespace = stored.key[0]
        name = f"{template['metadata']['name']}-{stored.key[1]}-{ordinal}"
        if self._control.store.get("persistentvolumeclaims", namespace, name) is None:
            labels = {
                **(template["metadata"].get("labels") or {}),
                **(stored.obj["spec"]["selector"].get("matchLabels") or {}),
            }
            metadata = {"name": name, "namespace": namespace, "labels": labels}
            claim = {"metadata": metadata, "spec": dict(template.get("spec") or {})}
            self._control.create_free("persistentvolumeclaims", claim)
        return name

    def _delete(self, stored: Stored, pod: Stored) -> None:
        self._control.delete(pod)
        told = f"delete Pod {pod.key[1]} in StatefulSet {stored.key[1]} successful"
        self._control.event(stored.obj, "SuccessfulDelete", told)

    def _tell(self, stored: Stored, current: str, updated: str) -> float | None:
        control, spec = self._control, stored.obj["spec"]
        pods = [pod for pod in self._pods(stored).values() if not is_going(pod.obj)]
        waits = [unavailable_for(control, pod.obj, spec.get("minReadySeconds", 0)) for pod in pods]
        ready = [wait for wait in waits if wait is not None]
        at_update = sum(_revision(pod) == updated for pod in pods)
        if current != updated and at_update == len(ready) == spec["replicas"]:
            current = updated
        status = {
            "observedGeneration": stored.obj["metadata"]["generation"],
            "replicas": len(pods),
            "readyReplicas": len(ready) or None,
            "availableReplicas": sum(not wait for wait in ready),
            "currentReplicas": sum(_revision(pod) == current for pod in pods) or None,
            "updatedReplicas": at_update or None,
            "currentRevision": current,
            "updateRevision": updated,
            "collisionCount": 0,
        }
        control.set_status(stored, status)
        return min((wait for wait in ready if wait), default=None)


def _partition(spec: Obj) -> int:
    return int((spec["updateStrategy"].get("rollingUpdate") or {}).get("partition", 0))


def _revision(pod: Stored) -> str:
    return str((pod.obj["metadata"].get("labels") or {}).get(_HASH, ""))


def _is_healthy(pod: Stored) -> bool:
    return phase(pod.obj) == "Running" and ready_since(pod.obj) is not None and not is_going(pod.obj)
