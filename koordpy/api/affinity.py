"""Scheduling constraints of a pod spec: node affinity, pod affinity, tolerations, topology spread."""

from __future__ import annotations

import msgspec

from koordpy.api.meta import LabelSelector, Struct

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class NodeSelectorRequirement(Struct, frozen=True):
    key: str
    operator: str
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Struct, frozen=True):
    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(Struct, frozen=True):
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(Struct, frozen=True):
    weight: int
    preference: NodeSelectorTerm


class NodeAffinity(Struct, frozen=True):
    required: NodeSelector | None = msgspec.field(name=_REQUIRED, default=None)
    preferred: tuple[PreferredSchedulingTerm, ...] = msgspec.field(name=_PREFERRED, default=())


class PodAffinityTerm(Struct, frozen=True):
    """`matchLabelKeys` and `mismatchLabelKeys` are merged into the selector by the API server."""

    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None


class WeightedPodAffinityTerm(Struct, frozen=True):
    weight: int
    pod_affinity_term: PodAffinityTerm


class PodAffinity(Struct, frozen=True):
    """Pod affinity, and pod anti-affinity, which has the same fields."""

    required: tuple[PodAffinityTerm, ...] = msgspec.field(name=_REQUIRED, default=())
    preferred: tuple[WeightedPodAffinityTerm, ...] = msgspec.field(name=_PREFERRED, default=())


class Affinity(Struct, frozen=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Toleration(Struct, frozen=True):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class TopologySpreadConstraint(Struct, frozen=True):
    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    match_label_keys: tuple[str, ...] = ()
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
