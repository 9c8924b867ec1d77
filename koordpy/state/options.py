"""What the configuration says about the cluster state."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from koordpy.state.eviction import ByPriority, EvictionPolicy
from koordpy.state.gangs.spec import GangDefaults
from koordpy.state.queues import NoQueues, QueueLedger


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """What the configuration says about the state."""

    schedulers: Collection[str] = ()  # ours: pods of others are never members that count
    gang_defaults: GangDefaults = field(default_factory=GangDefaults)
    eviction_policy: EvictionPolicy = field(default_factory=ByPriority)
    queues: QueueLedger = field(default_factory=NoQueues)
    evictions: bool = True  # False: no profile preempts, so who could be evicted is no matter
    needing_spec: Collection[str] = ()  # schedulers of which every pod with a controller needs a SchedulingSpec
    protected_namespaces: frozenset[str] = frozenset()  # nobody there is ever evicted
    counts_all_resources: bool = True  # False: some profile ignores some resources


DEFAULTS = ClusterOptions()
