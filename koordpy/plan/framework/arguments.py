"""The arguments of plugins, under kube-scheduler's names; an unknown field or a bad value is an error that names it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any, Literal

import msgspec

from koordpy.api.affinity import NodeAffinity, TopologySpreadConstraint
from koordpy.api.errors import MalformedValue
from koordpy.api.strict import Mistakes, Strict, read_strictly
from koordpy.plan.constraints.node_terms import integer
from koordpy.plan.constraints.spread import SYSTEM_DEFAULTS, DefaultSpread
from koordpy.plan.filters.volume_binding import VolumeBinding
from koordpy.plan.scores.balanced_allocation import BalancedAllocation
from koordpy.plan.scores.inter_pod_affinity import InterPodAffinity
from koordpy.plan.scores.node_resources_fit import NodeResourcesFit, least_allocated, most_allocated, ratio
from koordpy.plan.scores.pod_topology_spread import PodTopologySpread
from koordpy.plan.scores.resource_weights import CPU_AND_MEMORY, ResourceWeight

Args = Mapping[str, Any]


class _Args(Strict):
    api_version: Literal["kubescheduler.config.k8s.io/v1"] = "kubescheduler.config.k8s.io/v1"


class _Resource(Strict):
    name: str
    weight: int = 1


class _Point(Strict):
    utilization: int
    score: int


class _Ratio(Strict):
    shape: list[_Point]


class _Strategy(Strict):
    type: Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"] = "LeastAllocated"
    resources: list[_Resource] = []
    requested_to_capacity_ratio: _Ratio | None = None


class _Fit(_Args):
    kind: Literal["NodeResourcesFitArgs"] = "NodeResourcesFitArgs"
    scoring_strategy: _Strategy = msgspec.field(default_factory=_Strategy)
    ignored_resources: list[str] = []
    ignored_resource_groups: list[str] = []


class _Balanced(_Args):
    kind: Literal["NodeResourcesBalancedAllocationArgs"] = "NodeResourcesBalancedAllocationArgs"
    resources: list[_Resource] = []


class _InterPodAffinity(_Args):
    kind: Literal["InterPodAffinityArgs"] = "InterPodAffinityArgs"
    hard_pod_affinity_weight: int = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class _Expression(Strict):
    key: Annotated[str, msgspec.Meta(min_length=1)]
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        values = list(self.values)
        if self.operator in ("In", "NotIn") and not values:
            raise MalformedValue("values", values, f"must not be empty for {self.operator}")
        if self.operator in ("Exists", "DoesNotExist") and values:
            raise MalformedValue("values", values, f"must be empty for {self.operator}")
        if self.operator in ("Gt", "Lt") and (len(values) != 1 or integer(values[0]) is None):
            raise MalformedValue("values", values, f"must be one integer for {self.operator}")


class _Field(Strict):
    key: Literal["metadata.name"]
    operator: Literal["In", "NotIn"]
    values: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=1)]


class _Term(Strict):
    match_expressions: list[_Expression] = []
    match_fields: list[_Field] = []


class _Terms(Strict):
    node_selector_terms: Annotated[list[_Term], msgspec.Meta(min_length=1)]


class _Preferred(Strict):
    weight: Annotated[int, msgspec.Meta(ge=1, le=100)]
    preference: _Term


class _AddedAffinity(Strict):
    required: _Terms | None = msgspec.field(name="requiredDuringSchedulingIgnoredDuringExecution", default=None)
    preferred: list[_Preferred] = msgspec.field(name="preferredDuringSchedulingIgnoredDuringExecution", default=[])


class _NodeAffinity(_Args):
    kind: Literal["NodeAffinityArgs"] = "NodeAffinityArgs"
    added_affinity: _AddedAffinity | None = None


class _Constraint(Strict):
    """As in a pod, without the selector, which is derived from the pod's services and owner."""

    max_skew: Annotated[int, msgspec.Meta(ge=1)]
    topology_key: Annotated[str, msgspec.Meta(min_length=1)]
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"]
    min_domains: Annotated[int, msgspec.Meta(ge=1)] | None = None
    node_affinity_policy: Literal["Honor", "Ignore"] | None = None
    node_taints_policy: Literal["Honor", "Ignore"] | None = None
    label_selector: Any = None


class _Spread(_Args):
    kind: Literal["PodTopologySpreadArgs"] = "PodTopologySpreadArgs"
    default_constraints: list[_Constraint] = []
    defaulting_type: Literal["System", "List"] = "System"


class _VolumeBinding(_Args):
    kind: Literal["VolumeBindingArgs"] = "VolumeBindingArgs"
    bind_timeout_seconds: int = 600


def volume_bind_timeout_s(args: Args) -> int:
    """How long a pod waits for its volumes to be bound before it is unreserved."""
    asked = read_strictly(args, _VolumeBinding).bind_timeout_seconds
    if asked < 0:
        raise MalformedValue("bindTimeoutSeconds", asked, "is negative")
    return asked


def volume_binding(args: Args) -> VolumeBinding:
    volume_bind_timeout_s(args)
    return VolumeBinding()


def added_affinity(args: Args) -> NodeAffinity:
    """The node affinity that the profile adds to that of each of its pods."""
    asked = read_strictly(args, _NodeAffinity).added_affinity or _AddedAffinity()
    return msgspec.convert(asked, NodeAffinity, from_attributes=True)


def ignored_resources(args: Args) -> tuple[frozenset[str], frozenset[str]]:
    """Names and groups of extended resources that NodeResourcesFit ignores."""
    fit = read_strictly(args, _Fit)
    return frozenset(fit.ignored_resources), frozenset(fit.ignored_resource_groups)


def fit_score(args: Args) -> NodeResourcesFit:
    asked = read_strictly(args, _Fit).scoring_strategy
    resources = _weights(asked.resources)
    if asked.type == "RequestedToCapacityRatio":
        points = asked.requested_to_capacity_ratio.shape if asked.requested_to_capacity_ratio else []
        return NodeResourcesFit(ratio(_curve(points)), resources, is_ratio=True)
    if asked.requested_to_capacity_ratio is not None:
        raise MalformedValue(
            "scoringStrategy.type", asked.type, "has no use for requestedToCapacityRatio; say RequestedToCapacityRatio"
        )
    return NodeResourcesFit(most_allocated if asked.type == "MostAllocated" else least_allocated, resources)


def balanced_score(args: Args) -> BalancedAllocation:
    asked = read_strictly(args, _Balanced).resources
    names = [resource.name for resource in asked]
    mistakes = Mistakes()
    for i, resource in enumerate(asked):
        if resource.weight != 1:
            problem = "is not 1: balance knows no weights"
            mistakes.add(str(MalformedValue(f"resources[{i}].weight", resource.weight, problem)))
        if resource.name in names[:i]:
            mistakes.add(str(MalformedValue(f"resources[{i}].name", resource.name, "stands there twice")))
    mistakes.raise_any()
    return BalancedAllocation(tuple(names)) if names else BalancedAllocation()


def affinity_score(args: Args) -> InterPodAffinity:
    asked = read_strictly(args, _InterPodAffinity)
    if not 0 <= asked.hard_pod_affinity_weight <= 100:
        raise MalformedValue("hardPodAffinityWeight", asked.hard_pod_affinity_weight, "is not between 0 and 100")
    return InterPodAffinity(asked.hard_pod_affinity_weight, ignore_others=asked.ignore_preferred_terms_of_existing_pods)


def default_spread(args: Args) -> DefaultSpread:
    """The default constraints, for pods without their own."""
    asked = read_strictly(args, _Spread)
    if asked.defaulting_type == "System":
        if asked.default_constraints:
            raise MalformedValue("defaultConstraints", "…", "can only be given with defaultingType: List")
        return DefaultSpread(SYSTEM_DEFAULTS, is_system=True)
    mistakes = Mistakes()
    for i, constraint in enumerate(asked.default_constraints):
        place = f"defaultConstraints[{i}]"
        if constraint.label_selector is not None:
            mistakes.add(str(MalformedValue(f"{place}.labelSelector", "…", "must not be given: it is derived")))
        earlier = asked.default_constraints[:i]
        if any(
            (c.topology_key, c.when_unsatisfiable) == (constraint.topology_key, constraint.when_unsatisfiable)
            for c in earlier
        ):
            mistakes.add(str(MalformedValue(f"{place}.topologyKey", constraint.topology_key, "stands there twice")))
    mistakes.raise_any()
    constraints = msgspec.convert(asked.default_constraints, tuple[TopologySpreadConstraint, ...], from_attributes=True)
    return DefaultSpread(constraints, is_system=False)


def spread_score(args: Args) -> PodTopologySpread:
    return PodTopologySpread(default_spread(args))


def _weights(resources: list[_Resource]) -> tuple[ResourceWeight, ...]:
    mistakes = Mistakes()
    for i, resource in enumerate(resources):
        if not 1 <= resource.weight <= 100:
            place = f"scoringStrategy.resources[{i}].weight"
            mistakes.add(str(MalformedValue(place, resource.weight, "is not between 1 and 100")))
    mistakes.raise_any()
    return tuple(ResourceWeight(r.name, r.weight) for r in resources) or CPU_AND_MEMORY


def _curve(points: list[_Point]) -> tuple[tuple[int, int], ...]:
    curve = tuple((point.utilization, point.score) for point in points)
    rising = all(left[0] < right[0] for left, right in pairwise(curve))
    if not curve or not rising or any(not (0 <= u <= 100 and 0 <= s <= 10) for u, s in curve):
        raise MalformedValue(
            "scoringStrategy.requestedToCapacityRatio.shape",
            str(list(curve)),
            "needs points with rising utilization from 0 to 100 and scores from 0 to 10",
        )
    return curve
