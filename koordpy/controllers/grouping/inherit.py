"""What a PodGroup inherits: queue, priority class, preemptibility, topology, and what its owner declares for gangs.

Owners are asked before pods, and of pods the oldest. Only a priority class that exists is taken, from whatever source:
a PodGroup that names another would be refused, or ordered as if it had none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from koordpy.api.grouping import Gang, Owner, Topology, WorkloadPod
from koordpy.api.keys import PREEMPTIBILITY, PRIORITY_CLASS_NAME, QUEUE
from koordpy.controllers.grouping.kinds.segments import own_topology

_PREEMPTIBILITIES = ("preemptible", "non-preemptible")
# Annotations of the owner about its gang count as if they were on the PodGroup, where the scheduler looks for them.
_DECLARATIONS = ("gang.scheduling.koordinator.sh/", "koordpy.io/")


def queue_of(owners: Sequence[Owner], pods: Iterable[WorkloadPod]) -> str:
    """The queue that the workload names; empty: it names none. `owners` begin with the one that is grouped by."""
    return next(_labels(QUEUE, owners, pods), "")


def priority_class_of(gang: Gang, owners: Sequence[Owner], classes: Collection[str]) -> str:
    """The first class that exists; empty if none does. `owners` are nearest first."""
    named = [owner.metadata.labels.get(gang.priority_label, "") for owner in owners] if gang.priority_label else []
    named += _labels(PRIORITY_CLASS_NAME, owners, gang.pods[:1])
    named += [pod.priority_class for pod in gang.pods[:1]]
    named.append(gang.priority)
    return next((name for name in named if name in classes), "")


def preemptibility_of(owners: Sequence[Owner], pods: Iterable[WorkloadPod]) -> str:
    """`preemptible`, `non-preemptible`, or empty: by its priority."""
    return next((value for value in _labels(PREEMPTIBILITY, owners, pods) if value in _PREEMPTIBILITIES), "")


def topology_of(owners: Sequence[Owner]) -> Topology:
    return next((found for owner in owners if any(found := own_topology(owner.metadata.annotations))), Topology())


def declarations_of(owner: Owner) -> dict[str, str]:
    """Annotations that the PodGroup gets from its owner."""
    return {key: value for key, value in owner.metadata.annotations.items() if key.startswith(_DECLARATIONS)}


def _labels(key: str, owners: Iterable[Owner], pods: Iterable[WorkloadPod]) -> Iterator[str]:
    for meta in (*(owner.metadata for owner in owners), *(pod.meta for pod in pods)):
        if value := meta.labels.get(key):
            yield value
