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
