"""The status of the topology as a pure function of its domains and of the status before. It reads no clock."""

from __future__ import annotations

import msgspec

from koordpy.api.meta import StatusCondition
from koordpy.api.topologystatus import DetailStatus, TopologyInfo, TopologyStatus
from koordpy.controllers.topology.domains import Domain, depth_first

READY = "Ready"
INVALID_SPEC = "InvalidSpec"


def status_of(
    cluster: Domain | None, layer_count: int, ready: StatusCondition, previous: TopologyStatus
) -> TopologyStatus:
    """What the status should be. Without a tree of domains the tree of the previous status stays."""
    conditions = _replace_ready(ready, previous.conditions)
    if cluster is None:
        return msgspec.structs.replace(previous, conditions=conditions)
    domains = list(depth_first(cluster))
    return TopologyStatus(
        layers=layer_count,
        domains=sum(bool(domain.name) for _, domain in domains),
        nodes=len(cluster.rows),
        detail_status=tuple(_entry(domain, parent) for parent, domain in domains),
        conditions=conditions,
    )


def ready_condition(problem: str, generation: int, now: str, previous: TopologyStatus) -> StatusCondition:
    """The condition Ready; `now` becomes its transition time only if its status changes."""
    status = "False" if problem else "True"
    before = _ready_in(previous.conditions)
    return StatusCondition(
        type=READY,
        status=status,
        reason=INVALID_SPEC if problem else "TreeBuilt",
        message=problem or "the tree follows the labels of the nodes",
        last_transition_time=before.last_transition_time if before is not None and before.status == status else now,
        observed_generation=generation,
    )


def problem_in(status: TopologyStatus) -> str:
    """The problem of the spec that the condition Ready shows; empty if it shows none."""
    ready = _ready_in(status.conditions)
    return ready.message if ready is not None and ready.status == "False" else ""


def _ready_in(conditions: tuple[StatusCondition, ...]) -> StatusCondition | None:
    return next((condition for condition in conditions if condition.type == READY), None)


def _replace_ready(ready: StatusCondition, conditions: tuple[StatusCondition, ...]) -> tuple[StatusCondition, ...]:
    """Conditions of other controllers stay, in their order."""
    if _ready_in(conditions) is None:
        return (*conditions, ready)
    return tuple(ready if condition.type == READY else condition for condition in conditions)


def _entry(domain: Domain, parent: Domain | None) -> DetailStatus:
    return DetailStatus(
        topology_info=_info(domain),
        node_num=len(domain.rows),
        parent_topology_info=_info(parent) if parent is not None else None,
        child_topology_layer=domain.child_layer,
        child_topology_names=tuple(child.name for child in domain.children if child.name),
    )


def _info(domain: Domain) -> TopologyInfo:
    return TopologyInfo(domain.layer, domain.name)
