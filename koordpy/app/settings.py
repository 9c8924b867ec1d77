"""One tree of frozen settings. Each field gives its unit, its default and the reason for it.

Where they come from (a file, flags) is not this module's business; see `koordpy.app.configfile` and `koordpy.cli`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from koordpy.app.journal.settings import JournalSettings
from koordpy.controllers.grouping.settings import GroupingSettings
from koordpy.kube.leader import Timing
from koordpy.plan.framework.profile import Profile
from koordpy.plan.framework.profiles import default_profile
from koordpy.scheduler.queues.settings import QueueSettings
from koordpy.scheduler.settings import GangSettings
from koordpy.server.settings import Serving
from koordpy.state.gangs.spec import GangDefaults


@dataclass(frozen=True)
class LeaderElection:
    """At most one of several replicas writes."""

    enabled: bool = True
    namespace: str = "kube-system"
    name: str = "koord-scheduler"  # Koordinator's own name: the two never run as leaders side by side by mistake
    timing: Timing = field(default_factory=Timing)


@dataclass(frozen=True)
class Settings:
    """Everything that can be set."""

    profiles: tuple[Profile, ...] = field(default_factory=lambda: (default_profile("koord-scheduler"),))
    leader_election: LeaderElection = LeaderElection()
    serving: Serving = field(default_factory=Serving)
    first_backoff_s: float = 1.0  # kube-scheduler's
    most_backoff_s: float = 10.0  # kube-scheduler's
    bind_width: int = 32  # binds in flight; on a server without latency more buys nothing, and etcd writes one by one
    gang_defaults: GangDefaults = field(default_factory=GangDefaults)
    gangs: GangSettings = field(default_factory=GangSettings)
    # schedulerNames of which every pod that has a controller needs a SchedulingSpec
    needing_spec: frozenset[str] = frozenset()
    grouping: GroupingSettings = field(default_factory=GroupingSettings)
    queues: QueueSettings = field(default_factory=QueueSettings)
    advice: bool = True  # messages of jobs that wait end in what would start them
    backfill: bool = True  # without a declared run time anywhere it does nothing
    protected_namespaces: frozenset[str] = frozenset()  # nobody there is ever evicted
    volume_bind_timeout_s: float = 600.0  # kube-scheduler's; a provisioner can take minutes
    journal: JournalSettings | None = None
    kubeconfig: str | None = None
    context: str | None = None  # of the kubeconfig; its current one
