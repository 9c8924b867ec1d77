"""What the generator may put into a case: one table, with a switch for each part of scheduling.

A feature that koordpy has not got yet is switched off here and nowhere else; the probability is that of a cluster,
or of an incoming pod, having anything to do with it.
"""

ON, OFF = True, False

TABLE = {
    # feature: (switch, probability, what it brings)
    "requests": (ON, 0.9, "requests of cpu and memory, of all sizes down to none"),
    "init-containers": (ON, 0.3, "init containers and sidecars"),
    "extended-resources": (ON, 0.3, "example.com/gpu and huge pages"),
    "ephemeral-storage": (ON, 0.15, "ephemeral-storage on nodes and in requests"),
    "pod-level-resources": (ON, 0.1, "requests of the pod as a whole"),
    "overhead": (ON, 0.1, "a runtime class with overhead"),
    "pod-limit": (ON, 0.15, "nodes that take few pods"),
    "no-nodes": (ON, 0.02, "clusters without any node"),
    "odd-nodes": (ON, 0.1, "nodes that have none of a resource, or do not mention it"),
    "lost-nodes": (ON, 0.1, "pods on a node that is gone"),
    "terminating": (ON, 0.2, "bound pods that are being deleted"),
    "resized": (ON, 0.2, "bound pods in the middle of a resize in place"),
    "finished": (ON, 0.1, "pods that have run to completion"),
    "unschedulable": (ON, 0.3, "cordoned nodes, and pods that tolerate that"),
    "taints": (ON, 0.5, "taints of all effects, tolerations with both operators"),
    "node-selector": (ON, 0.2, "spec.nodeSelector"),
    "node-affinity": (ON, 0.4, "required and preferred terms with all operators"),
    "match-fields": (ON, 0.15, "terms that name nodes"),
    "host-ports": (ON, 0.3, "host ports with protocols and addresses"),
    "images": (ON, 0.4, "images that nodes already have"),
    "image-volumes": (ON, 0.2, "images that are mounted"),
    "hard-spread": (ON, 0.3, "topology spread constraints that must hold"),
    "soft-spread": (ON, 0.3, "topology spread constraints that should hold"),
    "default-spread": (ON, 0.3, "spread by the Services and the owner of the pod"),
    "stolen-pods": (ON, 0.2, "pods whose owner selects others than they are"),
    "pod-affinity": (ON, 0.3, "required affinity to other pods"),
    "pod-anti-affinity": (ON, 0.3, "required anti-affinity, both ways"),
    "preferred-pod-affinity": (ON, 0.3, "preferred affinity and anti-affinity, both ways"),
    "namespace-selector": (ON, 0.4, "pod affinity across namespaces"),
    "bound-claims": (ON, 0.15, "claims with volumes that have a place, a zone, a limit or a single user"),
    "waiting-claims": (ON, 0.15, "claims that get their volume where the pod goes"),
    "broken-claims": (ON, 0.1, "claims that cannot be used"),
    "disks": (ON, 0.1, "disks that are named in the pod itself"),
    "preemption": (ON, 0.4, "crowded nodes, and an incoming pod that others may have to leave for"),
    "budgets": (ON, 0.4, "PodDisruptionBudgets that cover pods on nodes"),
    "nominated": (ON, 0.3, "pending pods that were promised a node, the incoming one among them"),
    "never": (ON, 0.05, "an incoming pod that nobody has to leave for"),
    "preempted": (ON, 0.1, "bound pods that are leaving for somebody already"),
    # Corners in which kube-scheduler does what nobody would expect of it, or what koordpy does not; each says what.
    "negative-namespaces": (OFF, 0.2, "namespaceSelector of NotIn and DoesNotExist, which it takes for all namespaces"),
    "far-promises": (OFF, 0.2, "promised pods with rules for other nodes: it counts them for their own node alone"),
    "no-number": (OFF, 0.2, "preference for a label greater than 'x': it says SchedulerError instead of ignoring it"),
}

# What decides together, and is met too seldom by chance: who is spread must be kept from some nodes to see what counts.
RELATED = [
    frozenset(("hard-spread", "soft-spread", "taints", "node-selector", "node-affinity", "terminating")),
    frozenset(("hard-spread", "default-spread", "soft-spread", "unschedulable", "lost-nodes", "stolen-pods")),
    frozenset(("pod-affinity", "pod-anti-affinity", "preferred-pod-affinity", "namespace-selector", "terminating")),
    frozenset(("pod-affinity", "preferred-pod-affinity", "default-spread", "negative-namespaces", "node-affinity")),
    frozenset(("requests", "init-containers", "pod-level-resources", "overhead", "resized", "pod-limit", "odd-nodes")),
    frozenset(("bound-claims", "waiting-claims", "broken-claims", "disks", "node-selector", "requests")),
    frozenset(("preemption", "requests", "budgets", "nominated", "never", "preempted", "terminating")),
    frozenset(("preemption", "host-ports", "pod-limit", "extended-resources", "budgets", "taints")),
    frozenset(("preemption", "pod-affinity", "pod-anti-affinity", "namespace-selector", "nominated")),
    frozenset(("preemption", "hard-spread", "node-affinity", "match-fields", "requests", "nominated")),
]

# Added to whatever is in focus where somebody shall have to leave.
CONTENDED = frozenset(("preemption", "requests", "budgets"))

Features = frozenset[str]
ENABLED: Features = frozenset(name for name, (switch, _, _) in TABLE.items() if switch)


def probability(feature: str) -> float:
    return TABLE[feature][1]
