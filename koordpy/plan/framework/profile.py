"""Profiles: which filters and scores apply to the pods of one `schedulerName`."""

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
    """The filters in the order in which a node is asked, and the scores with their weights."""

    scheduler_name: str
    filters: tuple[Filter, ...]
    scores: tuple[tuple[Score, int], ...]
    preempts: bool = True  # its pods may make others leave
    within: Bools | None = None  # [N]: only these nodes are asked; for the length of one plan
    root: Profile = field(init=False)  # what is remembered about shapes is remembered for this one

    def only(self, within: Bools, scores: tuple[tuple[Score, int], ...] | None = None) -> Profile:
        """The same profile, asking only some of the nodes that it asks, `[N]`, and with other scores if given."""
        within = within if self.within is None else within & self.within
        derived = replace(self, within=within, scores=self.scores if scores is None else scores)
        object.__setattr__(derived, "root", self.root)
        return derived

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", self)

    @property
    def counts_all_resources(self) -> bool:
        """A node without room for everything that a pod asks for is out of the question."""
        return any(isinstance(each, NodeResourcesFit) and not each.ignores_some for each in self.filters)

    def prefilter(self, shape: Shape, cluster: Cluster) -> Reason | None:
        """The first reason to refuse a pod outright."""
        for each in self.filters:
            reason = each.prefilter(shape, cluster)
            if reason is not None:
                return replace(reason, plugin=each.name)
        return None
