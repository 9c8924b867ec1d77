"""Which fields pods, nodes and workloads have: what is not here is dropped, and a wrong type is refused.

Written in the form of a custom resource's schema, so that one piece of code follows both. Only as deep as
a scheduler reads; what is below (`ANYTHING`) is stored as it came.
"""

from __future__ import annotations

from typing import Any

Obj = dict[str, Any]

ANYTHING: Obj = {"x-kubernetes-preserve-unknown-fields": True}
TEXT: Obj = {"type": "string"}
WHOLE: Obj = {"type": "integer"}
FLAG: Obj = {"type": "boolean"}


def _record(**fields: Obj) -> Obj:
    return {"type": "object", "properties": fields}


def _list(item: Obj) -> Obj:
    return {"type": "array", "items": item}


def _map(value: Obj) -> Obj:
    return {"type": "object", "additionalProperties": value}


_OPEN = {"type": "object", **ANYTHING}
_AMOUNTS = _map(ANYTHING)  # an unreadable quantity has an error message of its own
_RESOURCES = _record(limits=_AMOUNTS, requests=_AMOUNTS, claims=_list(ANYTHING))
_NAMED = _record(name=TEXT)
_REQUIREMENT = _record(key=TEXT, operator=TEXT, values=_list(TEXT))
_SELECTOR = _record(matchLabels=_map(TEXT), matchExpressions=_list(_REQUIREMENT))

_CONTAINER = _record(
    **dict.fromkeys(("name", "image", "workingDir", "imagePullPolicy", "restartPolicy"), TEXT),
    **dict.fromkeys(("terminationMessagePath", "terminationMessagePolicy"), TEXT),
    **dict.fromkeys(("livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "securityContext"), _OPEN),
    **dict.fromkeys(("stdin", "stdinOnce", "tty"), FLAG),
    **dict.fromkeys(("command", "args"), _list(TEXT)),
    **dict.fromkeys(("env", "envFrom", "resizePolicy", "restartPolicyRules"), _list(_OPEN)),
    **dict.fromkeys(("volumeMounts", "volumeDevices"), _list(_OPEN)),
    ports=_list(_record(name=TEXT, hostPort=WHOLE, containerPort=WHOLE, protocol=TEXT, hostIP=TEXT)),
    resources=_RESOURCES,
)

_NODE_TERM = _record(matchExpressions=_list(_REQUIREMENT), matchFields=_list(_REQUIREMENT))
_POD_TERM = _record(
    labelSelector=_SELECTOR,
    namespaces=_list(TEXT),
    topologyKey=TEXT,
    namespaceSelector=_SELECTOR,
    matchLabelKeys=_list(TEXT),
    mismatchLabelKeys=_list(TEXT),
)
_POD_AFFINITY = _record(
    requiredDuringSchedulingIgnoredDuringExecution=_list(_POD_TERM),
    preferredDuringSchedulingIgnoredDuringExecution=_list(_record(weight=WHOLE, podAffinityTerm=_POD_TERM)),
)
_AFFINITY = _record(
    nodeAffinity=_record(
        requiredDuringSchedulingIgnoredDuringExecution=_record(nodeSelectorTerms=_list(_NODE_TERM)),
        preferredDuringSchedulingIgnoredDuringExecution=_list(_record(weight=WHOLE, preference=_NODE_TERM)),
    ),
    podAffinity=_POD_AFFINITY,
    podAntiAffinity=_POD_AFFINITY,
)
_SPREAD = _record(
    **dict.fromkeys(("maxSkew", "minDomains"), WHOLE),
    **dict.fromkeys(("topologyKey", "whenUnsatisfiable", "nodeAffinityPolicy", "nodeTaintsPolicy"), TEXT),
    labelSelector=_SELECTOR,
    matchLabelKeys=_list(TEXT),
)
_TOLERATION = _record(key=TEXT, operator=TEXT, value=TEXT, effect=TEXT, tolerationSeconds=WHOLE)

_POD_SPEC = _record(
    **dict.fromkeys(("restartPolicy", "dnsPolicy", "serviceAccountName", "serviceAccount", "nodeName"), TEXT),
    **dict.fromkeys(("hostname", "subdomain", "hostnameOverride", "schedulerName", "runtimeClassName"), TEXT),
    **dict.fromkeys(("priorityClassName", "preemptionPolicy"), TEXT),
    **dict.fromkeys(("terminationGracePeriodSeconds", "activeDeadlineSeconds", "priority"), WHOLE),
    **dict.fromkeys(("hostNetwork", "hostPID", "hostIPC", "hostUsers", "shareProcessNamespace"), FLAG),
    **dict.fromkeys(("automountServiceAccountToken", "enableServiceLinks", "setHostnameAsFQDN"), FLAG),
    **dict.fromkeys(("securityContext", "dnsConfig", "os"), _OPEN),
    **dict.fromkeys(("volumes", "hostAliases", "ephemeralContainers", "resourceClaims"), _list(_OPEN)),
    **dict.fromkeys(("containers", "initContainers"), _list(_CONTAINER)),
    **dict.fromkeys(("imagePullSecrets", "schedulingGates"), _list(_NAMED)),
    nodeSelector=_map(TEXT),
    affinity=_AFFINITY,
    tolerations=_list(_TOLERATION),
    readinessGates=_list(_record(conditionType=TEXT)),
    overhead=_AMOUNTS,
    topologySpreadConstraints=_list(_SPREAD),
    resources=_RESOURCES,
    schedulingGroup=_record(podGroupName=TEXT),
)
_NODE_SPEC = _record(
    **dict.fromkeys(("podCIDR", "providerID", "externalID"), TEXT),
    podCIDRs=_list(TEXT),
    unschedulable=FLAG,
    taints=_list(_record(key=TEXT, value=TEXT, effect=TEXT, timeAdded=TEXT)),
    configSource=_OPEN,
)

_TEMPLATE_METADATA = _record(
    **dict.fromkeys(("name", "generateName", "namespace", "uid", "resourceVersion"), TEXT),
    **dict.fromkeys(("labels", "annotations"), _map(TEXT)),
    **dict.fromkeys(("creationTimestamp", "generation", "managedFields"), ANYTHING),
    finalizers=_list(TEXT),
    ownerReferences=_list(_OPEN),
)
_TEMPLATE = _record(metadata=_TEMPLATE_METADATA, spec=_POD_SPEC)
_AMOUNT: Obj = {"x-kubernetes-int-or-string": True}
_STRATEGY = _record(type=TEXT, rollingUpdate=_record(maxSurge=_AMOUNT, maxUnavailable=_AMOUNT, partition=WHOLE))
_REPLICAS = {"replicas": WHOLE, "minReadySeconds": WHOLE, "selector": _SELECTOR, "template": _TEMPLATE}
_DEPLOYMENT_SPEC = _record(
    **_REPLICAS,
    **dict.fromkeys(("revisionHistoryLimit", "progressDeadlineSeconds"), WHOLE),
    strategy=_STRATEGY,
    paused=FLAG,
)
_STATEFUL_SET_SPEC = _record(
    **_REPLICAS,
    **dict.fromkeys(("serviceName", "podManagementPolicy"), TEXT),
    volumeClaimTemplates=_list(
        _record(apiVersion=TEXT, kind=TEXT, metadata=_TEMPLATE_METADATA, spec=_OPEN, status=_OPEN)
    ),
    persistentVolumeClaimRetentionPolicy=_record(whenDeleted=TEXT, whenScaled=TEXT),
    ordinals=_record(start=WHOLE),
    updateStrategy=_STRATEGY,
    revisionHistoryLimit=WHOLE,
)
_DAEMON_SET_SPEC = _record(
    **dict.fromkeys(("minReadySeconds", "revisionHistoryLimit"), WHOLE),
    selector=_SELECTOR,
    template=_TEMPLATE,
    updateStrategy=_STRATEGY,
)
_JOB_SPEC = _record(
    **dict.fromkeys(("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit"), WHOLE),
    **dict.fromkeys(("backoffLimitPerIndex", "maxFailedIndexes", "ttlSecondsAfterFinished"), WHOLE),
    **dict.fromkeys(("completionMode", "podReplacementPolicy", "managedBy"), TEXT),
    **dict.fromkeys(("podFailurePolicy", "successPolicy"), _OPEN),
    **dict.fromkeys(("suspend", "manualSelector"), FLAG),
    selector=_SELECTOR,
    template=_TEMPLATE,
)

POD = _record(spec=_POD_SPEC, status=_OPEN)
DEPLOYMENT = _record(spec=_DEPLOYMENT_SPEC, status=_OPEN)
REPLICA_SET = _record(spec=_record(**_REPLICAS), status=_OPEN)
STATEFUL_SET = _record(spec=_STATEFUL_SET_SPEC, status=_OPEN)
DAEMON_SET = _record(spec=_DAEMON_SET_SPEC, status=_OPEN)
JOB = _record(spec=_JOB_SPEC, status=_OPEN)
NODE = _record(spec=_NODE_SPEC, status=_OPEN)
