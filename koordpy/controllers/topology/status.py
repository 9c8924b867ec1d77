"""The status of the topology as a function of its tree: no clock, no memory but the status that stands there."""

from __future__ import annotations

import msgspec

from koordpy.api.topologystatus import DetailStatus, StatusCondition, TopologyInfo, TopologyStatus
from koordpy.controllers.topology.outline import Branch, by_level

READY = "Ready"
INVALID_SPEC = "InvalidSpec"


def status_of(root: Branch | None, depth: int, ready: StatusCondition, previous: TopologyStatus) -> TopologyStatus:
    """What the status should be; without a tree, what stands there about one stays."""
    conditions = _with(ready, previous.conditions)
    if root is None:
        return msgspec.structs.replace(previous, conditions=conditions)
    levels = list(by_level(root))
    return TopologyStatus(
        layers=depth,
        domains=sum(bool(branch.name) for level in levels for _, branch in level),
        nodes=len(root.rows),
        detail_status=tuple(_entry(branch, parent) for level in levels for parent, branch in level),
        conditions=conditions,
    )


def ready_condition(problem: str, generation: int, now: str, previous: TopologyStatus) -> StatusCondition:
    """Ready, or why not; `now` counts only if that has changed."""
    status = "False" if problem else "True"
    before = _find(previous.conditions)
    unchanged = before is not None and before.status == status
    return StatusCondition(
        type=READY,
        status=status,
        reason=INVALID_SPEC if problem else "TreeBuilt",
        message=problem or "the tree follows the labels of the nodes",
        last_transition_time=before.last_transition_time if before is not None and unchanged else now,
        observed_generation=generation,
    )


def told_problem(status: TopologyStatus) -> str:
    """What the status says that is wrong with the spec."""
    condition = _find(status.conditions)
    return condition.message if condition is not None and condition.status == "False" else ""


def _find(conditions: tuple[StatusCondition, ...]) -> StatusCondition | None:
    return next((condition for condition in conditions if condition.type == READY), None)


def _with(ready: StatusCondition, conditions: tuple[StatusCondition, ...]) -> tuple[StatusCondition, ...]:
    """Ours in its place; what others say stays."""
    if _find(conditions) is None:
        return (*conditions, ready)
    return tuple(ready if condition.type == READY else condition for condition in conditions)


def _entry(branch: Branch, parent: Branch | None) -> DetailStatus:
    return DetailStatus(
        topology_info=_info(branch),
        node_num=len(branch.rows),
        parent_topology_info=_info(parent) if parent is not None else None,
        child_topology_layer=branch.below,
        child_topology_names=tuple(child.name for child in branch.children if child.name),
    )


def _info(branch: Branch) -> TopologyInfo:
    return TopologyInfo(branch.layer, branch.name)
