"""PodDisruptionBudgets, which a preemption violates only if it must."""

from __future__ import annotations

import structlog

from koordpy import metrics
from koordpy.api.errors import MalformedValue
from koordpy.api.policy import PodDisruptionBudget
from koordpy.state.cluster import Cluster

log = structlog.get_logger()


class BudgetSink:
    """The sink of the watch of PodDisruptionBudgets. One that cannot be read protects nobody."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def upsert(self, budget: PodDisruptionBudget) -> None:
        try:
            self._cluster.budgets.upsert(budget)
        except MalformedValue as error:
            self._cluster.budgets.remove(budget.metadata.key)
            metrics.MALFORMED.labels("PodDisruptionBudget").inc()
            log.warning("malformed_object", kind="PodDisruptionBudget", object=budget.metadata.key, problem=str(error))

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002
        self._cluster.budgets.remove(key)
