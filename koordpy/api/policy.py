"""PodDisruptionBudget and PriorityClass, as far as scheduling reads them."""

from __future__ import annotations

from koordpy.api.meta import LabelSelector, ObjectMeta, Struct


class BudgetSpec(Struct, frozen=True):
    selector: LabelSelector | None = None


class BudgetStatus(Struct, frozen=True):
    disruptions_allowed: int = 0
    disrupted_pods: dict[str, str] = {}  # evicted and not yet gone, by name


class PodDisruptionBudget(Struct, frozen=True):
    metadata: ObjectMeta
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()


class PriorityClass(Struct, frozen=True):
    metadata: ObjectMeta
    value: int = 0
