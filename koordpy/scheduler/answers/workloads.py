"""The pods that a workload has now, as far as the scheduler knows whose they are: it reads no owners.

A pod names its nearest owner. The pods of a Deployment name a ReplicaSet, which is called after it; other controllers
label their pods; and whatever the grouper has grouped is named by its PodGroup. A workload is known by kind and name:
of its UID only the grouper knows. The runs of a CronJob are Jobs of their own, and go on as they began.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from koordpy.scheduler.answers.bodies import SentWorkload
from koordpy.scheduler.grouper import LABELLED
from koordpy.state.cluster import Cluster
from koordpy.state.pods import PodRecord

_KNATIVE = "serving.knative.dev"
_LABELS = {each.kind: each.name for each in LABELLED} | {
    kind: f"{_KNATIVE}/{kind.lower()}" for kind in ("Service", "Configuration", "Revision")
}  # with the name of the workload, by its kind
_HASH = "pod-template-hash"


def pods_of(workloads: Collection[SentWorkload], cluster: Cluster) -> list[PodRecord]:
    """Everybody who is there, wherever it stands."""
    wanted = set(workloads)
    if not wanted:
        return []
    grouped = set(_gangs_of(wanted, cluster))
    return [
        record
        for record in cluster.pods.values()
        if record.gang in grouped or any(each in wanted for each in _named_by(record))
    ]


def _gangs_of(wanted: Collection[SentWorkload], cluster: Cluster) -> Iterator[str]:
    for gang in cluster.gangs:
        obj = gang.object
        if obj is not None and SentWorkload(obj.workload_kind, obj.namespace, obj.workload) in wanted:
            yield gang.id


def _named_by(record: PodRecord) -> Iterator[SentWorkload]:
    """The workloads that the pod itself names."""
    namespace, labels = record.namespace, record.labels
    if record.owner is not None:
        kind, name = record.owner
        yield SentWorkload(kind, namespace, name)
        if kind == "ReplicaSet" and (short := labels.get(_HASH)):
            yield SentWorkload("Deployment", namespace, name.removesuffix(f"-{short}"))
    for kind, key in _LABELS.items():
        if labelled := labels.get(key):
            yield SentWorkload(kind, namespace, labelled)
