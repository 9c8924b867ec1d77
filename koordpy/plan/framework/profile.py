"""Profiles: the filters and scores for pods of one `schedulerName`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from koordpy.plan.filters.node_resources_fit import NodeResourcesFit
from koordpy.plan.framework.answers import Reason
from koordpy.plan.framework.plugins import Filter, Score
from koordpy.state.arrays import Bools
from koordpy.state.cluster import Cluster
from koordpy.state.shapes import Shape


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """The filters in the order in which they run, and the scores with their weights."""

    scheduler_name: str
    filters: tuple[Filter, ...]
    scores: tuple[tuple[Score, int], ...]
    preempts: bool = True  # its pods may preempt
    within: Bools | None = None  # [N]: the only nodes that are filtered; for one plan
    root: Profile = field(init=False)  # the configured profile, under which results for shapes are cached

    def only(self, within: Bools, scores: tuple[tuple[Score, int], ...] | None = None) -> Profile:
        """The profile restricted to the nodes `within`, `[N]`, and with other scores if given."""
        within = within if self.within is None else within & self.within
        derived = replace(self, within=within, scores=self.scores if scores is None else scores)
        object.__setattr__(derived, "root", self.root)
        return derived

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", self)

    @property
    def counts_all_resources(self) -> bool:
        """Whether a node without room for all requests of a pod is infeasible for it."""
        return any(isinstance(each, NodeResourcesFit) and not each.ignores_some for each in self.filters)

    def prefilter(self, shape: Shape, cluster: Cluster) -> Reason | None:
        """The first reason of a filter that refuses the pod at PreFilter."""
        for each in self.filters:
            reason = each.prefilter(shape, cluster)
            if reason is not None:
                return replace(reason, plugin=each.name)
        return None
