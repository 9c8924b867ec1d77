"""The fields of a `KubeSchedulerConfiguration` that koordpy knows, with their defaults.

Names are Kubernetes' own. What a value means, and which values go together, is decided in `configfile.py`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from koordpy.api.strict import Duration, Strict
from koordpy.plan.framework.profiles import PluginSet
from koordpy.quota.amounts import ANY_GPU
from koordpy.quota.membership import DEFAULT_QUEUE

API_VERSION = "kubescheduler.config.k8s.io/v1"
KIND = "KubeSchedulerConfiguration"


class LeaderElectionPart(Strict):
    leader_elect: bool = True
    lease_duration: Duration = "15s"
    renew_deadline: Duration = "10s"
    retry_period: Duration = "2s"
    resource_lock: str = "leases"
    resource_name: str = "koord-scheduler"
    resource_namespace: str = "kube-system"


class ClientConnectionPart(Strict):
    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = ""
    qps: float = 0
    burst: int = 0


class PluginPart(Strict):
    name: str
    weight: int = 0


class PluginSetPart(Strict):
    enabled: list[PluginPart] = []
    disabled: list[PluginPart] = []

    def chosen(self) -> PluginSet:
        return PluginSet(
            enabled=tuple((plugin.name, plugin.weight) for plugin in self.enabled),
            disabled=tuple(plugin.name for plugin in self.disabled),
        )


class PluginsPart(Strict):
    multi_point: PluginSetPart = msgspec.field(default_factory=PluginSetPart)
    filter: PluginSetPart = msgspec.field(default_factory=PluginSetPart)
    score: PluginSetPart = msgspec.field(default_factory=PluginSetPart)
    pre_enqueue: PluginSetPart | None = None
    queue_sort: PluginSetPart | None = None
    pre_filter: PluginSetPart | None = None
    post_filter: PluginSetPart | None = None
    pre_score: PluginSetPart | None = None
    reserve: PluginSetPart | None = None
    permit: PluginSetPart | None = None
    pre_bind: PluginSetPart | None = None
    bind: PluginSetPart | None = None
    post_bind: PluginSetPart | None = None


class PluginConfigPart(Strict):
    name: str
    args: dict[str, Any] = {}


class OfAProfile(Strict):
    """What koordpy adds, under a key of its own."""

    preemption: Literal["PreemptLowerPriority", "Never"] = "PreemptLowerPriority"
    require_scheduling_spec: bool = False


class QueuesPart(Strict):
    default: str = DEFAULT_QUEUE
    gpu_resources: list[str] = msgspec.field(default_factory=lambda: list(ANY_GPU))


class PartPart(Strict):
    """Numbers are given as paths in the workload, such as `spec.workers`, or as they are."""

    name: str
    replicas: str | int
    labels: dict[str, str]
    minimum: str | int | None = None


class GrouperPart(Strict):
    group: str
    kind: str
    replicas: str | int | None = None
    minimum: str | int | None = None
    sub_groups: list[PartPart] = []


class PodGrouperPart(Strict):
    enabled: bool = True
    groupers: list[GrouperPart] = []


class OfAll(OfAProfile):
    protected_namespaces: list[str] = []
    queues: QueuesPart = msgspec.field(default_factory=QueuesPart)
    advice: bool | Literal["On", "Off"] = True  # YAML reads a bare Off as false
    backfill: bool | Literal["On", "Off"] = True
    reservations: Literal[1] = 1
    pod_grouper: PodGrouperPart = msgspec.field(default_factory=PodGrouperPart)


class ProfilePart(Strict):
    scheduler_name: str = "koord-scheduler"
    koordpy: OfAProfile = msgspec.field(default_factory=OfAProfile)
    percentage_of_nodes_to_score: int | None = None
    plugins: PluginsPart = msgspec.field(default_factory=PluginsPart)
    plugin_config: list[PluginConfigPart] = []


class ConfigFile(Strict):
    api_version: str
    kind: str
    leader_election: LeaderElectionPart = msgspec.field(default_factory=LeaderElectionPart)
    client_connection: ClientConnectionPart = msgspec.field(default_factory=ClientConnectionPart)
    pod_initial_backoff_seconds: int = 1
    pod_max_backoff_seconds: int = 10
    profiles: list[ProfilePart] = msgspec.field(default_factory=lambda: [ProfilePart()])
    koordpy: OfAll = msgspec.field(default_factory=OfAll)
    parallelism: int | None = None
    percentage_of_nodes_to_score: int | None = None
    enable_profiling: bool | None = None
    enable_contention_profiling: bool | None = None
    delay_cache_until_active: bool | None = None
