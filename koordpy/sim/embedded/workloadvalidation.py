"""What a workload must satisfy: its numbers, its selector, its pod template, and what an update may not change.

The messages are those of the real server. Rules that no controller here acts on, such as those of pod failure
policies, are not checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from koordpy.sim.embedded import podvalidation
from koordpy.sim.embedded.errors import FieldError, forbidden_field, invalid_value, required, unsupported
from koordpy.sim.embedded.selectors import spec_selector
from koordpy.sim.embedded.validation import labels_errors

Obj = dict[str, Any]
Check = Callable[[Obj], list[FieldError]]

_STATEFUL_SET_MAY_CHANGE = (
    *("replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit"),
    *("persistentVolumeClaimRetentionPolicy", "minReadySeconds"),
)
_UNSELECTED = "`selector` does not match template `labels`"
_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
_COUNTS = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")


def replica_set_errors(workload: Obj) -> list[FieldError]:
    spec = workload["spec"]
    errors = _negative(spec, ("replicas", "minReadySeconds"))
    return errors + _selector_errors(spec, "deployment") + _endless_template_errors(spec, "ReplicaSet")


def deployment_errors(workload: Obj) -> list[FieldError]:
    spec = workload["spec"]
    errors = _negative(spec, ("replicas",)) + _selector_errors(spec, "deployment")
    errors += _endless_template_errors(spec, "ReplicaSet") + _strategy_errors(spec["strategy"])
    errors += _negative(spec, ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"))
    if spec["progressDeadlineSeconds"] <= spec.get("minReadySeconds", 0):
        told = "must be greater than minReadySeconds"
        errors.append(invalid_value("spec.progressDeadlineSeconds", spec["progressDeadlineSeconds"], told))
    return errors


def stateful_set_errors(workload: Obj) -> list[FieldError]:
    spec = workload["spec"]
    errors = []
    if spec["podManagementPolicy"] not in ("OrderedReady", "Parallel"):
        told = "must be 'OrderedReady' or 'Parallel'"
        errors.append(invalid_value("spec.podManagementPolicy", spec["podManagementPolicy"], told))
    errors += _negative(spec, ("replicas", "minReadySeconds")) + _selector_errors(spec, "statefulset")
    return errors + _endless_template_errors(_with_claims(spec), "StatefulSet")


def job_errors(workload: Obj) -> list[FieldError]:
    spec = workload["spec"]
    errors = _negative(spec, _COUNTS)
    mode = spec["completionMode"]
    if mode not in ("NonIndexed", "Indexed"):
        errors.append(unsupported("spec.completionMode", mode, ["NonIndexed", "Indexed"]))
    if mode == "Indexed" and "completions" not in spec:
        errors.append(required("spec.completions", "when completion mode is Indexed"))
    errors += _template_errors(spec)
    policy = spec["template"]["spec"]["restartPolicy"]
    if policy == "Always":
        errors.append(required("spec.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"'))
    if not spec.get("selector"):
        errors.append(required("spec.selector"))
    return errors


def unchanging(check: Check, *paths: str) -> Callable[[Obj, Obj], list[FieldError]]:
    """The check of an update: that of a new object, and these fields of its spec stay as they are."""

    def errors(new: Obj, old: Obj) -> list[FieldError]:
        found = check(new)
        for path in paths:
            if new["spec"].get(path) != old["spec"].get(path):
                found.append(invalid_value(f"spec.{path}", new["spec"].get(path), "field is immutable"))
        return found

    return errors


def job_update_errors(new: Obj, old: Obj) -> list[FieldError]:
    """A Job that is suspended and was never started may still be told where its pods go: queues do that."""
    fixed = ["selector", "completionMode"]
    if new["spec"]["completionMode"] != "Indexed":
        fixed.append("completions")
    movable = old["spec"].get("suspend") and "startTime" not in (old.get("status") or {})
    errors = unchanging(job_errors, *fixed)(new, old)
    if not movable and new["spec"]["template"] != old["spec"]["template"]:
        errors.append(invalid_value("spec.template", new["spec"]["template"], "field is immutable"))
    return errors


def stateful_set_update_errors(new: Obj, old: Obj) -> list[FieldError]:
    fixed = (new["spec"].keys() | old["spec"].keys()) - set(_STATEFUL_SET_MAY_CHANGE)
    errors = stateful_set_errors(new)
    if any(new["spec"].get(key) != old["spec"].get(key) for key in fixed):
        told = (
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
            "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
        )
        errors.append(forbidden_field("spec", told))
    return errors


def _negative(spec: Obj, fields: Sequence[str]) -> list[FieldError]:
    told = "must be greater than or equal to 0"
    return [invalid_value(f"spec.{key}", spec[key], told) for key in fields if spec.get(key, 0) < 0]


def _selector_errors(spec: Obj, kind: str) -> list[FieldError]:
    selector = spec.get("selector")
    if selector is None:
        return [required("spec.selector")]
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        return [invalid_value("spec.selector", selector, f"empty selector is invalid for {kind}")]
    labels = spec["template"]["metadata"].get("labels") or {}
    if not spec_selector(selector)(labels):
        return [invalid_value("spec.template.metadata.labels", labels or None, _UNSELECTED)]
    return []


def _endless_template_errors(spec: Obj, kind: str) -> list[FieldError]:
    """Of pods that are replaced when they end, which therefore have to restart by themselves."""
    errors, pod = _template_errors(spec), spec["template"]["spec"]
    if pod["restartPolicy"] in ("Never", "OnFailure"):
        errors.append(unsupported("spec.template.spec.restartPolicy", pod["restartPolicy"], ["Always"]))
    if "activeDeadlineSeconds" in pod:
        told = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(forbidden_field("spec.template.spec.activeDeadlineSeconds", told))
    return errors


def _template_errors(spec: Obj) -> list[FieldError]:
    template = spec["template"]
    found = labels_errors(template["metadata"].get("labels"), "metadata.labels")
    found += podvalidation.create_errors(template)
    return [error._replace(field=f"spec.template.{error.field}") for error in found]


def _with_claims(spec: Obj) -> Obj:
    """The spec with the volumes that its claims become in each pod: containers may mount them."""
    templates = spec.get("volumeClaimTemplates") or ()
    claims = [{"name": (claim.get("metadata") or {}).get("name", "")} for claim in templates]
    if not claims:
        return spec
    pod = spec["template"]["spec"]
    names = {claim["name"] for claim in claims}
    others = [volume for volume in pod.get("volumes") or () if volume.get("name") not in names]
    return {**spec, "template": {**spec["template"], "spec": {**pod, "volumes": [*claims, *others]}}}


def _strategy_errors(strategy: Obj) -> list[FieldError]:
    kind, rolling = strategy["type"], strategy.get("rollingUpdate")
    if kind not in ("Recreate", "RollingUpdate"):
        return [unsupported("spec.strategy", strategy, ["Recreate", "RollingUpdate"])]
    if kind == "Recreate" and rolling:
        told = "may not be specified when strategy `type` is 'Recreate'"
        return [forbidden_field("spec.strategy.rollingUpdate", told)]
    found = [
        invalid_value(f"spec.strategy.rollingUpdate.{key}", value, _PERCENT)
        for key, value in (rolling or {}).items()
        if isinstance(value, str) and not re.fullmatch("[0-9]+%", value)
    ]
    if found:
        return found
    if rolling and {str(rolling[key]) for key in ("maxSurge", "maxUnavailable")} <= {"0", "0%"}:
        told = "may not be 0 when `maxSurge` is 0"
        return [invalid_value("spec.strategy.rollingUpdate.maxUnavailable", rolling["maxUnavailable"], told)]
    return []
