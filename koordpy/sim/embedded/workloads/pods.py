"""What a controller sees in a pod: whether it counts, is ready, is available; and the pod that a template makes."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from koordpy.sim.embedded.store import Stored
    from koordpy.sim.embedded.workloads.control import Control

Obj = dict[str, Any]

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # as in generated names
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def phase(pod: Obj) -> str:
    return str((pod.get("status") or {}).get("phase", "Pending"))


def is_going(pod: Obj) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def is_terminating(pod: Obj) -> bool:
    """Deleted, and its containers may still run."""
    return is_going(pod) and phase(pod) not in ("Succeeded", "Failed")


def is_active(pod: Obj) -> bool:
    return phase(pod) not in ("Succeeded", "Failed") and not is_going(pod)


def ready_since(pod: Obj) -> str | None:
    """When the pod became ready; None if it is not."""
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition["type"] == "Ready" and condition["status"] == "True":
            return str(condition["lastTransitionTime"])
    return None


def unavailable_for(control: Control, pod: Obj, min_ready_seconds: int) -> float | None:
    """Seconds until a ready pod counts as available, 0 if it does; None if it is not ready."""
    since = ready_since(pod)
    if since is None:
        return None
    return max(0.0, min_ready_seconds - control.since(since)) if min_ready_seconds else 0.0


def least_missed(pods: list[Stored], count: int) -> list[Stored]:
    """Whom to delete when there are too many: those that are not placed, not running, not ready; then the youngest."""

    def cost(pod: Obj) -> int:
        text = (pod["metadata"].get("annotations") or {}).get("controller.kubernetes.io/pod-deletion-cost", "0")
        return int(text) if text.lstrip("+-").isdecimal() else 0

    def missed(position: int) -> tuple[Any, ...]:
        pod = pods[position].obj
        placed = bool(pod["spec"].get("nodeName"))
        return placed, _PHASES.get(phase(pod), 3), ready_since(pod) is not None, cost(pod), -position

    return [pods[position] for position in sorted(range(len(pods)), key=missed)[:count]]


def from_template(workload: Stored, template: Obj | None = None) -> Obj:
    """A new pod, free to be changed. What else stands in a template's metadata does not reach its pods."""
    made = msgspec.json.decode(msgspec.json.encode(template or workload.obj["spec"]["template"]))
    metadata = made.get("metadata") or {}
    kept = {key: metadata[key] for key in ("labels", "annotations", "finalizers") if metadata.get(key)}
    return {"metadata": {"labels": {}, **kept}, "spec": made["spec"]}


def template_hash(template: Obj) -> str:
    """A short name for a template: the same for the same content, in whatever order it was written."""
    content = msgspec.json.encode(template, order="deterministic")
    number = int.from_bytes(hashlib.blake2s(content, digest_size=6).digest())
    digits = ""
    while len(digits) < 10:
        number, digit = divmod(number, len(_ALPHABET))
        digits += _ALPHABET[digit]
    return digits
