"""Which resources are served, under which names, and how a stored object looks in each served version.

The table is data; behaviour that differs per resource is in `strategies.py`. Custom resources are added and
removed here by `customresources.py` while the server runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from koordpy.sim.embedded import builtinschemas, events

Obj = dict[str, Any]

READ_WRITE = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = READ_WRITE
    storage: str = ""
    from_storage: Callable[[Obj], Obj] | None = None
    to_storage: Callable[[Obj], Obj] | None = None
    schema: Obj | None = None
    custom: bool = False
    columns: tuple[Obj, ...] = ()  # the additionalPrinterColumns of a custom resource

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def full_name(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def has_status(self) -> bool:
        return "status" in self.subresources


@dataclass(slots=True)
class Registry:
    """The served resources, found by group, version and plural name."""

    by_path: dict[tuple[str, str, str], Resource] = field(default_factory=dict)

    def add(self, resource: Resource) -> None:
        self.by_path[resource.group, resource.version, resource.plural] = resource

    def remove(self, group: str, plural: str) -> None:
        for path in [p for p in self.by_path if p[0] == group and p[2] == plural]:
            del self.by_path[path]

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        return self.by_path.get((group, version, plural))

    def versions(self) -> dict[str, list[str]]:
        """Versions by group; the first is preferred."""
        found: dict[str, list[str]] = {}
        for group, version, _ in self.by_path:
            if version not in found.setdefault(group, []):
                found[group].append(version)
        return found

    def of(self, group: str, version: str) -> list[Resource]:
        return [r for r in self.by_path.values() if (r.group, r.version) == (group, version)]


def _core(plural: str, kind: str, *short: str, subresources: tuple[str, ...] = ()) -> Resource:
    return _builtin("", "v1", plural, kind, *short, subresources=subresources)


def _builtin(
    group: str,
    version: str,
    plural: str,
    kind: str,
    *short: str,
    namespaced: bool = True,
    subresources: tuple[str, ...] = (),
) -> Resource:
    return Resource(
        group,
        version,
        plural,
        kind,
        namespaced=namespaced,
        singular=kind.lower(),
        short_names=short,
        categories=("all",) if plural in _IN_ALL else (),
        subresources=subresources,
        storage=f"{plural}.{group}" if group else plural,
        schema=_SCHEMAS.get(plural),
    )


_IN_ALL = frozenset(
    (
        *("pods", "services", "replicationcontrollers", "replicasets", "statefulsets"),
        *("deployments", "daemonsets", "jobs", "cronjobs", "horizontalpodautoscalers"),
    )
)
_STATUS = ("status",)
_SCALED = ("status", "scale")
_SCHEMAS = {
    "pods": builtinschemas.POD,
    "nodes": builtinschemas.NODE,
    "deployments": builtinschemas.DEPLOYMENT,
    "replicasets": builtinschemas.REPLICA_SET,
    "statefulsets": builtinschemas.STATEFUL_SET,
    "daemonsets": builtinschemas.DAEMON_SET,
    "jobs": builtinschemas.JOB,
}


def _cluster(group: str, version: str, plural: str, kind: str, *short: str, status: bool = False) -> Resource:
    subresources = _STATUS if status else ()
    return _builtin(group, version, plural, kind, *short, namespaced=False, subresources=subresources)


def _review(group: str, plural: str, kind: str, *, namespaced: bool = False) -> Resource:
    return Resource(group, "v1", plural, kind, namespaced, kind.lower(), verbs=("create",), storage="")


def builtin_resources() -> Registry:
    """A fresh table with everything that is served before any CustomResourceDefinition exists."""
    registry = Registry()
    for resource in (*_CORE, _NEW_EVENTS, *_WORKLOADS, *_ACCESS, *_CLUSTER_SERVICES, *_REVIEWS):
        registry.add(resource)
    return registry


_CORE = (
    _core("pods", "Pod", "po", subresources=("status", "binding", "eviction")),
    _cluster("", "v1", "nodes", "Node", "no", status=True),
    _builtin("", "v1", "namespaces", "Namespace", "ns", namespaced=False, subresources=("status", "finalize")),
    _core("events", "Event", "ev"),
    _core("services", "Service", "svc", subresources=_STATUS),
    _core("configmaps", "ConfigMap", "cm"),
    _core("secrets", "Secret"),
    _core("serviceaccounts", "ServiceAccount", "sa"),
    _core("persistentvolumeclaims", "PersistentVolumeClaim", "pvc", subresources=_STATUS),
    _cluster("", "v1", "persistentvolumes", "PersistentVolume", "pv", status=True),
    _core("replicationcontrollers", "ReplicationController", "rc", subresources=_SCALED),
    _core("resourcequotas", "ResourceQuota", "quota", subresources=_STATUS),
    _core("limitranges", "LimitRange", "limits"),
    _core("endpoints", "Endpoints", "ep"),
    Resource("", "v1", "bindings", "Binding", singular="binding", verbs=("create",)),
)
_NEW_EVENTS = Resource(
    "events.k8s.io",
    "v1",
    "events",
    "Event",
    singular="event",
    short_names=("ev",),
    storage="events",
    from_storage=events.from_core,
    to_storage=events.to_core,
)
_WORKLOADS = (
    _builtin("apps", "v1", "replicasets", "ReplicaSet", "rs", subresources=_SCALED),
    _builtin("apps", "v1", "statefulsets", "StatefulSet", "sts", subresources=_SCALED),
    _builtin("apps", "v1", "deployments", "Deployment", "deploy", subresources=_SCALED),
    _builtin("apps", "v1", "daemonsets", "DaemonSet", "ds", subresources=_STATUS),
    _builtin("apps", "v1", "controllerrevisions", "ControllerRevision"),
    _builtin("batch", "v1", "jobs", "Job", subresources=_STATUS),
    _builtin("batch", "v1", "cronjobs", "CronJob", "cj", subresources=_STATUS),
    _builtin("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", "hpa", subresources=_STATUS),
    _builtin("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", "pdb", subresources=_STATUS),
)
_ACCESS = (
    _builtin("rbac.authorization.k8s.io", "v1", "roles", "Role"),
    _builtin("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding"),
    _cluster("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole"),
    _cluster("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding"),
    _builtin("networking.k8s.io", "v1", "ingresses", "Ingress", "ing", subresources=_STATUS),
    _builtin("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", "netpol"),
)
_CLUSTER_SERVICES = (
    _builtin("coordination.k8s.io", "v1", "leases", "Lease"),
    _cluster("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass"),
    _cluster("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", "pc"),
    _builtin("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup", subresources=_STATUS),
    _cluster("storage.k8s.io", "v1", "storageclasses", "StorageClass", "sc"),
    _cluster("storage.k8s.io", "v1", "csinodes", "CSINode"),
    _cluster("storage.k8s.io", "v1", "csidrivers", "CSIDriver"),
    _builtin("storage.k8s.io", "v1", "csistoragecapacities", "CSIStorageCapacity"),
    _cluster("storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", status=True),
    _cluster(
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
        "crd",
        "crds",
        status=True,
    ),
)
_REVIEWS = (
    _review("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview"),
    _review("authorization.k8s.io", "selfsubjectrulesreviews", "SelfSubjectRulesReview"),
    _review("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview"),
    _review("authorization.k8s.io", "localsubjectaccessreviews", "LocalSubjectAccessReview", namespaced=True),
    _review("authentication.k8s.io", "tokenreviews", "TokenReview"),
    _review("authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview"),
)
