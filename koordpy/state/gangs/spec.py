"""How a gang is configured: whose word counts, field by field.

A member pod's annotation wins over the annotation of the gang's object, that over the object's `spec`, and that over
the configuration of the scheduler. Among members that live, the oldest that declares something usable counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from koordpy.api import keys
from koordpy.api.errors import MalformedValue
from koordpy.api.gangs import (
    DECLARES_NOTHING,
    Complaint,
    DisruptionMode,
    GangDeclaration,
    MatchPolicy,
    Mode,
    describe,
)
from koordpy.api.podgroup.frontends import COSCHEDULING, FrontEnd
from koordpy.api.podgroup.gangobject import GangObject
from koordpy.state.gangs.subgroups import SubGroups
from koordpy.state.nodes.resources import amount


class GangDefaults(NamedTuple):
    """What holds for gangs that do not say."""

    wait_s: float = 600.0  # Koordinator's
    match_policy: MatchPolicy = "once-satisfied"
    disruption: DisruptionMode = "Minimum"  # what is left of a gang below its minimum would only hold its nodes
    staleness_s: float = 0.0  # how long a gang that lost members may hold the nodes of the others; 0: for ever


class GangSpec(NamedTuple):
    """One gang's configuration."""

    minimum: int | None = None  # None: nobody says one that can be used
    total: int = 0
    mode: Mode = "Strict"
    group: tuple[str, ...] = ()  # gangs that it starts with, namespace/name; itself may be among them or not
    wait_s: float = 600.0
    match_policy: MatchPolicy = "once-satisfied"
    min_resources: tuple[tuple[str, int], ...] = ()  # resource name, amount in the columns' units
    topology: str = ""  # JSON
    disruption: DisruptionMode = "Minimum"
    staleness_s: float = 0.0
    subgroups: SubGroups | None = None  # None: it has no parts
    priority: int | None = None  # orders the job, if the gang's object says one; who evicts whom is the pods' own
    run_time_s: float | None = None  # that its object declares
    queue: str = ""  # that its object, else its oldest member names
    preemptibility: str = ""  # that its object says
    node_selector: tuple[tuple[str, str], ...] = ()  # narrows that of every member
    warnings: tuple[str, ...] = ()  # about the gang's object

    @property
    def leaf_names(self) -> tuple[str, ...]:
        """The subgroups that members can say; none: it has no parts."""
        return tuple(self.subgroups.leaves) if self.subgroups is not None else ()

    def used_instead(self) -> Mapping[str, object]:
        """For each annotation key, what counts by now."""
        group = ", ".join(self.group) or "the gang alone"
        minimum = self.minimum
        return {
            keys.MIN_AVAILABLE: minimum,
            keys.SIGS_MIN_AVAILABLE: minimum,
            keys.TOTAL_NUMBER: self.total,
            keys.MODE: self.mode,
            keys.GROUPS: group,
            keys.GANG_GROUPS: group,
            keys.WAITING_TIME: f"{self.wait_s:g}s",
            keys.MATCH_POLICY: self.match_policy,
            keys.SIGS_MATCH_POLICY: self.match_policy,
            keys.DISRUPTION_MODE: self.disruption,
            keys.STALENESS_GRACE_PERIOD: f"{self.staleness_s:g}s" if self.staleness_s else "none",
            "spec.priorityClassName": "the pods' own priority"
            if self.priority is None
            else f"priority {self.priority}",
        }


NO_SPEC = GangSpec()


def resolve(
    members: Iterable[GangDeclaration],
    obj: GangObject | None,
    defaults: GangDefaults,
    front_end: FrontEnd = COSCHEDULING,
    priority_classes: Mapping[str, int] = {},
) -> GangSpec:
    """The configuration from what the members declare, oldest first, and from the gang's object."""
    by_annotation = obj.by_annotation if obj is not None else DECLARES_NOTHING
    by_spec = obj.by_spec if obj is not None else DECLARES_NOTHING
    problems = list(obj.complaints) if obj is not None else []
    min_resources = tuple(_amounts(dict(obj.min_resources), problems)) if obj is not None else ()
    subgroups = SubGroups(obj.subgroups, obj.min_children) if obj is not None and obj.subgroups else None
    declared = (*members, by_annotation, by_spec)

    def first(field: str, default: Any = None) -> Any:
        return next((value for declaration in declared if (value := getattr(declaration, field)) is not None), default)

    minimum: int | None = first("minimum")
    if minimum is not None and subgroups is not None:
        minimum = max(minimum, subgroups.least)
    spec = GangSpec(
        minimum=minimum,
        total=max(first("total", 0), minimum or 0),
        mode=first("mode", "Strict"),
        group=first("group", ()),
        wait_s=first("wait_s", defaults.wait_s),
        match_policy=first("match_policy", "waiting-and-running" if front_end.refills else defaults.match_policy),
        min_resources=min_resources,
        topology=first("topology", ""),
        # The object's word comes first.
        disruption=by_annotation.disruption or by_spec.disruption or first("disruption", defaults.disruption),
        staleness_s=first("staleness_s", defaults.staleness_s),
        subgroups=subgroups,
        priority=_priority(obj, priority_classes, problems) if obj is not None else None,
        run_time_s=by_annotation.run_time_s,
        queue=(obj.queue if obj is not None else "") or by_annotation.queue or first("queue", ""),
        preemptibility=obj.preemptibility if obj is not None else "",
        node_selector=obj.node_selector if obj is not None else (),
    )
    used = spec.used_instead()
    complaints = (*by_annotation.complaints, *problems)
    return spec._replace(warnings=tuple(describe(complaint, used) for complaint in complaints))


def _priority(obj: GangObject, classes: Mapping[str, int], problems: list[Complaint]) -> int | None:
    """Of the class that it names, else the number that it says; None: the pods' own."""
    if obj.priority_class and obj.priority_class in classes:
        return classes[obj.priority_class]
    if obj.priority_class:
        problems.append(Complaint("spec.priorityClassName", obj.priority_class, "is no PriorityClass"))
    return obj.priority


def _amounts(quantities: Mapping[str, str | int], problems: list[Complaint]) -> Iterator[tuple[str, int]]:
    for name, quantity in sorted(quantities.items()):
        try:
            yield name, amount(name, quantity, "spec.minResources")
        except MalformedValue as error:
            problems.append(Complaint(f"spec.minResources.{name}", str(quantity), error.problem))
