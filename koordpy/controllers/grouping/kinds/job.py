"""Job: its pods start one by one, unless `kai.scheduler/batch-min-member` says how many start together.

`parallelism` is no gang size: of 5 completions with a parallelism of 4 the fifth pod comes alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from koordpy.api.errors import MalformedValue
from koordpy.api.grouping import Gang, Workload
from koordpy.api.keys import BATCH_MIN_MEMBER
from koordpy.api.paths import count_in


def job(workload: Workload) -> Sequence[Gang]:
    minimum = batch_minimum(workload.owner.metadata.annotations)
    return [Gang(workload.pods, minimum=1 if minimum is None else minimum)]


def batch_minimum(annotations: Mapping[str, str]) -> int | None:
    """The minimum of the annotation; at least 1."""
    minimum = count_in(annotations, BATCH_MIN_MEMBER)
    if minimum == 0:
        raise MalformedValue(BATCH_MIN_MEMBER, "0", "is less than 1")
    return minimum
