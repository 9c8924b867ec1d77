"""What a filter and a score are: the base classes of our own and of other packages' plugins.

A filter answers for all nodes at once with a mask, and says afterwards why it refused a node. A score answers with 0 to
100 for each candidate. Both see a shape and the cluster state, and keep no state of their own. A plugin that says
nothing about how it behaves when many equal pods are placed is asked for each pod: slow, and right.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from koordpy.plan.framework.answers import Reason
from koordpy.state.arrays import Bools, Ints
from koordpy.state.cluster import Cluster
from koordpy.state.shapes import Shape


class Filter(ABC):
    """Says which nodes can take a pod of a shape."""

    name: str
    static: bool = False  # True: the answer changes only with nodes' names, labels and taints, never with pods

    @abstractmethod
    def passes(self, shape: Shape, cluster: Cluster) -> Bools | None:
        """`[N]`: True where the node can take the pod, None for all. Rows that are not live may say anything."""

    @abstractmethod
    def explain(self, shape: Shape, cluster: Cluster, refused: Bools) -> Iterable[tuple[Reason, Bools]]:
        """For the nodes that this filter refused, `[N]`: each reason and the nodes, `[N]`, that it holds for."""

    def prefilter(self, shape: Shape, cluster: Cluster) -> Reason | None:  # noqa: ARG002
        """Why no node at all can take the pod; None: nodes are asked."""
        return None

    def steady(self, shape: Shape, cluster: Cluster) -> bool:  # noqa: ARG002
        """Whether placing pods of this shape leaves the answer for further ones as it is."""
        return False

    def slots(self, shape: Shape, cluster: Cluster) -> Ints | None:  # noqa: ARG002
        """`[N]`: how many pods of this shape each node can take; None: nobody knows without asking one by one."""
        return None


class Score(ABC):
    """Says how good each candidate is for a pod of a shape."""

    name: str

    @abstractmethod
    def score(self, shape: Shape, cluster: Cluster, candidates: Ints) -> Ints:
        """`[C]`: 0 to 100 for each of the candidate rows, `[C]`."""

    def steady(self, shape: Shape, cluster: Cluster) -> bool:  # noqa: ARG002
        """Whether placing pods of this shape leaves the scores for further ones as they are."""
        return False


class BatchScore(Score):
    """A score that also knows what the second, the third ... pod of a shape would score on a node."""

    @abstractmethod
    def score_with(self, shape: Shape, cluster: Cluster, rows: Ints, already: Ints) -> Ints:
        """`[C]`: the score on each of the rows, `[C]`, with so many pods of the shape, `[C]`, placed there already."""
