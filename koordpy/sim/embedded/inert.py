"""Built-in kinds that are stored and served, and that nobody acts on: their author is told so in a warning.

To store them lets manifests be applied that were written for a real cluster.
"""

from __future__ import annotations

_NO_CONTROLLER = "the embedded cluster has no {} controller: it is stored, and nothing follows from it"
_NOT_ENFORCED = "the embedded cluster does not enforce this {}: everybody may do everything"

NOBODY_ACTS = {
    "daemonsets.apps": _NO_CONTROLLER.format("DaemonSet"),
    "replicationcontrollers": _NO_CONTROLLER.format("ReplicationController"),
    "cronjobs.batch": _NO_CONTROLLER.format("CronJob"),
    "horizontalpodautoscalers.autoscaling": _NO_CONTROLLER.format("HorizontalPodAutoscaler"),
    "poddisruptionbudgets.policy": _NO_CONTROLLER.format("disruption") + ", until somebody writes its status",
    "ingresses.networking.k8s.io": _NO_CONTROLLER.format("Ingress"),
    "networkpolicies.networking.k8s.io": "the embedded cluster has no network: this NetworkPolicy is stored only",
    "resourcequotas": "the embedded cluster enforces a ResourceQuota for pods alone, and none with scopes",
    "limitranges": _NOT_ENFORCED.format("LimitRange"),
    "roles.rbac.authorization.k8s.io": _NOT_ENFORCED.format("Role"),
    "rolebindings.rbac.authorization.k8s.io": _NOT_ENFORCED.format("RoleBinding"),
    "clusterroles.rbac.authorization.k8s.io": _NOT_ENFORCED.format("ClusterRole"),
    "clusterrolebindings.rbac.authorization.k8s.io": _NOT_ENFORCED.format("ClusterRoleBinding"),
}
