"""Profiles: which filters and scores apply to the pods of one `schedulerName`.

A filter answers for all nodes at once with a mask, and can say afterwards why the nodes it refused were refused;
a score answers with 0 to 100 for each candidate. Both see a shape and the picture and keep no state of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

from koordpy.plan.filters.node_resources_fit import NodeResourcesFit
from koordpy.plan.framework.answers import Reason
from koordpy.state.arrays import Bools, Ints
from koordpy.state.cluster import Cluster
from koordpy.state.shapes import Shape


class Filter(Protocol):
    """Says which nodes can take a pod of a shape."""

    name: str
    static: bool  # the answer changes only with nodes' labels and taints, never with pods

    def passes(self, shape: Shape, cluster: Cluster) -> Bools | None:
        """`[N]`: True where the node can take it, None for all. Rows that are not live may say anything."""

    def explain(self, shape: Shape, cluster: Cluster, refused: Bools) -> Iterable[tuple[Reason, Bools]]:
        """For the nodes this filter refused: each reason and the nodes, `[N]`, that it holds for."""


@runtime_checkable
class PreFilter(Protocol):
    """A filter that can also refuse a pod without looking at any node; most need not."""

    name: str

    def prefilter(self, shape: Shape, cluster: Cluster) -> Reason | None:
        """Why no node can take the pod; None when nodes should be asked."""


class Score(Protocol):
    """Says how good each candidate is for a pod of a shape."""

    name: str

    def score(self, shape: Shape, cluster: Cluster, candidates: Ints) -> Ints:
        """`[C]`: 0 to 100 for each of the candidate rows, `[C]`."""


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """The filters in the order in which a node is asked, and the scores with their weights."""

    scheduler_name: str
    filters: tuple[Filter, ...]
    scores: tuple[tuple[Score, int], ...]
    preempts: bool = True  # its pods may make others leave
    within: Bools | None = None  # [N]: only these nodes are asked; for the length of one plan
    root: Profile = field(init=False)  # what is remembered about shapes is remembered for this one
    prefilters: tuple[PreFilter, ...] = field(init=False)  # those of the filters that are

    def only(self, within: Bools, scores: tuple[tuple[Score, int], ...] | None = None) -> Profile:
        """The same profile, asking only some of the nodes that it asks, `[N]`, and with other scores if given."""
        within = within if self.within is None else within & self.within
        derived = replace(self, within=within, scores=self.scores if scores is None else scores)
        object.__setattr__(derived, "root", self.root)
        return derived

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", self)
        # Asked once and not per plan: a protocol check walks all attributes.
        prefilters = tuple(each for each in self.filters if isinstance(each, PreFilter))
        object.__setattr__(self, "prefilters", prefilters)

    @property
    def counts_all_resources(self) -> bool:
        """A node without room for everything that a pod asks for is out of the question."""
        return any(isinstance(each, NodeResourcesFit) and not each.ignores_some for each in self.filters)

    def prefilter(self, shape: Shape, cluster: Cluster) -> Reason | None:
        """The first reason to refuse a pod outright."""
        for each in self.prefilters:
            reason = each.prefilter(shape, cluster)
            if reason is not None:
                return replace(reason, plugin=each.name)
        return None
