"""The rig of the wake-up tests with PodGroups beside it, and gangs in few words.

`rig.gang("a", 3)` is a PodGroup of at least three, `rig.member("a-1", "a")` a pod of one CPU that belongs to it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from koordpy.api.pod import Pod
from koordpy.api.podgroup.coscheduling import GROUPS, SIGS_GROUP, VERSION, PodGroup
from koordpy.plan.framework.profiles import default_profile
from koordpy.scheduler.settings import GangSettings
from tests.builders import Json, pod_json, typed, with_identity
from tests.scheduler.wakeups.rig import SCHEDULER, Rig, uid

KOORDINATOR = "gang.scheduling.koordinator.sh"
POD_GROUP_LABEL = "pod-group.scheduling.sigs.k8s.io"
X_LABEL = "scheduling.x-k8s.io/pod-group"
TIMED_OUT = f"{KOORDINATOR}/timeout"
_PROFILE = replace(default_profile(SCHEDULER), preempts=False)


def pod_group_sinks(rig: Rig) -> dict[str, Any]:
    """Of both API groups of the coscheduling kind, by group."""
    return {group: rig.built.sinks.gang_objects[f"{group}/{VERSION}"] for group in GROUPS}


class GangRig(Rig):
    """A rig that is told about PodGroups of both API groups. Nobody is preempted here."""

    def __init__(self, *, on_timeout: str = "Abandon", max_gap_percent: int = 100, **given: Any) -> None:
        gangs = GangSettings(on_timeout=on_timeout, max_gap_percent=max_gap_percent, preemption=False)
        super().__init__(_PROFILE, gangs=gangs, **given)
        self.pod_groups = pod_group_sinks(self)

    # --- what the watches say ---

    def gang(self, name: str, minimum: int | None = None, *, api: str = SIGS_GROUP, **given: Any) -> None:
        """A PodGroup appeared or changed; `given` as for `pod_group_json`."""
        obj = with_identity(pod_group_json(name, minimum, **given))
        self.pod_groups[api].upsert(typed(obj, PodGroup))

    def no_gang(self, name: str, *, api: str = SIGS_GROUP) -> None:
        self.pod_groups[api].remove(f"default/{name}", "")

    def busy_node(self) -> None:
        """A node that somebody else fills: gangs may hope for it, and wait."""
        self.node("busy", cpu=16)
        self.member("filler", on="busy", cpu=16, scheduler="other")

    def member(
        self, name: str, gang: str = "", *, label: str = POD_GROUP_LABEL, on: str = "", says: Json | None = None,
        **given: Any,
    ) -> None:  # fmt: skip
        """A pod of one CPU; of a PodGroup, or of whatever gang it says in its annotations."""
        self.pods.upsert(typed(member_json(name, gang, label=label, on=on, says=says, **given), Pod))

    def members(self, gang: str, count: int, **given: Any) -> None:
        for number in range(1, count + 1):
            self.member(f"{gang}-{number}", gang, **given)

    # --- what became of it ---

    def nodes_of(self, gang: str) -> list[str]:
        """Where its members are, assumed or bound, in the order of their names."""
        pods = sorted(self.cluster.pods.values(), key=lambda pod: pod.name)
        return [pod.node for pod in pods if pod.gang == f"default/{gang}" and pod.node]

    def message(self, name: str) -> str:
        """What the pod was told last."""
        return self.throttle._said.get(uid(name), "")


def saying(
    gang: str | None = None, minimum: int | str | None = None, *, mode: str | None = None,
    groups: list[str] | None = None, wait: str | None = None, policy: str | None = None,
) -> dict[str, str]:  # fmt: skip
    """The annotations of a member, or of a PodGroup; gangs of a group by their names in `default`."""
    said = {
        "name": gang,
        "min-available": minimum,
        "mode": mode,
        "groups": json.dumps([f"default/{each}" for each in groups]) if groups is not None else None,
        "waiting-time": wait,
        "match-policy": policy,
    }
    return {f"{KOORDINATOR}/{key}": str(value) for key, value in said.items() if value is not None}


def pod_group_json(
    name: str, minimum: int | None, *, says: Json | None = None, wait_s: int | None = None, **resources: str
) -> Json:
    """Further arguments are `minResources`."""
    spec = {"minMember": minimum, "scheduleTimeoutSeconds": wait_s, "minResources": resources or None}
    return {
        "metadata": {"name": name, "namespace": "default", "annotations": says or {}},
        "spec": {field: value for field, value in spec.items() if value is not None},
    }


def member_json(
    name: str, gang: str = "", *, label: str = POD_GROUP_LABEL, on: str = "", says: Json | None = None,
    gated: bool = False, phase: str = "", created: str = "", **given: Any,
) -> Json:  # fmt: skip
    obj = pod_json(name, **{"cpu": 1, "node": on, "labels": {label: gang} if gang else None} | given)
    obj["metadata"] |= {"uid": uid(name), "annotations": says or {}}
    obj = with_identity(obj)
    if created:
        obj["metadata"]["creationTimestamp"] = created
    if gated:
        obj["spec"]["schedulingGates"] = [{"name": "g"}]
    if phase:
        obj["status"] = {"phase": phase}
    return obj
