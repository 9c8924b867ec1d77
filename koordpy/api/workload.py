"""Namespaces, and the services and owners whose selectors spread their pods by default."""

from __future__ import annotations

from koordpy.api.meta import LabelSelector, ObjectMeta, Struct


class Namespace(Struct, frozen=True):
    metadata: ObjectMeta


class ServiceSpec(Struct, frozen=True):
    selector: dict[str, str] = {}


class Service(Struct, frozen=True):
    """Also a ReplicationController, whose selector is a plain map too."""

    metadata: ObjectMeta
    spec: ServiceSpec = ServiceSpec()


class ReplicaSetSpec(Struct, frozen=True):
    selector: LabelSelector | None = None


class ReplicaSet(Struct, frozen=True):
    """Also a StatefulSet."""

    metadata: ObjectMeta
    spec: ReplicaSetSpec = ReplicaSetSpec()
