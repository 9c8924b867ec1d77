"""Workloads of every kind that the PodGrouper knows, with garbage in each field that its rule reads.

The shapes are what the rules of `controllers/grouping/kinds` look at, as JSON schemas. The definitions take any field:
those that people install are not ours, and some check nothing.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from koordpy.api import keys
from koordpy.controllers.grouping.kinds import jobset, leaderworkerset, mpijob, pytorchjob, ray
from koordpy.controllers.grouping.kinds.table import BUILT_IN
from tests.builders import Json
from tests.hostile.objects import AMOUNTS, NAMES, TEXTS, TIMES, Values, of_schema

_TEXT, _COUNT = {"type": "string"}, {"type": "integer"}
_ANNOTATED = {"type": "object", "additionalProperties": _TEXT}
_TEMPLATE = {
    "type": "object",
    "properties": {"metadata": {"type": "object", "properties": {"annotations": _ANNOTATED}}},
}


def _shape(**fields: Any) -> Json:
    return {"type": "object", "properties": fields}


def _list(of: Json) -> Json:
    return {"type": "array", "items": of}


def _roles(field: str, *names: str) -> Json:
    role = _shape(replicas=_COUNT, template=_TEMPLATE)
    roles = _shape(**dict.fromkeys(names, role))
    policy = _shape(schedulingPolicy=_shape(minAvailable=_COUNT))
    elastic = _shape(minReplicas=_COUNT)
    return _shape(**{field: roles}, runPolicy=policy, elasticPolicy=elastic, launcherCreationPolicy=_TEXT)


_CLUSTER = _shape(
    headGroupSpec=_shape(template=_TEMPLATE),
    workerGroupSpecs=_list(
        _shape(
            groupName=_TEXT, replicas=_COUNT, minReplicas=_COUNT, numOfHosts=_COUNT,
            suspend={"type": "boolean"}, template=_TEMPLATE,
        )
    ),
    clusterSelector=_ANNOTATED,
)  # fmt: skip
_SPECS = {
    "JobSet": _shape(
        startupPolicy=_shape(startupPolicyOrder=_TEXT),
        replicatedJobs=_list(
            _shape(
                name=_TEXT,
                replicas=_COUNT,
                dependsOn=_list(_shape(name=_TEXT, status=_TEXT)),
                template={
                    "type": "object",
                    "properties": _TEMPLATE["properties"] | {"spec": _shape(parallelism=_COUNT, completions=_COUNT)},
                },
            )
        ),
    ),
    "PyTorchJob": _roles("pytorchReplicaSpecs", "Master", "Worker"),
    "TFJob": _roles("tfReplicaSpecs", "PS", "Worker"),
    "XGBoostJob": _roles("xgbReplicaSpecs", "Master", "Worker"),
    "JAXJob": _roles("jaxReplicaSpecs", "Worker"),
    "MPIJob": _roles("mpiReplicaSpecs", "Launcher", "Worker"),
    "RayCluster": _CLUSTER,
    "RayJob": _CLUSTER,
    "RayService": _CLUSTER,
    "LeaderWorkerSet": _shape(
        startupPolicy=_TEXT,
        leaderWorkerTemplate=_shape(
            size=_COUNT, workerTemplate=_TEMPLATE, subGroupPolicy=_shape(subGroupSize=_COUNT, subGroupPolicyType=_TEXT)
        ),
    ),
}
_SERVICE = _shape(rayClusterName=_TEXT)
_STATUS = _shape(rayClusterName=_TEXT, activeServiceStatus=_SERVICE, pendingServiceStatus=_SERVICE)

KINDS = {each.kind: each for each in BUILT_IN}
_LABELS = [
    jobset.REPLICATED_JOB, jobset.JOB_INDEX, leaderworkerset.GROUP_INDEX, leaderworkerset.WORKER_INDEX,
    mpijob.JOB_ROLE, pytorchjob.REPLICA_TYPE, pytorchjob.REPLICA_INDEX, ray.GROUP_LABEL, ray.PRIORITY_LABEL,
    "spark-app-name", "spark-app-selector", keys.QUEUE, keys.PRIORITY_CLASS_NAME, keys.SUBGROUP_NAME,
]  # fmt: skip
_VALUES = TEXTS | st.sampled_from([*AMOUNTS, "worker", "master", "leader", "launcher"])
_LABELLED = st.dictionaries(st.sampled_from(_LABELS), _VALUES, max_size=4)
_ANNOTATIONS = st.dictionaries(
    st.sampled_from(
        [
            keys.BATCH_MIN_MEMBER, keys.SEGMENT_SIZE, keys.SEGMENT_REQUIRED, keys.TOPOLOGY, keys.TOPOLOGY_REQUIRED,
            keys.RUNAI_POD_GROUP_NAME, keys.SKIP_PODGROUPER, "autoscaling.knative.dev/min-scale",
        ]
    ),
    _VALUES,
    max_size=4,
)  # fmt: skip
_UIDS = ["u1", "u2", "u3"]  # few, so that objects own each other and themselves


def api_version_of(kind: str) -> str:
    """Any version does: groups are told apart and versions are not."""
    group = KINDS[kind].group
    return f"{group}/v1"


def plural_of(kind: str) -> str:
    return f"{kind.lower()}s"


def definition_of(kind: str) -> Json:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": anything}}
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural_of(kind), "singular": kind.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural_of(kind)}.{KINDS[kind].group}"},
        "spec": {"group": KINDS[kind].group, "scope": "Namespaced", "names": names, "versions": [served]},
    }


def references(kinds: list[str]) -> Values:
    """To few objects, some of which exist; now and then to something that no API server serves."""
    known = st.sampled_from(kinds).flatmap(
        lambda kind: st.fixed_dictionaries(
            {
                "apiVersion": st.just(api_version_of(kind)),
                "kind": st.just(kind),
                "name": st.sampled_from(NAMES),
                "uid": st.sampled_from(_UIDS),
                "controller": st.booleans(),
            }
        )
    )
    strange = st.fixed_dictionaries(
        {
            "apiVersion": st.sampled_from(["v1", "v2", "../v1", "a/b", "apps/v1", "%2e%2e/v1", "x?y=/v1", "ß/v1"]),
            "kind": st.sampled_from(["Pod", "Node", "Namespace", "X", "ReplicaSet", "List", ""]),
            "name": st.sampled_from([*NAMES, "..", "a/b", "a/status", "a?watch=true", "\u202e", "x" * 300]),
            "uid": st.sampled_from([*_UIDS, "", "?", "default/a/1"]),
            "controller": st.booleans(),
        }
    )
    return st.lists(known | known | strange, max_size=2)


def metadata(kinds: list[str]) -> Values:
    return st.fixed_dictionaries(
        {
            "name": st.sampled_from(NAMES),
            "namespace": st.sampled_from(["default", "team"]),
            "uid": st.sampled_from(_UIDS),
            "creationTimestamp": st.sampled_from(TIMES),
            "labels": _LABELLED,
            "annotations": _ANNOTATIONS,
            "ownerReferences": references(kinds),
        }
    )


def workloads(kind: str, others: list[str]) -> Values:
    """Of one kind; its owners are of the others."""
    spec = of_schema(_SPECS.get(kind, _shape(x=_TEXT)))
    return st.fixed_dictionaries({"metadata": metadata(others), "spec": spec, "status": of_schema(_STATUS)})


def pods(kinds: list[str]) -> Values:
    """That are owned by objects of these kinds."""
    phase = st.sampled_from(["Pending", "Running", "Succeeded", "Failed", "", "x"])
    spec = {
        "schedulerName": st.just("koord-scheduler"),
        "containers": st.just([{"name": "main", "image": "x"}]),
        "nodeName": st.sampled_from(["", "", "n1"]),
        "priorityClassName": TEXTS,
    }
    status = st.fixed_dictionaries({"phase": phase})
    return st.fixed_dictionaries({"metadata": metadata(kinds), "spec": st.fixed_dictionaries(spec), "status": status})
