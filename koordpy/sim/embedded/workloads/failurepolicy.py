"""What a failed pod means for its Job: `podFailurePolicy` and `podReplacementPolicy`.

It reads and decides; `job.py` counts. A rule with `FailIndex` counts the failure and no more: limits per index are not
acted on here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from koordpy.sim.embedded.workloads.pods import is_going, phase

Obj = dict[str, Any]


class Meaning(NamedTuple):
    """Of one failed pod."""

    counts: bool = True  # towards the backoff limit
    fails_job: str = ""  # why the Job fails with it


def has_failed(job: Obj, pod: Obj) -> bool:
    """A deleted pod has failed at once, unless its Job waits for its end: that end shows what the policy asks for.

    One that is on no node has no end to wait for.
    """
    if phase(pod) in ("Succeeded", "Failed"):
        return phase(pod) == "Failed"
    return is_going(pod) and not (waits_for_the_end(job) and pod["spec"].get("nodeName"))


def waits_for_the_end(job: Obj) -> bool:
    """Whether a pod is replaced only when its containers have ended."""
    return bool(job["spec"]["podReplacementPolicy"] == "Failed")


def meaning(job: Obj, pod: Obj) -> Meaning:
    """By the first rule that matches; a failure that no rule matches counts."""
    rules = (job["spec"].get("podFailurePolicy") or {}).get("rules") or ()
    for index, rule in enumerate(rules):
        matched = _matched(pod, rule)
        if not matched:
            continue
        if rule["action"] == "FailJob":
            return Meaning(fails_job=f"{matched} matching FailJob rule at index {index}")
        return Meaning(counts=rule["action"] != "Ignore")
    return Meaning()


def why_the_job_fails(job: Obj, pods: list[Obj]) -> str:
    """Empty if no failed pod says so."""
    found = (meaning(job, pod).fails_job for pod in pods if has_failed(job, pod))
    return next(filter(None, found), "")


def _matched(pod: Obj, rule: Obj) -> str:
    """What of the pod the rule matches, in the words of the Job controller; empty if nothing."""
    name, status = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}", pod["status"]
    wanted = rule.get("onExitCodes")
    if wanted:
        for container in (*status.get("containerStatuses", ()), *status.get("initContainerStatuses", ())):
            code = (container["state"].get("terminated") or {}).get("exitCode", 0)
            if code and _is_meant(container["name"], code, wanted):
                return f"Container {container['name']} for pod {name} failed with exit code {code}"
        return ""
    patterns = {(pattern["type"], pattern.get("status", "True")) for pattern in rule.get("onPodConditions") or ()}
    for condition in status.get("conditions") or ():
        if (condition["type"], condition["status"]) in patterns:
            return f"Pod {name} has condition {condition['type']}"
    return ""


def _is_meant(container: str, code: int, wanted: Obj) -> bool:
    if wanted.get("containerName") not in (None, container):
        return False
    return bool((code in wanted["values"]) == (wanted["operator"] == "In"))
