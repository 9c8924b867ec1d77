"""Segments: workers in runs of `kai.scheduler/segment-size`, each with a topology of its own.

Segments that the gang's minimum needs are mandatory and whole; those beyond it have a minimum of 0 and come when they
can.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from koordpy.api.errors import MalformedValue
from koordpy.api.grouping import SubGroup, Topology
from koordpy.api.keys import (
    SEGMENT_PREFERRED,
    SEGMENT_REQUIRED,
    SEGMENT_SIZE,
    TOPOLOGY,
    TOPOLOGY_PREFERRED,
    TOPOLOGY_REQUIRED,
)
from koordpy.api.paths import count_in, value_at

MOST_SUBGROUPS = 10_000  # a PodGroup with more would not fit into etcd


def segment_size(annotations: Mapping[str, str], workers: int) -> int | None:
    """How many workers make up a segment; None: there are no segments."""
    size = count_in(annotations, SEGMENT_SIZE)
    if size is None:
        return None
    check_segment_size(SEGMENT_SIZE, size, workers)
    return size


def check_segment_size(field: str, size: int, workers: int) -> None:
    if not 1 < size <= workers:
        raise MalformedValue(field, size, f"must be more than 1 and at most the {workers} pods that there are")
    if workers > size * MOST_SUBGROUPS:
        raise MalformedValue(field, size, f"would make more than {MOST_SUBGROUPS} segments")


def segments(parent: str, sizes: Iterable[int], needed: int, topology: Topology) -> list[SubGroup]:
    """`<parent>-0`, `<parent>-1`, ... of these sizes; those that begin after `needed` workers are elastic."""
    made: list[SubGroup] = []
    before = 0
    for number, size in enumerate(sizes):
        minimum = min(size, max(needed - before, 0))
        made.append(SubGroup(f"{parent}-{number}", minimum, parent=parent, topology=topology))
        before += size
    return made


def cut(workers: int, size: int) -> list[int]:
    """The sizes of segments; the last one may be smaller."""
    return [min(size, workers - start) for start in range(0, workers, size)]


def template_annotations(template: Any) -> dict[str, str]:
    """The annotations of a pod template that are texts."""
    found = value_at(template, "metadata.annotations")
    if not isinstance(found, Mapping):
        return {}
    return {key: value for key, value in found.items() if isinstance(value, str)}


def segment_topology(annotations: Mapping[str, str]) -> Topology:
    return _topology(annotations, SEGMENT_REQUIRED, SEGMENT_PREFERRED)


def own_topology(annotations: Mapping[str, str]) -> Topology:
    """What the annotations of an owner, or of a template, say about the place of all its pods."""
    return _topology(annotations, TOPOLOGY_REQUIRED, TOPOLOGY_PREFERRED)


def _topology(annotations: Mapping[str, str], required: str, preferred: str) -> Topology:
    levels = annotations.get(required, ""), annotations.get(preferred, "")
    return Topology(annotations.get(TOPOLOGY, ""), *levels) if any(levels) else Topology()
