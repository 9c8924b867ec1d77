"""Every label, annotation, condition and taint key that koordpy reads or writes."""

from __future__ import annotations

# Well-known node labels and taints.
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
UNSCHEDULABLE_TAINT = "node.kubernetes.io/unschedulable"

# Pod conditions and their reasons.
POD_SCHEDULED = "PodScheduled"
UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"

# Volumes.
SELECTED_NODE = "volume.kubernetes.io/selected-node"  # on a claim: provision it where this node can reach it
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"  # on a claim: the volume controller has finished with it
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"  # on a volume: may be unbound again with its claim
BETA_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
