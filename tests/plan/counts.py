"""Everything that the state counts per node, by the node's name: two states are equal if these are."""

from typing import Any

import numpy as np

from koordpy.state.cluster import Cluster

Json = dict[str, Any]


def counts_of(cluster: Cluster, like: Json | None = None) -> Json:
    """All counts that are not zero; with `like`, without the questions that `like` was not asked."""
    named = {
        "requested": {
            resource: _by_node(cluster, cluster.nodes.requested[row])
            for row, resource in enumerate(cluster.resources.names[: len(cluster.nodes.requested)])
            if cluster.nodes.allocatable[row].any()  # it does not matter how much of nothing is taken
        },
        "scored": {str(i): _by_node(cluster, column) for i, column in enumerate(cluster.nodes.scored)},
        "tallies": {key: _by_node(cluster, tally.counts) for key, tally in cluster.census._tallies.items()},
        "terms": {key: _by_node(cluster, term.counts) for key, term in cluster.census._terms.items()},
        "ports": _ports(cluster),
    }
    if like is not None:
        named["tallies"] = {key: counts for key, counts in named["tallies"].items() if key in like["tallies"]}
    return {kind: {what: counts for what, counts in by_node.items() if counts} for kind, by_node in named.items()}


def _by_node(cluster: Cluster, column: Any) -> dict[str, int]:
    assert not column[: cluster.nodes.capacity][~cluster.nodes.live].any(), "a free row counts something"
    return {cluster.nodes.names[row]: int(column[row]) for row in np.flatnonzero(column)}


def _ports(cluster: Cluster) -> Json:
    used = cluster.ports._used.items()
    return {port: {cluster.nodes.names[row]: dict(ips) for row, ips in rows.items()} for port, rows in used if rows}
