"""Kinds of others: by configuration, as paths to their numbers, and by the entry points of other packages.

A kind that stands in the configuration goes before one of an entry point, and both before koordpy's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points

from koordpy.api.errors import MalformedValue
from koordpy.api.grouping import Gang, Owner, SubGroup, Workload, WorkloadPod
from koordpy.api.paths import count_at
from koordpy.controllers.grouping.kinds.minimum import check_minimum
from koordpy.controllers.grouping.kinds.table import Kind
from koordpy.plugin import WorkloadGrouper

ENTRY_POINTS = "koordpy.groupers"


@dataclass(frozen=True, slots=True)
class Part:
    """Some pods of a workload: how many there are, how many of them have to start, and their labels."""

    name: str = ""
    replicas: str = ""  # a path, or a number
    minimum: str = ""  # the same; empty: all replicas
    labels: Mapping[str, str] = field(default_factory=dict)


def configured_kind(group: str, kind: str, whole: Part, parts: Sequence[Part] = ()) -> Kind:
    """A kind by paths. With parts the gang needs what they need together, unless `whole` says otherwise."""

    def gangs(workload: Workload) -> Sequence[Gang]:
        owner = workload.owner
        subgroups = tuple(SubGroup(part.name, _minimum(owner, part)) for part in parts)
        if whole.replicas or whole.minimum:
            minimum = _minimum(owner, whole)
        else:
            minimum = sum(subgroup.minimum or 0 for subgroup in subgroups)
        placed = {pod.uid: _part_of(pod, parts) for pod in workload.pods}
        return [Gang(workload.pods, minimum=minimum, subgroups=subgroups, subgroup_of=placed)]

    return Kind(group, kind, gangs, reads_body=True)


def offered_kinds() -> tuple[Kind, ...]:
    """The kinds of other installed packages; raises MalformedValue for one that cannot be used."""
    return tuple(_loaded(point) for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda each: each.name))


def _loaded(point: EntryPoint) -> Kind:
    try:
        found = point.load()
    except Exception as error:
        raise MalformedValue("entry point", point.name, f"of {ENTRY_POINTS} cannot be loaded: {error}") from error
    grouper = found() if isinstance(found, type) else found
    if not isinstance(grouper, WorkloadGrouper):
        problem = f"of {ENTRY_POINTS} has no group, kind and gangs: see WorkloadGrouper in koordpy.plugin"
        raise MalformedValue("entry point", point.name, problem)
    return Kind(grouper.group, grouper.kind, grouper.gangs, reads_body=True)


def _minimum(owner: Owner, part: Part) -> int:
    replicas, minimum = _number(owner, part.replicas), _number(owner, part.minimum)
    if minimum is not None and replicas is not None:
        check_minimum(part.minimum, minimum, replicas)
    found = replicas if minimum is None else minimum
    if found is None:
        place = part.replicas or part.minimum
        raise MalformedValue(place, None, "is missing: how many pods there will be is not known")
    return found


def _number(owner: Owner, path: str) -> int | None:
    if path.isdigit():
        return int(path)
    return count_at(owner.body, path) if path else None


def _part_of(pod: WorkloadPod, parts: Sequence[Part]) -> str:
    return next((part.name for part in parts if part.labels.items() <= pod.labels.items()), "")
