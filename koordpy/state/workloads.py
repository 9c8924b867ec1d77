"""Services and pod owners: their selectors say which pods should be spread when a pod does not say so itself."""

from __future__ import annotations

from collections import defaultdict

from koordpy.api.meta import LabelSelector, LabelSelectorRequirement
from koordpy.state.selectors import is_empty, keys_of
from koordpy.state.shapes import Shape


class Workloads:
    """Selectors by namespace."""

    def __init__(self) -> None:
        self._services: defaultdict[str, dict[str, dict[str, str]]] = defaultdict(dict)  # namespace -> name -> selector
        self._owners: dict[tuple[str, str, str], LabelSelector] = {}  # kind, namespace, name
        self.generation = 0

    def set_service(self, namespace: str, name: str, selector: dict[str, str] | None) -> bool:
        """A service appeared, changed or left (None); says whether it selects others now.

        One without a selector selects nothing.
        """
        if self._services[namespace].get(name) == (selector or None):
            return False
        if selector:
            self._services[namespace][name] = selector
        else:
            del self._services[namespace][name]
        self.generation += 1
        return True

    def set_owner(self, kind: str, namespace: str, name: str, selector: LabelSelector | None) -> bool:
        """A pod owner appeared, changed or left (None); says whether it selects others now."""
        key = (kind, namespace, name)
        if self._owners.get(key) == selector:
            return False
        if selector is None:
            del self._owners[key]
        else:
            self._owners[key] = selector
        self.generation += 1
        return True

    def selected_keys(self) -> set[str]:
        """The label keys that services and owners ask for."""
        services = {key for each in self._services.values() for selector in each.values() for key in selector}
        return services.union(*(keys_of(selector) for selector in self._owners.values()))

    def default_selector(self, shape: Shape) -> LabelSelector | None:
        """What the pod's services and owner select, all of it together; None when that is nothing in particular."""
        return shape.remember("default selector", self.generation, lambda: self._merged(shape))

    def _merged(self, shape: Shape) -> LabelSelector | None:
        labels: dict[str, str] = {}
        for selector in self._services.get(shape.traits.namespace, {}).values():
            if selector.items() <= shape.labels.items():
                labels |= selector
        owner = self._owners.get((shape.traits.owner[0], shape.traits.namespace, shape.traits.owner[1]))
        if owner is None:
            merged = LabelSelector(match_labels=labels)
        elif shape.traits.owner[0] == "ReplicationController":
            merged = LabelSelector(labels | owner.match_labels, owner.match_expressions)
        else:
            # As expressions, so that an owner and a service that contradict each other select nothing together.
            equal = (LabelSelectorRequirement(key, "In", (value,)) for key, value in owner.match_labels.items())
            merged = LabelSelector(labels, (*equal, *owner.match_expressions))
        return None if is_empty(merged) else merged
