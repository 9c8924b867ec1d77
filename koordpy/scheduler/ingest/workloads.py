"""Namespaces, services and pod owners: their labels and selectors say which pods a constraint is about."""

from __future__ import annotations

from koordpy.api.meta import LabelSelector
from koordpy.api.workload import Namespace, ReplicaSet, Service
from koordpy.scheduler.wakeups import Wakeups
from koordpy.state.cluster import Cluster


class NamespaceSink:
    """Namespace labels, which affinity terms select by."""

    def __init__(self, cluster: Cluster, wakeups: Wakeups) -> None:
        self._cluster, self._wakeups = cluster, wakeups

    def upsert(self, namespace: Namespace) -> None:
        self._cluster.set_namespace(namespace.metadata.name, namespace.metadata.labels)
        self._wakeups.deliver()

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002
        self._cluster.set_namespace(key, None)
        self._wakeups.deliver()


class ServiceSink:
    """Service selectors, by which pods are spread that do not say how."""

    def __init__(self, cluster: Cluster, wakeups: Wakeups) -> None:
        self._cluster, self._wakeups = cluster, wakeups

    def upsert(self, service: Service) -> None:
        meta = service.metadata
        self._cluster.set_service(meta.namespace, meta.name, service.spec.selector)
        self._wakeups.deliver()

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002
        namespace, _, name = key.partition("/")
        self._cluster.set_service(namespace, name, None)
        self._wakeups.deliver()


class OwnerSink:
    """The selectors of ReplicaSets, StatefulSets and ReplicationControllers, to the same end."""

    def __init__(self, kind: str, cluster: Cluster, wakeups: Wakeups) -> None:
        self._kind, self._cluster, self._wakeups = kind, cluster, wakeups

    def upsert(self, owner: ReplicaSet | Service) -> None:
        meta, selector = owner.metadata, owner.spec.selector
        if isinstance(selector, dict):
            selector = LabelSelector(match_labels=selector)
        self._cluster.set_owner(self._kind, meta.namespace, meta.name, selector)
        self._wakeups.deliver()

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002
        namespace, _, name = key.partition("/")
        self._cluster.set_owner(self._kind, namespace, name, None)
        self._wakeups.deliver()
