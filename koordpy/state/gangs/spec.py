"""How a gang is configured: whose word counts, field by field.

A member pod's annotation wins over the PodGroup's annotation, that over the PodGroup's `spec`, and that over the
configuration of the scheduler. Among members that live, the oldest that declares something usable counts.
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
    declaration_of,
    describe,
)
from koordpy.api.podgroup import PodGroup
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
    warnings: tuple[str, ...] = ()  # about the PodGroup

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
        }


def resolve(members: Iterable[GangDeclaration], pod_group: PodGroup | None, defaults: GangDefaults) -> GangSpec:
    """The configuration from what the members declare, oldest first, and from their PodGroup."""
    by_annotation = declaration_of(pod_group.metadata) if pod_group is not None else DECLARES_NOTHING
    by_spec, min_resources, problems = _of_spec(pod_group)
    declared = (*members, by_annotation, by_spec)

    def first(field: str, default: Any = None) -> Any:
        return next((value for declaration in declared if (value := getattr(declaration, field)) is not None), default)

    minimum: int | None = first("minimum")
    spec = GangSpec(
        minimum=minimum,
        total=max(first("total", 0), minimum or 0),
        mode=first("mode", "Strict"),
        group=first("group", ()),
        wait_s=first("wait_s", defaults.wait_s),
        match_policy=first("match_policy", defaults.match_policy),
        min_resources=min_resources,
        topology=first("topology", ""),
        disruption=by_annotation.disruption or first("disruption", defaults.disruption),  # its object's word first
        staleness_s=first("staleness_s", defaults.staleness_s),
    )
    used = spec.used_instead()
    complaints = (*by_annotation.complaints, *problems)
    return spec._replace(warnings=tuple(describe(complaint, used) for complaint in complaints))


def _of_spec(pod_group: PodGroup | None) -> tuple[GangDeclaration, tuple[tuple[str, int], ...], list[Complaint]]:
    if pod_group is None:
        return DECLARES_NOTHING, (), []
    spec = pod_group.spec
    problems: list[Complaint] = []
    if spec.min_member < 0:
        problems.append(Complaint("spec.minMember", str(spec.min_member), "is below 0"))
    wait = spec.schedule_timeout_seconds
    declaration = GangDeclaration(
        minimum=spec.min_member if spec.min_member >= 0 else None,
        wait_s=float(wait) if wait is not None and wait > 0 else None,
    )
    return declaration, tuple(_amounts(spec.min_resources, problems)), problems


def _amounts(quantities: Mapping[str, str | int], problems: list[Complaint]) -> Iterator[tuple[str, int]]:
    for name, quantity in sorted(quantities.items()):
        try:
            yield name, amount(name, quantity, "spec.minResources")
        except MalformedValue as error:
            problems.append(Complaint(f"spec.minResources.{name}", str(quantity), error.problem))
