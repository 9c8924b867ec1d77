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
MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"  # on a CSINode: in-tree plugins, by commas
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"

# Gangs: membership. The first two name a PodGroup.
POD_GROUP = "pod-group.scheduling.sigs.k8s.io"
X_POD_GROUP = "scheduling.x-k8s.io/pod-group"
POD_GROUP_NAME = "pod-group.scheduling.sigs.k8s.io/name"
GANG_NAME = "gang.scheduling.koordinator.sh/name"

# Gangs: how one is configured, on pods and on PodGroups.
MIN_AVAILABLE = "gang.scheduling.koordinator.sh/min-available"
TOTAL_NUMBER = "gang.scheduling.koordinator.sh/total-number"
MODE = "gang.scheduling.koordinator.sh/mode"
GROUPS = "gang.scheduling.koordinator.sh/groups"
WAITING_TIME = "gang.scheduling.koordinator.sh/waiting-time"
MATCH_POLICY = "gang.scheduling.koordinator.sh/match-policy"
NETWORK_TOPOLOGY_SPEC = "gang.scheduling.koordinator.sh/network-topology-spec"
# Older spellings of some of them.
SIGS_MIN_AVAILABLE = "pod-group.scheduling.sigs.k8s.io/min-available"
SIGS_MATCH_POLICY = "pod-group.scheduling.sigs.k8s.io/match-policy"
GANG_GROUPS = "gang.scheduling.koordinator.sh/gang-groups"

GANG_TIMEOUT = "gang.scheduling.koordinator.sh/timeout"  # on a pod: its gang waited in vain; not scheduled again
NETWORK_TOPOLOGY_SELECTOR = "scheduling.koordinator.sh/network-topology-selector"  # on a pod: attracts equal ones
NETWORK_TOPOLOGY_INDEX = "gang.scheduling.koordinator.sh/network-topology-index"  # on a pod: its rank

# Preemption.
DISRUPTION_TARGET = "DisruptionTarget"  # condition of a victim
PREEMPTION_BY_SCHEDULER = "PreemptionByScheduler"  # its reason
GANG_STALE = "GangStale"  # or this one: its gang lost members and cannot be completed
DISABLE_PREEMPTIBLE = "scheduling.koordinator.sh/disable-preemptible"  # label: "true" protects a pod
QUOTA_PREEMPTIBLE = "quota.scheduling.koordinator.sh/preemptible"  # label: "false" protects a pod
QUESTIONED_OBJECT_KEY = "scheduling.koordinator.sh/questioned-object-key"  # label: pods that agree in it are one job
DISRUPTION_MODE = "koordpy.io/disruption-mode"  # on a PodGroup or a member: whether members are evicted one by one

STALENESS_GRACE_PERIOD = "koordpy.io/staleness-grace-period"  # on a PodGroup or a member: how long it may lack members

RUN_TIME = "koordpy.io/run-time"  # on a pod, a gang's object or an owner: how long it will run, as a Go duration
RESERVED_START = "koordpy.io/reserved-start"  # on a gang's object, else on its pods: when nodes are kept for it
BACKFILLED_UNTIL = "koordpy.io/backfilled-until"  # on a pod that was let in before a reserved start: when it ends
PLACEMENT = "koordpy.io/placement"  # on a PodGroup: the rating of its placement, as JSON

# On the pods of a QueueJob: whose they are, and which.
QUEUEJOB = "koordpy.io/queuejob"
TASK = "koordpy.io/task"
INDEX = "koordpy.io/index"
INCARNATION = "koordpy.io/incarnation"

# Workloads, in KAI's words: how pods and owners say what the PodGroup of a workload is to be like.
RUNAI_POD_GROUP_NAME = "pod-group-name"  # annotation of a pod: its PodGroup of scheduling.run.ai
SUBGROUP_NAME = "kai.scheduler/subgroup-name"  # label of a pod: its part of that PodGroup
QUEUE = "kai.scheduler/queue"  # label
SKIP_PODGROUPER = "kai.scheduler/skip-podgrouper"  # annotation: "true" leaves a pod, or all pods of an owner, alone
BATCH_MIN_MEMBER = "kai.scheduler/batch-min-member"  # annotation of a Job or JobSet
PRIORITY_CLASS_NAME = "priorityClassName"  # label
PREEMPTIBILITY = "kai.scheduler/preemptibility"  # label
TOPOLOGY = "kai.scheduler/topology"  # annotations
TOPOLOGY_REQUIRED = "kai.scheduler/topology-required-placement"
TOPOLOGY_PREFERRED = "kai.scheduler/topology-preferred-placement"
SEGMENT_SIZE = "kai.scheduler/segment-size"  # annotation: workers start in segments of so many
SEGMENT_REQUIRED = "kai.scheduler/segment-topology-required-placement"
SEGMENT_PREFERRED = "kai.scheduler/segment-topology-preferred-placement"
GROUPED_QUEUE = "koordpy.io/queue-of-workload"  # annotation of a PodGroup: the queue that the grouper gave it
MANAGED_BY = "app.kubernetes.io/managed-by"  # label: tells a PodGroup of our grouper from one that somebody wrote
PODGROUPER = "koordpy-podgrouper"  # its value, and the name of the grouper's lease
