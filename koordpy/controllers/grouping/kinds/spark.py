"""Spark on Kubernetes: the driver, a pod that nobody owns, and executors, which the driver owns.

Spark labels all pods of an application with `spark-app-selector`, which is its id; the PodGroup is named after it. The
driver asks for executors as it goes, so that any pod may start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from koordpy.api.grouping import Gang, Workload

_NAME, _SELECTOR = "spark-app-name", "spark-app-selector"


def is_spark(labels: Mapping[str, str]) -> bool:
    return bool(labels.get(_NAME) and labels.get(_SELECTOR))


def spark(workload: Workload) -> Sequence[Gang]:
    return [Gang(workload.pods, name=workload.owner.metadata.labels[_SELECTOR])]
