"""Why plugins and fields of other schedulers are dropped, one line each."""

from __future__ import annotations

from koordpy.plan.framework.registry import OUR_OWN, WITHOUT_MEANING

_KOORDINATORS = {
    "Reservation": "koordpy knows no Reservations",
    "LoadAwareScheduling": "koordpy places by what pods request, not by the load that was measured",
    "NodeNUMAResource": "koordpy chooses no CPUs and no NUMA nodes; the kubelet's CPU and topology managers do",
    "DeviceShare": "koordpy counts whole devices such as nvidia.com/gpu, and shares none of them",
    "ElasticQuota": "koordpy knows no ElasticQuotas",
    "SchedulingHint": "koordpy asks every node, and has no use for hints",
    "NodeResourcesFitPlus": "NodeResourcesFit has one scoringStrategy for all resources; see its arguments",
    "ScarceResourceAvoidance": "koordpy has no such score; examples/gpu-packing.yaml keeps GPU nodes whole",
    "CompatibleDefaultPreemption": "koordpy preempts for whole jobs by rules of its own (docs/preemption.md)",
    "DefaultPreBind": "koordpy writes nothing to a pod before it binds it",
}
_SCHEDULER_PLUGINS = {
    "CapacityScheduling": "koordpy knows no ElasticQuotas",
    "NodeResourceTopologyMatch": "koordpy knows no NUMA nodes; the kubelet's topology manager does",
    "NodeResourcesAllocatable": "koordpy has no such score; NodeResourcesFit has LeastAllocated and MostAllocated",
    "TargetLoadPacking": "koordpy places by what pods request, not by the load that was measured",
    "LoadVariationRiskBalancing": "koordpy places by what pods request, not by the load that was measured",
    "LowRiskOverCommitment": "koordpy places by what pods request, not by the load that was measured",
    "Peaks": "koordpy knows no power models",
    "NetworkOverhead": "koordpy gathers gangs by a ClusterNetworkTopology instead (docs/topology.md)",
    "TopologicalSort": "koordpy orders jobs by priority and age",
    "QOSSort": "koordpy orders jobs by priority and age",
    "PodState": "koordpy has no such score",
    "SySched": "koordpy has no such score",
    "NodeMetadata": "koordpy has no such score; NodeAffinity scores by labels",
    "PreemptionToleration": "who may be evicted is said by labels and koordpy.protectedNamespaces (docs/preemption.md)",
    "CrossNodePreemption": "koordpy's own preemption looks at all nodes at once (docs/preemption.md)",
}
_VOLUME_LIMITS = "it is part of NodeVolumeLimits"
_OF_OLD_KUBE_SCHEDULERS = {
    "SelectorSpread": "PodTopologySpread does the same by its default constraints",
    "NodePreferAvoidPods": "Kubernetes has removed it",
    "NodeLabel": "Kubernetes has removed it; NodeAffinity has addedAffinity",
    "ServiceAffinity": "Kubernetes has removed it; PodTopologySpread and pod affinity are left",
    "EBSLimits": _VOLUME_LIMITS,
    "GCEPDLimits": _VOLUME_LIMITS,
    "AzureDiskLimits": _VOLUME_LIMITS,
    "CinderLimits": _VOLUME_LIMITS,
}
_OUR_OWN = {  # names that koordpy accepts, and does not mean
    "DefaultPreemption": "koordpy preempts for whole jobs by rules of its own (docs/preemption.md)",
    "DynamicResources": "koordpy refuses pods with resource claims",
}
PART_OF_KOORDPY = (OUR_OWN | WITHOUT_MEANING) - _OUR_OWN.keys()
_PLUGINS = _KOORDINATORS | _SCHEDULER_PLUGINS | _OF_OLD_KUBE_SCHEDULERS | _OUR_OWN

_FIELDS = {
    "extenders": "koordpy calls no extenders",
    "healthzBindAddress": "say --bind-address and --port",
    "metricsBindAddress": "say --bind-address and --port",
}


def of_plugin(name: str) -> str:
    """Why a plugin is left out."""
    return _PLUGINS.get(name, "koordpy has no such plugin; docs/plugins.md says how to write a filter or a score")


def of_field(name: str) -> str:
    """Why a field is left out."""
    return _FIELDS.get(name, "koordpy has no such field")
