"""Objects as users write them: pods, gangs of each front-end, QueueJobs, workloads, queues, nodes."""

from __future__ import annotations

import json
from typing import Any

from koordpy.sim.embedded.kubelet import EXIT_CODE, RUN_SECONDS
from koordpy.sim.embedded.nodes import simulated_node
from koordpy.sim.simulate.reading import KOORDINATOR, OURS, RUN_TIME, SIGS

Json = dict[str, Any]

NAMESPACE = "users"
GPU = "nvidia.com/gpu"
QUEUE = "kai.scheduler/queue"
RACK = "example.com/rack"
POD_GROUPS = {
    "sigs": ("scheduling.sigs.k8s.io/v1alpha1", "podgroups.scheduling.sigs.k8s.io"),
    "kai": ("scheduling.run.ai/v2alpha2", "podgroups.scheduling.run.ai"),
    "native": ("scheduling.k8s.io/v1alpha2", "podgroups.scheduling.k8s.io"),
}
FRONT_ENDS = ("annotations", *POD_GROUPS)
CLASSES = {"low": 10, "mid": 50, "high": 90, "urgent": 1000}


def path(api_version: str, plural: str, namespace: str = NAMESPACE) -> str:
    root = "/api/v1" if api_version == "v1" else f"/apis/{api_version}"
    return f"{root}/namespaces/{namespace}/{plural}" if namespace else f"{root}/{plural}"


def pod_spec(ask: Json, scheduler: str = OURS) -> Json:
    """`ask`: cpu, gpu, priority."""
    requests = {"cpu": str(ask["cpu"])} | ({GPU: str(ask["gpu"])} if ask.get("gpu") else {})
    limits = {GPU: requests[GPU]} if GPU in requests else {}
    container = {"name": "main", "image": "work:1", "resources": {"requests": requests, "limits": limits}}
    spec: Json = {"schedulerName": scheduler, "restartPolicy": "Never", "containers": [container]}
    return spec | ({"priorityClassName": ask["priority"]} if ask.get("priority") else {})


def metadata(name: str, ask: Json) -> Json:
    """`ask`: run_s, declared_s, exit_code, queue."""
    annotations = {RUN_SECONDS: str(ask["run_s"])} if ask.get("run_s") else {}
    annotations |= {RUN_TIME: f"{ask['declared_s']}s"} if ask.get("declared_s") else {}
    annotations |= {EXIT_CODE: str(ask["exit_code"])} if ask.get("exit_code") else {}
    labels = {QUEUE: ask["queue"]} if ask.get("queue") else {}
    return {"name": name, "annotations": annotations, "labels": labels}


def pod(name: str, ask: Json, scheduler: str = OURS) -> Json:
    return {"metadata": metadata(name, ask), "spec": pod_spec(ask, scheduler)}


def member(gang: str, number: int, ask: Json) -> Json:
    """A pod of a gang of the front-end `ask["frontend"]`."""
    made = pod(f"{gang}-{number}", ask)
    meta, frontend = made["metadata"], ask["frontend"]
    meta["annotations"] |= gathering(ask)
    if frontend == "annotations":
        meta["annotations"] |= annotations_of(ask) | {f"{KOORDINATOR}/name": gang}
    elif frontend == "sigs":
        meta["labels"][SIGS] = gang
    elif frontend == "kai":
        meta["annotations"]["pod-group-name"] = gang
    else:
        made["spec"]["schedulingGroup"] = {"podGroupName": gang}
    return made


def annotations_of(ask: Json) -> dict[str, str]:
    """Koordinator's words for a gang."""
    said = {f"{KOORDINATOR}/min-available": str(ask["minimum"])}
    if ask.get("group"):
        said[f"{KOORDINATOR}/groups"] = json.dumps([f"{NAMESPACE}/{name}" for name in ask["group"]])
    return said | ({f"{KOORDINATOR}/mode": ask["mode"]} if ask.get("mode") else {})


def gathering(ask: Json) -> dict[str, str]:
    """`ask`: gather, a strategy for racks."""
    if not ask.get("gather"):
        return {}
    strategy = {"layer": "RackLayer", "strategy": ask["gather"]}
    return {f"{KOORDINATOR}/network-topology-spec": json.dumps({"gatherStrategy": [strategy]})}


def pod_group(gang: str, ask: Json) -> Json:
    frontend = ask["frontend"]
    api_version, _ = POD_GROUPS[frontend]
    minimum = ask["minimum"]
    spec: Json = {"minMember": minimum}
    if frontend == "native":
        spec = {"schedulingPolicy": {"gang": {"minCount": minimum}}}
        spec |= {"priorityClassName": ask["priority"]} if ask.get("priority") else {}
    labels = {QUEUE: ask["queue"]} if ask.get("queue") else {}
    annotations = {f"{KOORDINATOR}/mode": ask["mode"]} if frontend == "sigs" and ask.get("mode") else {}
    meta = {"name": gang, "labels": labels, "annotations": annotations | gathering(ask)}
    return {"apiVersion": api_version, "kind": "PodGroup", "metadata": meta, "spec": spec}


def queue_job(name: str, ask: Json) -> Json:
    template = {"metadata": metadata("", ask) | {"name": None}, "spec": pod_spec(ask)}
    del template["metadata"]["name"]
    task = {"name": "worker", "replicas": ask["members"], "template": template}
    spec = {"schedulerName": OURS, "maxRestarts": 2, "schedSpec": {"minAvailable": ask["minimum"]}, "taskSpecs": [task]}
    labels = {QUEUE: ask["queue"]} if ask.get("queue") else {}
    return {
        "apiVersion": "arbitrator.incubator.k8s.io/v1alpha1",
        "kind": "QueueJob",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
    }


def job(name: str, ask: Json) -> Json:
    meta = metadata("", ask)
    del meta["name"]
    template = {"metadata": meta, "spec": pod_spec(ask)}
    spec = {"parallelism": ask["members"], "completions": ask["members"], "backoffLimit": 3, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def pytorch_job(name: str, ask: Json) -> Json:
    meta = metadata("", ask)
    del meta["name"]
    pod_template = {"metadata": meta, "spec": pod_spec(ask)}
    roles = {
        "Master": {"replicas": 1, "restartPolicy": "OnFailure", "template": pod_template},
        "Worker": {"replicas": max(ask["members"] - 1, 1), "restartPolicy": "OnFailure", "template": pod_template},
    }
    labels = {QUEUE: ask["queue"]} if ask.get("queue") else {}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name, "labels": labels},
        "spec": {"pytorchReplicaSpecs": roles},
    }


def queue(name: str, ask: Json) -> Json:
    """`ask`: parent, and in CPUs quota and limit."""
    cpu = {key: ask[key] * 1000 for key in ("quota", "limit") if ask.get(key) is not None}
    spec: Json = {"resources": {"cpu": cpu}}
    if ask.get("parent"):
        spec["parentQueue"] = ask["parent"]
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}, "spec": spec}


def node(name: str, cpu: int, gpu: int, rack: str = "") -> Json:
    labels = {RACK: rack} if rack else {}
    return simulated_node(name, cpu=str(cpu), memory="64Gi", extended={GPU: str(gpu)} if gpu else None, labels=labels)


def topology(layers: list[Json]) -> Json:
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "ClusterNetworkTopology",
        "metadata": {"name": "default"},
        "spec": {"networkTopologySpec": layers},
    }


_RACKS = {"topologyLayer": "RackLayer", "labelKey": [RACK]}
_NODES = {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "RackLayer"}
TOPOLOGIES: dict[str, list[Json]] = {  # what a topology object may say
    "racks": [_RACKS, _NODES],
    "circle": [_RACKS | {"parentTopologyLayer": "RackLayer"}, _NODES],
    "nothing": [],
}
