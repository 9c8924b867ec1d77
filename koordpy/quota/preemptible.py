"""Whether work of a queue can be taken away: work that cannot never goes over quota."""

from __future__ import annotations

from collections.abc import Mapping

from koordpy.api.keys import DISABLE_PREEMPTIBLE, QUOTA_PREEMPTIBLE

_PRIORITY = 100  # from here on work is not preemptible, unless its PodGroup says otherwise


def is_preemptible(preemptibility: str, labels: Mapping[str, str], priority: int) -> bool:
    """What the PodGroup says, if anything; a pod's labels that protect it; else the priority.

    `priority` is that of the class that a PodGroup of scheduling.run.ai names, else the pod's own.
    """
    if preemptibility == "non-preemptible":
        return False
    if labels.get(DISABLE_PREEMPTIBLE) == "true" or labels.get(QUOTA_PREEMPTIBLE) == "false":
        return False
    return preemptibility == "preemptible" or priority < _PRIORITY
