"""What Kubernetes asks of the pods of one of its own PodGroups: to agree in scheduler, priority and preemption policy.

A group that does not agree is refused as a whole, as kube-scheduler does, and nearly in its words.
"""

from __future__ import annotations

from koordpy.api.podgroup.frontends import NATIVE
from koordpy.state.gangs.gang import Gang

_ALL = "all pods in a single pod group should have the same"


def disagreement(gang: Gang) -> str:
    """What the pods of a PodGroup of Kubernetes itself do not agree in; "" if they do, or for any other gang."""
    if gang.front_end is not NATIVE:
        return ""
    schedulers = sorted({member.scheduler for member in gang.all_live()})
    if len(schedulers) > 1:
        return f'{_ALL} .spec.schedulerName set, got: "{schedulers[0]}" and "{schedulers[1]}"'
    waiting = [*gang.pending.values(), *gang.assumed.values()]
    # Admission gives each PodGroup a priority, unless its API server has no such field yet: then nothing is compared.
    wanted = gang.spec.priority
    other = next((member.priority for member in waiting if member.priority != wanted), None)
    if wanted is not None and other is not None:
        return f"{_ALL} priority as the pod group's priority, got {other} and {wanted}"
    if len({member.preempts for member in waiting}) > 1:
        return f"{_ALL} .spec.preemptionPolicy set"
    return ""
