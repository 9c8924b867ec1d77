"""ReplicaSets: as many pods as are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from koordpy.sim.embedded.errors import ApiError
from koordpy.sim.embedded.workloads.pods import from_template, is_active, is_terminating, least_missed, unavailable_for

if TYPE_CHECKING:
    from koordpy.sim.embedded.store import Stored
    from koordpy.sim.embedded.workloads.control import Control

Obj = dict[str, Any]

STORAGE = "replicasets.apps"
BURST = 500  # pods that one look at an object creates or deletes, as the real controller
RETRY_SECONDS = 5.0


class ReplicaSets:
    storage, component = STORAGE, "replicaset-controller"

    def __init__(self, control: Control) -> None:
        self._control = control

    def sync(self, stored: Stored) -> float | None:
        if "deletionTimestamp" in stored.obj["metadata"]:
            return None
        failure = self._adjust(stored)
        again = self._tell(stored, failure)
        return RETRY_SECONDS if failure else again

    def gone(self, stored: Stored) -> None:
        """Its pods are garbage, and no business of this controller."""

    def _adjust(self, stored: Stored) -> str:
        """Create or delete pods; returns why that failed."""
        control, spec = self._control, stored.obj["spec"]
        active = [pod for pod in control.owned(stored.obj) if is_active(pod.obj)]
        missing = spec["replicas"] - len(active)
        try:
            for _ in range(min(missing, BURST)):
                new = from_template(stored)
                new["metadata"]["generateName"] = f"{stored.key[1]}-"
                made = control.create("pods", stored.obj, new)
                control.event(stored.obj, "SuccessfulCreate", f"Created pod: {made.key[1]}")
        except ApiError as error:
            control.warn(stored.obj, "FailedCreate", f"Error creating: {error.message}")
            return error.message
        for pod in least_missed(active, min(-missing, BURST)) if missing < 0 else ():
            control.delete(pod)
            control.event(stored.obj, "SuccessfulDelete", f"Deleted pod: {pod.key[1]}")
        return ""

    def _tell(self, stored: Stored, failure: str) -> float | None:
        """Write the status; returns when a pod that is ready will count as available."""
        control, spec = self._control, stored.obj["spec"]
        pods = [pod.obj for pod in control.owned(stored.obj)]
        active = [pod for pod in pods if is_active(pod)]
        labels = (spec["template"]["metadata"].get("labels") or {}).items()
        waits = [unavailable_for(control, pod, spec.get("minReadySeconds", 0)) for pod in active]
        ready = [wait for wait in waits if wait is not None]
        condition = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": failure}
        status = {
            "replicas": len(active),
            "fullyLabeledReplicas": sum(labels <= (p["metadata"].get("labels") or {}).items() for p in active) or None,
            "readyReplicas": len(ready) or None,
            "availableReplicas": sum(not wait for wait in ready) or None,
            "terminatingReplicas": sum(map(is_terminating, pods)),
            "observedGeneration": stored.obj["metadata"]["generation"],
            "conditions": [condition | {"lastTransitionTime": self._failed_since(stored)}] if failure else None,
        }
        control.set_status(stored, status)
        return min((wait for wait in ready if wait), default=None)

    def _failed_since(self, stored: Stored) -> str:
        before = (stored.obj.get("status") or {}).get("conditions") or ()
        return str(before[0]["lastTransitionTime"]) if before else self._control.now
