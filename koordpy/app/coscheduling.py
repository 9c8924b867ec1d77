"""`CoschedulingArgs`: how gangs are treated, in the words of Koordinator, of the coscheduling plugin, and ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from koordpy.api.errors import MalformedValue
from koordpy.api.gangs import DisruptionMode, MatchPolicy
from koordpy.api.strict import Duration, Mistakes, Strict, read_strictly
from koordpy.api.times import seconds_of_duration
from koordpy.scheduler.settings import GangSettings
from koordpy.state.gangs.spec import GangDefaults

PLUGIN = "Coscheduling"
# Legal there, without meaning here: planning a whole gang at once needs no such help.
WITHOUT_MEANING = ("controllerWorkers", "skipCheckScheduleCycle", "podGroupBackoffSeconds")

_Percent = Annotated[int, msgspec.Meta(ge=0, le=100)]


class _Coscheduling(Strict):
    api_version: Literal["kubescheduler.config.k8s.io/v1"] = "kubescheduler.config.k8s.io/v1"
    kind: Literal["CoschedulingArgs"] = "CoschedulingArgs"
    default_timeout: Duration | None = None
    default_match_policy: MatchPolicy = "once-satisfied"
    enable_preemption: bool = True
    aware_network_topology: bool = True
    on_timeout: Literal["Abandon", "Retry"] = "Abandon"
    non_strict_max_gap_percent: _Percent | None = None
    default_disruption_mode: DisruptionMode = "Minimum"
    staleness_grace_period: Duration | None = None
    permit_waiting_time_seconds: Annotated[int, msgspec.Meta(gt=0)] | None = None  # the plugin's name of defaultTimeout
    pod_group_reject_percentage: _Percent | None = None  # and of nonStrictMaxGapPercent
    controller_workers: int | None = None
    skip_check_schedule_cycle: bool | None = None
    pod_group_backoff_seconds: int | None = None


def read_coscheduling(args: Mapping[str, Any]) -> tuple[GangDefaults, GangSettings]:
    """Raises Misread, naming every field that is wrong and its value."""
    asked = read_strictly(args, _Coscheduling)
    mistakes = Mistakes()
    for ours, theirs in (
        ("defaultTimeout", "permitWaitingTimeSeconds"),
        ("nonStrictMaxGapPercent", "podGroupRejectPercentage"),
    ):
        if ours in args and theirs in args:
            mistakes.add(str(MalformedValue(theirs, args[theirs], f"says the same as {ours}; leave one of them out")))
    wait_s, grace_s = GangDefaults().wait_s, 0.0
    with mistakes.collected():
        wait_s = _wait_s(asked)
    with mistakes.collected():
        grace_s = _duration_s("stalenessGracePeriod", asked.staleness_grace_period or "0")
    mistakes.raise_any()
    defaults = GangDefaults(wait_s, asked.default_match_policy, asked.default_disruption_mode, grace_s)
    gap = asked.non_strict_max_gap_percent
    if gap is None:
        gap = asked.pod_group_reject_percentage
    return defaults, GangSettings(
        on_timeout=asked.on_timeout,
        max_gap_percent=100 if gap is None else gap,
        preemption=asked.enable_preemption,
        topology=asked.aware_network_topology,
    )


def _wait_s(asked: _Coscheduling) -> float:
    if asked.permit_waiting_time_seconds is not None:
        return float(asked.permit_waiting_time_seconds)
    if asked.default_timeout is None:
        return GangDefaults().wait_s
    seconds = _duration_s("defaultTimeout", asked.default_timeout)
    if seconds <= 0:
        raise MalformedValue("defaultTimeout", asked.default_timeout, "is not positive")
    return seconds


def _duration_s(field: str, text: str) -> float:
    try:
        return seconds_of_duration(text)
    except MalformedValue as error:
        raise MalformedValue(field, text, error.problem) from None
