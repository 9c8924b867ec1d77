"""When a Job has ended, and how it says so: counts, indexes, conditions. It makes statuses and writes none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from koordpy.sim.embedded.workloads.control import Control

Obj = dict[str, Any]


class Outcome(NamedTuple):
    """How a Job ends: first the intent, in the interim condition, and when its pods are gone the end itself."""

    success: bool
    reason: str
    message: str

    @property
    def interim(self) -> str:
        return "SuccessCriteriaMet" if self.success else "FailureTarget"

    @property
    def final(self) -> str:
        return "Complete" if self.success else "Failed"

    @property
    def event(self) -> tuple[str, str]:
        return ("Completed", "Job completed") if self.success else (self.reason, self.message)


SUCCESS = Outcome(success=True, reason="CompletionsReached", message="Reached expected number of succeeded pods")
_TOO_OFTEN = Outcome(
    success=False, reason="BackoffLimitExceeded", message="Job has reached the specified backoff limit"
)
_TOO_LONG = Outcome(success=False, reason="DeadlineExceeded", message="Job was active longer than specified deadline")


def _condition(status: Obj, kind: str) -> Obj | None:
    for condition in status.get("conditions") or ():
        if condition["type"] == kind and condition["status"] == "True":
            return dict(condition)
    return None


def ended_at(job: Obj) -> str | None:
    status = job.get("status") or {}
    ended = _condition(status, "Complete") or _condition(status, "Failed")
    return ended["lastTransitionTime"] if ended else None


def outcome_so_far(control: Control, job: Obj, status: Obj, broken: str) -> Outcome | None:
    """The end that was decided before, or a failure now; `broken` is what the Job's policy says of its failed pods."""
    for success, kind in ((True, "SuccessCriteriaMet"), (False, "FailureTarget")):
        decided = _condition(status, kind)
        if decided:
            return Outcome(success, decided["reason"], decided["message"])
    if broken:
        return Outcome(success=False, reason="PodFailurePolicy", message=broken)
    if (status.get("failed") or 0) > job["spec"]["backoffLimit"]:
        return _TOO_OFTEN
    left = time_left(control, job, status)
    return _TOO_LONG if left is not None and left <= 0 else None


def time_left(control: Control, job: Obj, status: Obj) -> float | None:
    """Seconds until the Job's deadline."""
    deadline = job["spec"].get("activeDeadlineSeconds")
    if deadline is None or "startTime" not in status or job["spec"].get("suspend"):
        return None
    return float(deadline - control.since(status["startTime"]))


def is_complete(job: Obj, status: Obj, active: int) -> bool:
    """Without a number of completions the first success decides, once the other pods have ended."""
    succeeded = status.get("succeeded") or 0
    completions = job["spec"].get("completions")
    return active == 0 and (succeeded > 0 if completions is None else succeeded >= completions)


def wanted_active(job: Obj, status: Obj, active: int) -> int:
    succeeded, parallelism = status.get("succeeded") or 0, int(job["spec"]["parallelism"])
    completions = job["spec"].get("completions")
    if completions is None:
        return active if succeeded else parallelism
    return max(0, min(int(completions) - succeeded, parallelism))


def conclude(control: Control, status: Obj, outcome: Outcome) -> bool:
    """Put the outcome into the conditions; returns whether the Job has ended with it."""
    said = {"reason": outcome.reason, "message": outcome.message}
    _set(control, status, {"type": outcome.interim, "status": "True", **said})
    if status.get("active") or status.get("terminating"):
        return False
    _set(control, status, {"type": outcome.final, "status": "True", **said})
    if outcome.success:
        status["completionTime"] = control.now
    return True


def note_suspension(control: Control, status: Obj, *, suspended: bool) -> bool:
    """Say that the Job is suspended, or is so no longer; returns whether that is new."""
    if suspended:
        said = {"status": "True", "reason": "JobSuspended", "message": "Job suspended"}
    elif _condition(status, "Suspended"):
        said = {"status": "False", "reason": "JobResumed", "message": "Job resumed"}
    else:
        return False
    return _set(control, status, {"type": "Suspended", **said})


def _set(control: Control, status: Obj, said: Obj) -> bool:
    """Set a condition; returns False if it is there already, with this status."""
    conditions = status.get("conditions") or []
    if any(condition["type"] == said["type"] and condition["status"] == said["status"] for condition in conditions):
        return False
    others = [condition for condition in conditions if condition["type"] != said["type"]]
    times = {"lastProbeTime": control.now, "lastTransitionTime": control.now}
    status["conditions"] = [*others, said | times]
    return True


def read_indexes(text: str) -> set[int]:
    """`0-2,5` is 0, 1, 2 and 5."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def write_indexes(indexes: set[int]) -> str:
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    parts = (
        str(first) if first == last else f"{first}{',' if last == first + 1 else '-'}{last}" for first, last in runs
    )
    return ",".join(parts)
