"""Knative Service: the pods of one Revision, as many as `autoscaling.knative.dev/min-scale` keeps.

Pods are those of a Deployment that the Revision owns; Configuration and Service are above it. A value that is no number
is taken for 1, as Knative's own webhook refuses it.
"""

from __future__ import annotations

from collections.abc import Sequence

from koordpy.api.errors import MalformedValue
from koordpy.api.grouping import INFERENCE, Gang, Workload
from koordpy.api.paths import count_in

MIN_SCALE = "autoscaling.knative.dev/min-scale"


def revision(workload: Workload) -> Sequence[Gang]:
    try:
        minimum = count_in(workload.owner.metadata.annotations, MIN_SCALE)
    except MalformedValue:
        minimum = 1
    return [Gang(workload.pods, minimum=max(1, minimum or 1), priority=INFERENCE)]
