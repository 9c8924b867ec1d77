"""How much a pod asks for, by kube-scheduler's rules.

Containers and sidecars run together; plain init containers run one after another beside the sidecars
declared before them. So a pod needs the larger of the two, plus its overhead. Requests on the pod itself
replace the sum of its containers for CPU, memory and huge pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from koordpy.api.pod import Container, ContainerStatus, Pod, PodSpec, Quantities
from koordpy.cluster.resources import amount

Amounts = dict[str, int]

# What scoring counts for a container that names no request, so that a crowd of them still spreads.
_ASSUMED: Amounts = {"cpu": 100, "memory": 200 * 1024 * 1024}
_NOTHING: Amounts = {}


class PodRequests(NamedTuple):
    """What must be free, and what scoring counts (which is never zero for CPU and memory)."""

    needed: Amounts
    scored: tuple[int, int]  # cpu, memory


def requests_of(pod: Pod) -> PodRequests:
    given = {c.name: c for c in (*pod.status.container_statuses, *pod.status.init_container_statuses)}
    counted = _Counted(given, ignore_spec=pod.resize_is_infeasible)
    needed = _aggregate(pod.spec, counted, _NOTHING)
    scored = _aggregate(pod.spec, counted, _ASSUMED)
    needed["pods"] = 1
    return PodRequests({name: value for name, value in needed.items() if value}, (scored["cpu"], scored["memory"]))


@dataclass(frozen=True, slots=True)
class _Counted:
    """What a container counts for: while it is resized in place, the most of what it asks for, was promised and has."""

    given: Mapping[str, ContainerStatus]
    ignore_spec: bool

    def of(self, container: Container, place: str) -> Amounts:
        asked = _amounts(container.resources.requests, f"spec.{place}.resources.requests")
        status = self.given.get(container.name)
        if status is None or (status.resources is None and not status.allocated_resources):
            return asked
        total: Amounts = {} if self.ignore_spec else asked
        _raise_to(total, _amounts(status.allocated_resources, f"status of {place}: allocatedResources"))
        if status.resources is not None:
            _raise_to(total, _amounts(status.resources.requests, f"status of {place}: resources.requests"))
        return total


def _aggregate(spec: PodSpec, counted: _Counted, assumed: Amounts) -> Amounts:
    total: Amounts = dict.fromkeys(assumed, 0)
    for i, container in enumerate(spec.containers):
        _add(total, {**assumed, **counted.of(container, f"containers[{i}]")})
    sidecars: Amounts = {}
    largest_init: Amounts = {}
    for i, container in enumerate(spec.init_containers):
        asked = {**assumed, **counted.of(container, f"initContainers[{i}]")}
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
