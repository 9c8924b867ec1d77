"""Shapes: everything that filters and scores read from a pod, shared by all pods that agree in it.

The thousand members of a gang differ in name and have one shape, so they cost one filter pass and not a thousand. A
shape is found by the packed bytes of its traits; two shapes are equal only if they are one object, and a shape is gone
when the last pod of it is.

Labels count only as far as some selector asks for their keys: the members of an indexed Job each carry a label with
their own index, and still have one shape unless somebody selects by index.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np

from koordpy.api.affinity import NodeAffinity, PodAffinity, Toleration, TopologySpreadConstraint
from koordpy.api.keys import NETWORK_TOPOLOGY_SELECTOR
from koordpy.api.pod import ContainerPort, Pod, PodSpec, Volume
from koordpy.state.arrays import Ints
from koordpy.state.nodes.resources import NOWHERE, ResourceTable
from koordpy.state.requests import requests_of
from koordpy.state.selectors import keys_of

T = TypeVar("T")

# Fields of a pod's spec that filters and scores do not read, and what stands for them.
_NOT_OF_A_SHAPE: dict[str, Any] = {
    "node_name": "", "priority": 0, "priority_class_name": "", "scheduling_gates": (), "scheduling_group": None,
    "active_deadline_seconds": None, "termination_grace_period_seconds": None,
}  # fmt: skip
_OWNERS_WITH_SELECTORS = {("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet"), ("v1", "ReplicationController")}


class ClaimUse(NamedTuple):
    """A claim that a pod uses: its own, made for it with its name, or one that others may use too."""

    key: str  # namespace/name
    ephemeral: bool


class Traits(msgspec.Struct, frozen=True, gc=False):
    """What a shape is made of."""

    namespace: str
    needed: tuple[tuple[str, int], ...]
    scored: tuple[int, int]
    scored_itself: tuple[int, int]
    labels: tuple[tuple[str, str], ...]
    terminating: bool
    owner: tuple[str, str]  # kind and name, if its selector spreads the pods by default
    node_selector: tuple[tuple[str, str], ...]
    node_affinity: NodeAffinity | None
    pod_affinity: PodAffinity | None
    pod_anti_affinity: PodAffinity | None
    tolerations: tuple[Toleration, ...]
    spread: tuple[TopologySpreadConstraint, ...]
    ports: tuple[ContainerPort, ...]  # host ports only
    images: tuple[str, ...]  # of containers
    image_volumes: tuple[str, ...]
    resource_claims: bool
    claims: tuple[ClaimUse, ...]
    disks: tuple[Volume, ...]  # attached without a claim; nameless, since the name is only the pod's own
    network_selector: str  # pods that say the same attract each other


class Request:
    """What pods ask of resources. There are far fewer sizes than apps, so what is remembered about one is shared."""

    __slots__ = ("__weakref__", "memo")

    def __init__(self) -> None:
        self.memo: dict[object, tuple[int, Any]] = {}  # by asker: what was computed, and at which point of the usage


class Carriers:
    """The shapes that carry one label."""

    __slots__ = ("__weakref__", "shapes")

    def __init__(self) -> None:
        self.shapes: weakref.WeakSet[Shape] = weakref.WeakSet()


class Shape:
    """One class of interchangeable pods. Compared and hashed by identity."""

    __slots__ = (
        "__weakref__", "amounts", "carriers", "labels", "memo", "on_nodes", "request", "rows", "scored", "traits",
    )  # fmt: skip

    def __init__(self, traits: Traits, resources: ResourceTable, request: Request, carriers: list[Carriers]) -> None:
        self.traits, self.request = traits, request
        self.carriers = carriers  # held here, so that they are gone with the last shape of a label
        self.labels = dict(traits.labels)
        self.rows: Ints  # [K]
        self.amounts: Ints  # [K]
        self.find_rows(resources)
        self.scored: Ints = np.array(traits.scored, dtype=np.int64)  # [2]: cpu, memory, once it is on a node
        self.on_nodes: dict[int, int] = {}  # node row -> pods of this shape counted there
        self.memo: dict[object, tuple[object, Any]] = {}  # what was derived from it, and at which generation

    def find_rows(self, resources: ResourceTable) -> None:
        """Look up where the columns have what is asked for; what is nowhere is one of nothing, however much it is."""
        asked = {resources.find(name): amount for name, amount in self.traits.needed}
        if NOWHERE in asked:
            asked[NOWHERE] = 1
            resources.lacks(self)
        self.rows = np.array(sorted(asked), dtype=np.intp)
        self.amounts = np.array([asked[row] for row in sorted(asked)], dtype=np.int64)

    def remember(self, what: object, generation: object, compute: Callable[[], T]) -> T:
        """What was computed for this shape at this generation; computed now if it was not, or is stale."""
        known = self.memo.get(what)
        if known is None or known[0] != generation:
            known = self.memo[what] = (generation, compute())
        value: T = known[1]
        return value


class ShapeTable:
    """Gives pods of equal traits the same shape."""

    def __init__(self, resources: ResourceTable) -> None:
        self._resources = resources
        self._shapes: weakref.WeakValueDictionary[bytes, Shape] = weakref.WeakValueDictionary()
        self._by_source: weakref.WeakValueDictionary[bytes, Shape] = weakref.WeakValueDictionary()
        self._requests: weakref.WeakValueDictionary[tuple[object, ...], Request] = weakref.WeakValueDictionary()
        self._carriers: weakref.WeakValueDictionary[tuple[str, str], Carriers] = weakref.WeakValueDictionary()
        self.with_disks: weakref.WeakSet[Shape] = weakref.WeakSet()  # attached without a claim
        self._pack = msgspec.msgpack.Encoder(order="deterministic").encode
        self.selected_keys: set[str] = set()  # label keys that some selector asks for

    def __iter__(self) -> Iterator[Shape]:
        return iter(list(self._shapes.values()))

    def ask_for(self, keys: set[str]) -> None:
        """Selectors ask for labels of these keys, too: shapes made from now on have them."""
        self.selected_keys |= keys

    def keep_asking_for(self, keys: set[str]) -> None:
        """Of the keys that are asked for, these alone."""
        self.selected_keys &= keys

    def carrying(self, label: tuple[str, str]) -> list[Shape]:
        """Those with this label, if some selector asks for its key."""
        carriers = self._carriers.get(label)
        return list(carriers.shapes) if carriers is not None else []

    def shape_of(self, pod: Pod) -> Shape:
        """The shape of a pod; raises MalformedValue for a request that cannot be read."""
        labels = self.selected_labels(pod.metadata.labels)
        # Deriving traits costs five times as much as packing what they are derived from; the pods of a job, and one pod
        # on each of its updates, agree in that.
        source = self._pack(_source(pod, labels))
        shape = self._by_source.get(source)
        if shape is None:
            shape = self._by_source[source] = self.shape(_traits(pod, labels))
        return shape

    def shape(self, traits: Traits) -> Shape:
        key = self._pack(traits)
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = self._new_shape(traits)
            if traits.disks:
                self.with_disks.add(shape)
        return shape

    def relabelled(self, shape: Shape, labels: tuple[tuple[str, str], ...]) -> Shape:
        """The shape of the same pods with other labels that count."""
        return self.shape(msgspec.structs.replace(shape.traits, labels=labels))

    def narrowed(self, shape: Shape, selector: tuple[tuple[str, str], ...]) -> Shape | None:
        """The shape of the same pods under this node selector too; None where the two exclude each other."""
        own = dict(shape.traits.node_selector)
        if any(own.get(key, value) != value for key, value in selector):
            return None
        both = tuple(sorted((own | dict(selector)).items()))
        return self.shape(msgspec.structs.replace(shape.traits, node_selector=both))

    def _new_shape(self, traits: Traits) -> Shape:
        size = (traits.needed, traits.scored, traits.scored_itself)
        request = self._requests.get(size)
        if request is None:
            request = self._requests[size] = Request()
        carriers = [self._carriers_of(label) for label in traits.labels]
        shape = Shape(traits, self._resources, request, carriers)
        for each in carriers:
            each.shapes.add(shape)
        return shape

    def _carriers_of(self, label: tuple[str, str]) -> Carriers:
        known = self._carriers.get(label)
        if known is None:
            known = self._carriers[label] = Carriers()
        return known

    def selected_labels(self, labels: dict[str, str]) -> tuple[tuple[str, str], ...]:
        return tuple(sorted((key, labels[key]) for key in labels.keys() & self.selected_keys))


def keys_asked_by(shape: Shape) -> frozenset[str]:
    """The label keys that the constraints of its pods ask for."""
    return shape.remember("keys asked for", 0, lambda: frozenset(_keys_asked(shape.traits)))


def _keys_asked(traits: Traits) -> Iterator[str]:
    for constraint in traits.spread:
        yield from keys_of(constraint.label_selector)
        yield from constraint.match_label_keys
    for affinity in (traits.pod_affinity, traits.pod_anti_affinity):
        if affinity is not None:
            for term in (*affinity.required, *(weighted.pod_affinity_term for weighted in affinity.preferred)):
                yield from keys_of(term.label_selector)


def _source(pod: Pod, labels: tuple[tuple[str, str], ...]) -> tuple[object, ...]:
    """Everything of a pod that its traits depend on."""
    meta, spec, status = pod.metadata, pod.spec, pod.status
    has_own_claims = any(volume.ephemeral is not None for volume in spec.volumes)
    return (
        meta.namespace,
        meta.name if has_own_claims else "",
        labels,
        meta.annotations.get(NETWORK_TOPOLOGY_SELECTOR),
        meta.deletion_timestamp is not None,
        meta.owner_references,
        msgspec.structs.replace(spec, **_NOT_OF_A_SHAPE),
        (status.resources, status.allocated_resources),
        status.container_statuses,
        status.init_container_statuses,
        pod.resize_is_infeasible,
    )


def _traits(pod: Pod, labels: tuple[tuple[str, str], ...]) -> Traits:
    meta, spec = pod.metadata, pod.spec
    asked = requests_of(pod)
    affinity = spec.affinity
    owners = (o for o in meta.owner_references if o.controller)
    owner = next(((o.kind, o.name) for o in owners if (o.api_version, o.kind) in _OWNERS_WITH_SELECTORS), ("", ""))
    return Traits(
        namespace=meta.namespace,
        needed=tuple(sorted(asked.needed.items())),
        scored=asked.scored,
        scored_itself=asked.scored_itself,
        labels=labels,
        terminating=meta.deletion_timestamp is not None,
        owner=owner,
        node_selector=tuple(sorted(spec.node_selector.items())),
        node_affinity=affinity.node_affinity if affinity else None,
        pod_affinity=affinity.pod_affinity if affinity else None,
        pod_anti_affinity=affinity.pod_anti_affinity if affinity else None,
        tolerations=spec.tolerations,
        spread=spec.topology_spread_constraints,
        ports=_host_ports(spec),
        images=tuple(c.image for c in (*spec.init_containers, *spec.containers)),
        image_volumes=tuple(v.image.reference for v in spec.volumes if v.image is not None),
        resource_claims=bool(spec.resource_claims),
        claims=tuple(_claims(pod)),
        disks=tuple(msgspec.structs.replace(v, name="") for v in spec.volumes if v.disk is not None),
        network_selector=meta.annotations.get(NETWORK_TOPOLOGY_SELECTOR, ""),
    )


def _claims(pod: Pod) -> Iterator[ClaimUse]:
    meta = pod.metadata
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield ClaimUse(f"{meta.namespace}/{volume.persistent_volume_claim.claim_name}", ephemeral=False)
        elif volume.ephemeral is not None:
            yield ClaimUse(f"{meta.namespace}/{meta.name}-{volume.name}", ephemeral=True)


def _host_ports(spec: PodSpec) -> tuple[ContainerPort, ...]:
    containers = (*spec.containers, *(c for c in spec.init_containers if c.is_sidecar))
    return tuple(port for container in containers for port in container.ports if port.host_port > 0)
