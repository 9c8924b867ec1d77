"""PodDisruptionBudgets: which pods each of them covers, and how many more it lets go."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from koordpy.api.policy import PodDisruptionBudget
from koordpy.state.pods import PodRecord
from koordpy.state.selectors import compile_selector


class Budget(NamedTuple):
    """One budget."""

    key: str  # namespace/name
    allowed: int
    going: frozenset[str]  # names of pods that are being evicted and counted already
    selects: Callable[[dict[str, str]], bool]


class Budgets:
    """All budgets, by namespace."""

    def __init__(self) -> None:
        self._by_namespace: defaultdict[str, dict[str, Budget]] = defaultdict(dict)

    def __len__(self) -> int:
        return sum(map(len, self._by_namespace.values()))

    def upsert(self, budget: PodDisruptionBudget) -> None:
        """Raises MalformedValue for a selector that cannot be read."""
        meta, selector = budget.metadata, budget.spec.selector
        if selector is None or not (selector.match_labels or selector.match_expressions):
            self.remove(meta.key)  # kube-scheduler: an empty selector matches nothing
            return
        status = budget.status
        going = frozenset(status.disrupted_pods)
        selects = compile_selector(selector)
        self._by_namespace[meta.namespace][meta.name] = Budget(meta.key, status.disruptions_allowed, going, selects)

    def remove(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        self._by_namespace[namespace].pop(name, None)
        if not self._by_namespace[namespace]:
            del self._by_namespace[namespace]

    def covering(self, pod: PodRecord) -> list[Budget]:
        """The budgets that an eviction of this pod would count against."""
        if not pod.labels or pod.namespace not in self._by_namespace:
            return []
        budgets = self._by_namespace[pod.namespace].values()
        return [each for each in budgets if pod.name not in each.going and each.selects(pod.labels)]
