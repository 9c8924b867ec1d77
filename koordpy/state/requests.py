"""How much a pod asks for, by kube-scheduler's rules.

Containers and sidecars run together; plain init containers run one after another beside the sidecars
declared before them. So a pod needs the larger of the two, plus its overhead. Requests on the pod itself
replace the sum of its containers for CPU, memory and huge pages. What is resized in place, a container or the pod as a
whole, counts the most of what it asks for, was allocated and has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from koordpy.api.pod import Container, ContainerStatus, Pod, PodSpec, PodStatus, Quantities
from koordpy.state.nodes.resources import MOST, amount

Amounts = dict[str, int]

# What scoring counts for a container that names no request, so that a crowd of them still spreads.
_ASSUMED: Amounts = {"cpu": 100, "memory": 200 * 1024 * 1024}


class PodRequests(NamedTuple):
    """What must be free, and what scoring counts for CPU and memory, which is never zero."""

    needed: Amounts
    scored: tuple[int, int]  # cpu, memory, of a pod that is on a node
    scored_itself: tuple[int, int]  # of the pod that is being placed: kube-scheduler looks at its containers only


def requests_of(pod: Pod) -> PodRequests:
    spec = pod.spec
    sidecars = {c.name for c in spec.init_containers if c.is_sidecar}  # other init containers are not resized
    running = (c for c in pod.status.init_container_statuses if c.name in sidecars)
    given = {c.name: c for c in (*pod.status.container_statuses, *running)}
    counted = _Counted(given, ignore_spec=pod.resize_is_infeasible)
    as_a_whole = _as_a_whole(pod)
    needed = _aggregate(spec, counted, {}) | as_a_whole
    itself = _aggregate(spec, counted, _ASSUMED)
    scored = itself
    if as_a_whole:  # then something is assumed only for what nobody mentions
        missing = {name: value for name, value in _ASSUMED.items() if name not in needed}
        scored = {**dict.fromkeys(_ASSUMED, 0), **_aggregate(spec, counted, missing), **as_a_whole}
    needed["pods"] = 1
    return PodRequests(
        {name: value for name, value in needed.items() if value},
        (scored["cpu"], scored["memory"]),
        (itself["cpu"], itself["memory"]),
    )


@dataclass(frozen=True, slots=True)
class _Counted:
    """What each container counts for."""

    given: Mapping[str, ContainerStatus]
    ignore_spec: bool

    def of(self, container: Container, place: str) -> Amounts:
        asked = _amounts(container.resources.requests, f"spec.{place}.resources.requests")
        status = self.given.get(container.name)
        return asked if status is None else _given(asked, status, f"status of {place}", ignore_spec=self.ignore_spec)


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
    _add(total, _amounts(spec.overhead, "spec.overhead"))
    return total


def _as_a_whole(pod: Pod) -> Amounts:
    """Requests on the pod itself, in place of what its containers add up to; overhead comes on top of either."""
    spec = pod.spec
    if spec.resources is None:
        return {}
    overhead = _amounts(spec.overhead, "spec.overhead")
    asked = _amounts(spec.resources.requests, "spec.resources.requests")
    names = [name for name in asked if name in _ASSUMED or name.startswith("hugepages-")]
    given = _given(asked, pod.status, "status", ignore_spec=pod.resize_is_infeasible)
    return {name: min(given.get(name, 0) + overhead.get(name, 0), MOST) for name in names}


def _given(asked: Amounts, status: ContainerStatus | PodStatus, place: str, *, ignore_spec: bool) -> Amounts:
    """The most of what is asked for, was allocated and is there; without resources in its status nothing is resized."""
    if status.resources is None:
        return asked
    total: Amounts = {} if ignore_spec else dict(asked)
    _raise_to(total, _amounts(status.allocated_resources, f"{place}: allocatedResources"))
    _raise_to(total, _amounts(status.resources.requests, f"{place}: resources.requests"))
    return total


def _amounts(quantities: Quantities, field: str) -> Amounts:
    return {name: amount(name, quantity, field) for name, quantity in quantities.items()}


def _add(total: Amounts, more: Mapping[str, int]) -> None:
    for name, value in more.items():
        total[name] = min(total.get(name, 0) + value, MOST)


def _raise_to(total: Amounts, at_least: Mapping[str, int]) -> None:
    for name, value in at_least.items():
        total[name] = max(total.get(name, 0), value)
