"""PriorityClasses as the Priority admission reads them, for pods and for PodGroups."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from koordpy.sim.embedded.backend import Backend

_CLASSES = "priorityclasses.scheduling.k8s.io"
_DEFAULT_POLICY = "PreemptLowerPriority"


def admitted_class(backend: Backend, named: str | None, refuse: Callable[[str], Exception]) -> tuple[str, int, str]:
    """The class that counts for an object, which may name one: its name, value and preemption policy."""
    name = named or _default_class(backend)
    if not name:
        return "", 0, _DEFAULT_POLICY
    stored = backend.store.get(_CLASSES, "", name)
    if stored is None:
        raise refuse(f"no PriorityClass with name {name} was found")
    return name, stored.obj["value"], stored.obj.get("preemptionPolicy", _DEFAULT_POLICY)


def _default_class(backend: Backend) -> str:
    """The global default; if several claim to be it, the lowest value wins, as on the real server."""
    classes = [c.obj for c in backend.store.items(_CLASSES)]
    defaults = [c for c in classes if c.get("globalDefault")]
    return min(defaults, key=lambda c: c["value"])["metadata"]["name"] if defaults else ""
