"""TeamNodes: a node that carries a team's label takes only pods of the team's namespace; other nodes take all."""

from collections.abc import Iterable, Mapping
from typing import Any

from koordpy.plugin import Bools, Cluster, EventKind, Filter, Reason, Shape

_REASON = Reason(
    "node(s) belonged to another team", preemption_helps=False, wake_on=EventKind.NODE_ADDED | EventKind.NODE_RELABELLED
)


class TeamNodes(Filter):
    name = "TeamNodes"
    static = True  # it looks at nodes' labels alone, so its answer is kept until a node changes

    def __init__(self, label: str = "example.com/team") -> None:
        self._label = label

    def passes(self, shape: Shape, cluster: Cluster) -> Bools:
        team = cluster.nodes.labels.column(self._label)
        return (team.codes < 0) | (team.codes == team.code_of(shape.traits.namespace))

    def explain(self, shape: Shape, cluster: Cluster, refused: Bools) -> Iterable[tuple[Reason, Bools]]:  # noqa: ARG002
        yield _REASON, refused


def team_nodes(args: Mapping[str, Any]) -> TeamNodes:
    return TeamNodes(**args)
