"""`koordpy.podGrouper` of the configuration: whether workloads are grouped, and kinds of others by paths."""

from __future__ import annotations

import re

from koordpy.api.errors import MalformedValue
from koordpy.api.strict import Mistakes
from koordpy.app.configschema import GrouperPart, PartPart, PodGrouperPart
from koordpy.controllers.grouping.configured import Part, configured_kind, offered_kinds
from koordpy.controllers.grouping.kinds.table import Kind
from koordpy.controllers.grouping.settings import GroupingSettings

_PATH = re.compile(r"(spec|status)(\.[A-Za-z0-9_-]+)+|[0-9]{1,9}")


def kinds_of_others(settings: GroupingSettings) -> tuple[Kind, ...]:
    """What is configured goes before what other packages offer; raises MalformedValue for what cannot be used."""
    return (*offered_kinds(), *settings.kinds)


def read_grouping(file: PodGrouperPart, mistakes: Mistakes) -> GroupingSettings:
    """The settings; every mistake is collected."""
    kinds = [_kind(f"koordpy.podGrouper.groupers[{i}]", part, mistakes) for i, part in enumerate(file.groupers)]
    names = [f"{part.kind}.{part.group}" for part in file.groupers]
    for i, name in enumerate(names):
        if name in names[:i]:
            mistakes.add(str(MalformedValue(f"koordpy.podGrouper.groupers[{i}]", name, "stands there twice")))
    return GroupingSettings(file.enabled, tuple(kinds))


def _kind(place: str, part: GrouperPart, mistakes: Mistakes) -> Kind:
    if not part.kind:
        mistakes.add(str(MalformedValue(f"{place}.kind", part.kind, "is empty")))
    if part.replicas is None and part.minimum is None and not part.sub_groups:
        problem = "has neither replicas nor minimum nor subGroups"
        mistakes.add(str(MalformedValue(place, part.kind, problem)))
    whole = Part(
        replicas=_path(f"{place}.replicas", part.replicas, mistakes),
        minimum=_path(f"{place}.minimum", part.minimum, mistakes),
    )
    parts = [_part(f"{place}.subGroups[{i}]", each, mistakes) for i, each in enumerate(part.sub_groups)]
    return configured_kind(part.group, part.kind, whole, parts)


def _part(place: str, part: PartPart, mistakes: Mistakes) -> Part:
    for field, value in (("name", part.name), ("labels", part.labels)):
        if not value:
            mistakes.add(str(MalformedValue(f"{place}.{field}", value, "is empty")))
    return Part(
        part.name,
        _path(f"{place}.replicas", part.replicas, mistakes),
        _path(f"{place}.minimum", part.minimum, mistakes),
        part.labels,
    )


def _path(place: str, value: str | int | None, mistakes: Mistakes) -> str:
    text = "" if value is None else str(value)
    if value is not None and not _PATH.fullmatch(text):
        mistakes.add(str(MalformedValue(place, text, "is neither a path such as spec.workers nor a number")))
    return text
