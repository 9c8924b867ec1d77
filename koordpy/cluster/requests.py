"""How much a pod asks for, by kube-scheduler's rules.

Containers and sidecars run together; plain init containers run one after another beside the sidecars
declared before them. So a pod needs the larger of the two, plus its overhead. Requests on the pod itself
replace the sum of its containers for CPU, memory and huge pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from koordpy.api.pod import Container, PodSpec, Quantities
from koordpy.cluster.resources import amount

Amounts = dict[str, int]

# What scoring counts for a container that names no request, so that a crowd of them still spreads.
_ASSUMED: Amounts = {"cpu": 100, "memory": 200 * 1024 * 1024}
_NOTHING: Amounts = {}


class PodRequests(NamedTuple):
    """What must be free, and what scoring counts (which is never zero for CPU and memory)."""

    needed: Amounts
    scored: tuple[int, int]  # cpu, memory


def requests_of(spec: PodSpec) -> PodRequests:
    needed = _aggregate(spec, _NOTHING)
    scored = _aggregate(spec, _ASSUMED)
    needed["pods"] = 1
    return PodRequests({name: value for name, value in needed.items() if value}, (scored["cpu"], scored["memory"]))


def _aggregate(spec: PodSpec, assumed: Amounts) -> Amounts:
    total: Amounts = dict.fromkeys(assumed, 0)
    for place, container in _numbered("containers", spec.containers):
        _add(total, _container(container, place, assumed))
    sidecars: Amounts = {}
    largest_init: Amounts = {}
    for place, container in _numbered("initContainers", spec.init_containers):
        asked = _container(container, place, assumed)
        if container.is_sidecar:
            _add(total, asked)
            _add(sidecars, asked)
            asked = sidecars
        else:
            _add(asked, sidecars)
        _raise_to(largest_init, asked)
    _raise_to(total, largest_init)
    if spec.resources is not None:
        total.update(_pod_level(spec.resources.requests))
    _add(total, _amounts(spec.overhead, "spec.overhead"))
    return total


def _numbered(field: str, containers: tuple[Container, ...]) -> Iterable[tuple[str, Container]]:
    return ((f"spec.{field}[{i}].resources.requests", container) for i, container in enumerate(containers))


def _container(container: Container, place: str, assumed: Amounts) -> Amounts:
    return {**assumed, **_amounts(container.resources.requests, place)}


def _pod_level(requests: Quantities) -> Amounts:
    asked = _amounts(requests, "spec.resources.requests")
    return {name: value for name, value in asked.items() if name in _ASSUMED or name.startswith("hugepages-")}


def _amounts(quantities: Quantities, field: str) -> Amounts:
    return {name: amount(name, quantity, field) for name, quantity in quantities.items()}


def _add(total: Amounts, more: Mapping[str, int]) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _raise_to(total: Amounts, at_least: Mapping[str, int]) -> None:
    for name, value in at_least.items():
        total[name] = max(total.get(name, 0), value)
