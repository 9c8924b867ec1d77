"""One tree of frozen settings. Each field gives its unit, its default and the reason for it.

Where they come from (a file, flags) is not this module's business; see `koordpy.configfile` and `koordpy.cli`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from koordpy.kube.leader import Timing
from koordpy.plan.framework.profile import Profile
from koordpy.plan.framework.profiles import default_profile
from koordpy.state.gangs.spec import GangDefaults


@dataclass(frozen=True)
class LeaderElection:
    """At most one of several replicas writes."""

    enabled: bool = True
    namespace: str = "kube-system"
    name: str = "koord-scheduler"  # Koordinator's own name: the two never run as leaders side by side by mistake
    timing: Timing = field(default_factory=Timing)


@dataclass(frozen=True)
class Serving:
    """Health and metrics."""

    address: str = "0.0.0.0"  # noqa: S104 - kubelets and Prometheus ask from outside the pod
    port: int = 10251
    tls_cert_file: str = ""
    tls_private_key_file: str = ""


@dataclass(frozen=True)
class GangSettings:
    """How jobs, and gangs above all, are treated."""

    on_timeout: Literal["Abandon", "Retry"] = "Abandon"  # a gang that waited in vain is left alone, as documented
    max_gap_percent: int = 100  # a NonStrict gang that misses more of its minimum than this keeps nothing
    preemption: bool = True
    topology: bool = True


@dataclass(frozen=True)
class Settings:
    """Everything that can be set."""

    profiles: tuple[Profile, ...] = field(default_factory=lambda: (default_profile("koord-scheduler"),))
    leader_election: LeaderElection = LeaderElection()
    serving: Serving = Serving()
    first_backoff_s: float = 1.0  # kube-scheduler's
    most_backoff_s: float = 10.0  # kube-scheduler's
    bind_width: int = 32  # binds in flight; on a server without latency more buys nothing, and etcd writes one by one
    gang_defaults: GangDefaults = field(default_factory=GangDefaults)
    gangs: GangSettings = GangSettings()
    protected_namespaces: frozenset[str] = frozenset()  # nobody there is ever evicted
    volume_bind_timeout_s: float = 600.0  # kube-scheduler's; a provisioner can take minutes
    kubeconfig: str | None = None
