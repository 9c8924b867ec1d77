"""Deployments: a ReplicaSet for each template they ever had, and replicas moved from the old ones to the newest.

Simpler than the real controller in one way: a Deployment that is scaled in the middle of a rollout gives or takes
replicas at the newest ReplicaSet, and not at all of them in proportion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from koordpy.sim.embedded.workloads import rollout
from koordpy.sim.embedded.workloads.pods import is_going, template_hash

if TYPE_CHECKING:
    from koordpy.sim.embedded.store import Stored
    from koordpy.sim.embedded.workloads.control import Control

Obj = dict[str, Any]

REVISION = "deployment.kubernetes.io/revision"
_HASH = "pod-template-hash"
_SETS = "replicasets.apps"
_NOT_COPIED = (
    *("kubectl.kubernetes.io/last-applied-configuration", REVISION),
    *("deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas"),
)


class Deployments:
    storage, component = "deployments.apps", "deployment-controller"

    def __init__(self, control: Control) -> None:
        self._control = control

    def sync(self, stored: Stored) -> float | None:
        if is_going(stored.obj):
            return None
        paused = stored.obj["spec"].get("paused")
        created = False
        if not paused and self._newest(stored) is None:
            self._create_set(stored)
            created = True
        newest = self._newest(stored)
        if newest is not None and not paused:
            stored = self._record_revision(stored, newest)
        self._scale(stored)
        if not paused:
            self._forget_old(stored)
        return rollout.tell(self._control, stored, self._newest(stored), self._sets(stored), created=created)

    def gone(self, stored: Stored) -> None:
        """Its ReplicaSets are garbage, and no business of this controller."""

    def _sets(self, stored: Stored) -> list[Stored]:
        return [one for one in self._control.owned(stored.obj, _SETS) if not is_going(one.obj)]

    def _newest(self, stored: Stored) -> Stored | None:
        """The ReplicaSet with the template that the Deployment has now: also after a rollback to an old one."""
        wanted = stored.obj["spec"]["template"]
        return next((one for one in self._sets(stored) if _without_hash(one.obj["spec"]["template"]) == wanted), None)

    def _create_set(self, stored: Stored) -> None:
        spec, name = stored.obj["spec"], stored.key[1]
        short = template_hash(spec["template"])
        template = spec["template"]
        labels = {**(template["metadata"].get("labels") or {}), _HASH: short}
        selector = spec["selector"]
        matched = {**(selector.get("matchLabels") or {}), _HASH: short}
        self._control.create(
            _SETS,
            stored.obj,
            {
                "metadata": {"name": f"{name}-{short}", "labels": labels, "annotations": self._annotations(stored)},
                "spec": {
                    "replicas": 0,
                    **{key: spec[key] for key in ("minReadySeconds",) if spec.get(key)},
                    "selector": {**selector, "matchLabels": matched},
                    "template": {**template, "metadata": {**template["metadata"], "labels": labels}},
                },
            },
        )

    def _annotations(self, stored: Stored) -> dict[str, str]:
        annotations = stored.obj["metadata"].get("annotations") or {}
        copied = {key: value for key, value in annotations.items() if key not in _NOT_COPIED}
        return copied | {REVISION: str(1 + max(map(revision_of, self._sets(stored)), default=0))}

    def _record_revision(self, stored: Stored, newest: Stored) -> Stored:
        """The newest ReplicaSet has the highest revision, and the Deployment names it."""
        others = [revision_of(one) for one in self._sets(stored) if one.key != newest.key]
        if revision_of(newest) <= max(others, default=0):
            newest = _annotated(self._control, newest, str(1 + max(others)))
        if (stored.obj["metadata"].get("annotations") or {}).get(REVISION) != str(revision_of(newest)):
            stored = _annotated(self._control, stored, str(revision_of(newest)))
        return stored

    def _scale(self, stored: Stored) -> None:
        newest = self._newest(stored)
        sets = self._sets(stored)
        if newest is None or stored.obj["spec"].get("paused"):
            holding = [one for one in sets if one.obj["spec"]["replicas"]] or sets[-1:]
            wanted = {one.key: stored.obj["spec"]["replicas"] for one in holding} if len(holding) == 1 else {}
        else:
            old = [one for one in sets if one.key != newest.key]
            running = any(pod for one in old for pod in self._control.owned(one.obj))
            wanted = rollout.replicas(stored.obj, newest, old, old_pods=running)
        for one in sets:
            if wanted.get(one.key, one.obj["spec"]["replicas"]) != one.obj["spec"]["replicas"]:
                self._resize(stored, one, wanted[one.key])

    def _resize(self, stored: Stored, one: Stored, replicas: int) -> None:
        before = one.obj["spec"]["replicas"]
        changed = one.private_copy()
        changed["spec"]["replicas"] = replicas
        most = stored.obj["spec"]["replicas"] + rollout.surge(stored.obj)
        counts = {"desired-replicas": stored.obj["spec"]["replicas"], "max-replicas": most}
        annotations = changed["metadata"].setdefault("annotations", {})
        annotations |= {f"deployment.kubernetes.io/{key}": str(value) for key, value in counts.items()}
        self._control.update(one, changed)
        way = "up" if replicas > before else "down"
        told = f"Scaled {way} replica set {one.key[1]} from {before} to {replicas}"
        self._control.event(stored.obj, "ScalingReplicaSet", told)

    def _forget_old(self, stored: Stored) -> None:
        newest = self._newest(stored)
        empty = [
            one
            for one in self._sets(stored)
            if newest is not None and one.key != newest.key and not one.obj["spec"]["replicas"]
            if not (one.obj.get("status") or {}).get("replicas")
        ]
        surplus = len(empty) - stored.obj["spec"]["revisionHistoryLimit"]
        for one in sorted(empty, key=revision_of)[: max(0, surplus)]:
            self._control.delete(one)


def revision_of(stored: Stored) -> int:
    text = (stored.obj["metadata"].get("annotations") or {}).get(REVISION, "0")
    return int(text) if text.isdecimal() else 0


def _annotated(control: Control, stored: Stored, revision: str) -> Stored:
    metadata = stored.obj["metadata"]
    annotations = {**(metadata.get("annotations") or {}), REVISION: revision}
    return control.store.replace(stored, {**stored.obj, "metadata": {**metadata, "annotations": annotations}})


def _without_hash(template: Obj) -> Obj:
    labels = {key: value for key, value in template["metadata"].get("labels", {}).items() if key != _HASH}
    return {**template, "metadata": {**template["metadata"], "labels": labels}}
