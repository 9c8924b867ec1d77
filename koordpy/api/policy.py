"""PodDisruptionBudget, as far as preemption reads it."""

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
