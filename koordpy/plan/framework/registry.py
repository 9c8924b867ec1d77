"""The registry of plugins: every filter and score by its name in kube-scheduler, and how its arguments are read.

Other packages register plugins through the entry point groups `koordpy.filters` and `koordpy.scores`. Each entry point
names a callable that takes the plugin's `args` (a dict, empty if none) and returns a Filter or a Score. A plugin of
another package is disabled until a profile enables it by name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from koordpy.api.errors import MalformedValue
from koordpy.plan.filters.inter_pod_affinity import InterPodAffinity
from koordpy.plan.filters.node_affinity import NodeAffinity
from koordpy.plan.filters.node_ports import NodePorts
from koordpy.plan.filters.node_resources_fit import NodeResourcesFit
from koordpy.plan.filters.node_unschedulable import NodeUnschedulable
from koordpy.plan.filters.node_volume_limits import NodeVolumeLimits
from koordpy.plan.filters.pod_topology_spread import PodTopologySpread
from koordpy.plan.filters.taint_toleration import TaintToleration
from koordpy.plan.filters.volume_restrictions import VolumeRestrictions
from koordpy.plan.filters.volume_zone import VolumeZone
from koordpy.plan.framework import arguments
from koordpy.plan.framework.plugins import Filter, Score
from koordpy.plan.scores.image_locality import ImageLocality
from koordpy.plan.scores.network_topology import NetworkTopology
from koordpy.plan.scores.node_affinity import NodeAffinity as NodeAffinityScore
from koordpy.plan.scores.taint_toleration import TaintToleration as TaintTolerationScore

Args = Mapping[str, Any]


@dataclass(frozen=True)
class Plugin:
    """A plugin: factories of its filter and of its score, which take the arguments of `pluginConfig`."""

    name: str
    filter: Callable[[Args], Filter] | None = None
    score: Callable[[Args], Score] | None = None
    weight: int = 1
    takes_args: bool = False


# In kube-scheduler's order; the first filter that refuses a node gives the reason.
BUILT_IN = (
    Plugin("NodeUnschedulable", filter=lambda _: NodeUnschedulable()),
    Plugin("TaintToleration", lambda _: TaintToleration(), lambda _: TaintTolerationScore(), weight=3),
    Plugin(
        "NodeAffinity",
        lambda args: NodeAffinity(arguments.added_affinity(args).required),
        lambda args: NodeAffinityScore(arguments.added_affinity(args).preferred),
        weight=2,
        takes_args=True,
    ),
    Plugin("NodePorts", filter=lambda _: NodePorts()),
    Plugin(
        "NodeResourcesFit",
        lambda args: NodeResourcesFit(*arguments.ignored_resources(args)),
        arguments.fit_score,
        takes_args=True,
    ),
    Plugin("VolumeRestrictions", filter=lambda _: VolumeRestrictions()),
    Plugin("NodeVolumeLimits", filter=lambda _: NodeVolumeLimits()),
    Plugin("VolumeBinding", filter=arguments.volume_binding, takes_args=True),
    Plugin("VolumeZone", filter=lambda _: VolumeZone()),
    Plugin(
        "PodTopologySpread",
        lambda args: PodTopologySpread(arguments.default_spread(args)),
        arguments.spread_score,
        weight=2,
        takes_args=True,
    ),
    Plugin("InterPodAffinity", lambda _: InterPodAffinity(), arguments.affinity_score, weight=2, takes_args=True),
    Plugin("NodeResourcesBalancedAllocation", score=arguments.balanced_score, takes_args=True),
    Plugin("ImageLocality", score=lambda _: ImageLocality()),
    Plugin("NetworkTopology", score=lambda _: NetworkTopology()),  # ours; Koordinator has it in Coscheduling
)

# Gang scheduling is built into every extension point; `app/coscheduling.py` reads its arguments.
OUR_OWN = frozenset({"Coscheduling"})
# Plugins of kube-scheduler or Koordinator that koordpy has built in or does not have: naming them is no error.
WITHOUT_MEANING = frozenset(
    {
        "SchedulingGates", "PrioritySort", "NodeName", "DefaultPreemption", "DefaultBinder", "DynamicResources",
        "NodeDeclaredFeatures", "GangScheduling",
    }
)  # fmt: skip


def third_party() -> tuple[Plugin, ...]:
    """The plugins of other installed packages. None is imported before a profile enables it."""
    filters, scores = _offers("koordpy.filters"), _offers("koordpy.scores")
    return tuple(
        Plugin(name, filters.get(name), scores.get(name), takes_args=True)
        for name in sorted(filters.keys() | scores.keys())
    )


def _offers(group: str) -> dict[str, Callable[[Args], Any]]:
    by_name: defaultdict[str, list[EntryPoint]] = defaultdict(list)
    for point in entry_points(group=group):
        by_name[point.name].append(point)
    return {name: partial(_make, points) for name, points in by_name.items()}


def _make(points: list[EntryPoint], args: Args) -> Any:
    if len(points) > 1:
        packages = sorted(point.dist.name if point.dist is not None else "?" for point in points)
        raise MalformedValue("entry point", points[0].name, f"is offered by {' and by '.join(packages)}; remove one")
    return points[0].load()(args)
