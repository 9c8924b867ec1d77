"""What the observer thinks of an eviction: allowed is what section 7 of the contract allows, and nothing else.

Read from the victim alone, as an owner would: its condition must say for whom it leaves, and that must be a pending
pod that may preempt, of a strictly higher priority. Protected pods never leave.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.scenarios.mirror import Mirror
from tests.scenarios.objects import condition, is_finished, node_of

Json = dict[str, Any]

_MESSAGE = re.compile(
    r"(?P<scheduler>\S+): preempting to accommodate higher priority pods, "
    r"preemptor: (?P<job>\S+), triggerpod: (?P<namespace>[^/]+)/(?P<name>\S+)"
)
_PROTECTING = {
    "scheduling.koordinator.sh/disable-preemptible": "true",
    "quota.scheduling.koordinator.sh/preemptible": "false",
}


class Evictions:
    """Keeps who was evicted, in the order in which it was seen."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._triggers: dict[tuple[str, str], Json] = {}  # pods that could preempt, as they were while pending
        self.by_right = False  # queues reclaim, and reservations evict who is overdue, whatever the priority
        self.seen: dict[str, Json] = {}  # by UID: victims, as they were when their deletion was first seen
        mirror.listeners.insert(0, self._remember)

    @property
    def names(self) -> list[str]:
        return [pod["metadata"]["name"] for pod in self.seen.values()]

    def judge(self, pod: Json) -> Iterator[str]:
        """A pod goes that the story did not delete."""
        meta = pod["metadata"]
        if meta["uid"] in self.seen:
            return
        self.seen[meta["uid"]] = pod
        name = f"{meta['namespace']}/{meta['name']}"
        why = condition(pod, "DisruptionTarget")
        told = _MESSAGE.fullmatch(why.get("message", ""))
        if not told or why["status"] != "True" or why["reason"] != "PreemptionByScheduler":
            yield f"{name} was deleted, and not by the story"
            return
        if not node_of(pod) or is_finished(pod):
            yield f"{name} was evicted, and does not run"
        for key, value in _PROTECTING.items():
            if (meta.get("labels") or {}).get(key) == value:
                yield f"{name} was evicted, and {key} protects it"
        yield from self._judge_trigger(name, pod, told)

    def _judge_trigger(self, name: str, victim: Json, told: re.Match[str]) -> Iterator[str]:
        trigger = self._triggers.get((told["namespace"], told["name"]))
        if trigger is None:
            yield f"{name} was evicted for {told['name']}, which was not pending"
            return
        spec = trigger["spec"]
        if spec.get("preemptionPolicy") == "Never":
            yield f"{name} was evicted for {told['name']}, which must not preempt"
        if spec.get("priority", 0) <= victim["spec"].get("priority", 0) and not self.by_right:
            yield f"{name} was evicted for {told['name']}, which has no higher priority"
        if spec["schedulerName"] != told["scheduler"]:
            yield f"{name} was evicted by {told['scheduler']} for a pod of {spec['schedulerName']}"

    def _remember(self, _kind: str, pod: Json) -> None:
        meta = pod["metadata"]
        if not node_of(pod):
            self._triggers[meta["namespace"], meta["name"]] = pod
