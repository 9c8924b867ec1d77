"""The base classes of filters and scores, for the built-in plugins and for those of other packages.

A filter answers for all nodes at once with a mask, and explains afterwards why it refused a node. A score gives each
candidate 0 to 100. Both read a shape and the cluster state, and keep no state of their own. A plugin that overrides
neither `steady` nor `slots` is asked again for each pod of a shape: slow, and right.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from koordpy.plan.framework.answers import Reason
from koordpy.state.arrays import Bools, Ints
from koordpy.state.cluster import Cluster
from koordpy.state.shapes import Shape


class Filter(ABC):
    """Decides which nodes are feasible for a pod of a shape."""

    name: str
    static: bool = False  # True: only the names, labels and taints of nodes change the answer, never pods

    @abstractmethod
    def passes(self, shape: Shape, cluster: Cluster) -> Bools | None:
        """`[N]`: True where the node is feasible; None: all nodes are. Rows that are not live may have any value."""

    @abstractmethod
    def explain(self, shape: Shape, cluster: Cluster, refused: Bools) -> Iterable[tuple[Reason, Bools]]:
        """The reasons for the nodes that this filter refused, `[N]`, each with the nodes, `[N]`, that it holds for."""

    def prefilter(self, shape: Shape, cluster: Cluster) -> Reason | None:  # noqa: ARG002
        """Why the pod is infeasible on every node; None: `passes` is asked."""
        return None

    def steady(self, shape: Shape, cluster: Cluster) -> bool:  # noqa: ARG002
        """Whether placing a pod of this shape leaves the answer for the next one unchanged."""
        return False

    def slots(self, shape: Shape, cluster: Cluster) -> Ints | None:  # noqa: ARG002
        """`[N]`: the slots of each node for this shape; None: the filter has to be asked for each pod."""
        return None


class Score(ABC):
    """Ranks the feasible nodes for a pod of a shape."""

    name: str

    @abstractmethod
    def score(self, shape: Shape, cluster: Cluster, candidates: Ints) -> Ints:
        """`[C]`: 0 to 100 for each of the candidates, node rows `[C]`."""

    def steady(self, shape: Shape, cluster: Cluster) -> bool:  # noqa: ARG002
        """Whether placing a pod of this shape leaves the scores for the next one unchanged."""
        return False


class BatchScore(Score):
    """A score that can compute the score of the second, the third ... pod of a shape on a node in advance."""

    @abstractmethod
    def score_with(self, shape: Shape, cluster: Cluster, rows: Ints, already: Ints) -> Ints:
        """`[C]`: the score of each row, `[C]`, with `already`, `[C]`, pods of the shape placed on it before."""
