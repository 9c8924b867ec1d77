"""Small pictures for preemption: what runs where, which budgets and gangs there are, and a job that wants in.

The truth is API objects in lists, so that a picture without some pods, or with one of them put back, is made anew and
owes nothing to koordpy's own way of trying things out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from koordpy.api.node import Node
from koordpy.api.pod import Pod
from koordpy.api.podgroup.coscheduling import SIGS_GROUP, PodGroup, gang_object_of
from koordpy.api.policy import PodDisruptionBudget
from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.job import Demand, Job
from koordpy.plan.framework.profiles import default_profile
from koordpy.plan.placement.gangs import plan_gangs
from koordpy.plan.placement.pods import plan
from koordpy.plan.preemption.eligibility import Preemption, find_preemption
from koordpy.state.cluster import Cluster
from koordpy.state.options import ClusterOptions
from tests.builders import Json, node_json, pod_json, typed, with_identity

SCHEDULER = "koord-scheduler"
PROFILES = {SCHEDULER: default_profile(SCHEDULER)}
POD_GROUP_LABEL = "pod-group.scheduling.sigs.k8s.io"
MODE = "koordpy.io/disruption-mode"
JOB_KEY = "scheduling.koordinator.sh/questioned-object-key"
HIGH = 100  # of the job that wants in, unless it says otherwise


class Stage:
    """Everything is in namespace `default` unless said otherwise; the UID of pod `a` is `a`."""

    def __init__(self) -> None:
        self.nodes: list[Json] = []
        self.pods: list[Json] = []
        self.pod_groups: list[Json] = []
        self.budgets: list[Json] = []
        self.protected_namespaces: frozenset[str] = frozenset()
        self.demands: list[tuple[str, int, list[str]]] = []  # gang, minimum, members; none: the job is one pod
        self.wanted: list[str] = []  # the members of the job

    # --- what there is ---

    def node(self, name: str, **given: Any) -> None:
        self.nodes.append(node_json(name, **given))

    def runs(
        self, name: str, on: str, *, gang: str = "", labels: Json | None = None, started: int | None = None,
        leaves_for: str = "", **given: Any,
    ) -> None:  # fmt: skip
        """A pod of one CPU on a node; `started` so many minutes past the hour, `leaves_for` a job already."""
        all_labels = {**({POD_GROUP_LABEL: gang} if gang else {}), **(labels or {})}
        obj = self._pod(name, **{"cpu": 1, "priority": 0, "node": on, "labels": all_labels} | given)
        obj["status"] = {"phase": "Running"}
        if started is not None:
            obj["status"]["startTime"] = f"2026-01-01T00:{started:02}:00Z"
        if leaves_for:
            obj["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
            obj["status"]["conditions"] = [_disrupted(leaves_for)]

    def gang(self, name: str, minimum: int, *, mode: str = "") -> None:
        """A PodGroup; `mode` is its disruption mode, if it says one."""
        annotations = {MODE: mode} if mode else {}
        meta = {"name": name, "namespace": "default", "annotations": annotations}
        self.pod_groups.append({"metadata": meta, "spec": {"minMember": minimum}})

    def budget(self, name: str, allowed: int, **labels: str) -> None:
        """A PodDisruptionBudget over the pods with these labels."""
        spec, status = {"selector": {"matchLabels": labels}}, {"disruptionsAllowed": allowed}
        self.budgets.append({"metadata": {"name": name, "namespace": "default"}, "spec": spec, "status": status})

    # --- who wants in ---

    def wants(self, name: str, *, promised: str = "", never: bool = False, gang: str = "", **given: Any) -> None:
        """A pending pod of the job."""
        self.wanted.append(name)
        obj = self._pod(name, **{"cpu": 1, "priority": HIGH} | given)
        obj["metadata"]["labels"] = (obj["metadata"].get("labels") or {}) | ({POD_GROUP_LABEL: gang} if gang else {})
        obj["status"] = {"nominatedNodeName": promised} if promised else {}
        if never:
            obj["spec"]["preemptionPolicy"] = "Never"

    def wants_gang(self, name: str, *members: str, minimum: int | None = None, **given: Any) -> None:
        """A gang of the job; its members have all of them the same size."""
        for member in members:
            self.wants(member, gang=name, **given)
        self.demands.append((f"default/{name}", len(members) if minimum is None else minimum, list(members)))

    def waits(self, name: str, promised: str, **given: Any) -> None:
        """A pending pod that has nothing to do with the job, and was promised a node."""
        obj = self._pod(name, **{"cpu": 1, "priority": 0} | given)
        obj["status"] = {"nominatedNodeName": promised}

    # --- answers ---

    def picture(self, without: Collection[str] = (), promised: Mapping[str, str] | None = None) -> Cluster:
        """Made anew, without pods of these names; and with members of the job `promised` their nodes."""
        cluster = Cluster(ClusterOptions(schedulers=(SCHEDULER,), protected_namespaces=self.protected_namespaces))
        for each in self.nodes:
            cluster.upsert_node(typed(each, Node))
        for each in self.pod_groups:
            group = typed(each, PodGroup)
            cluster.set_gang_object(f"{SIGS_GROUP}/v1alpha1", group.metadata.key, gang_object_of(SIGS_GROUP, group))
        for each in self.budgets:
            cluster.budgets.upsert(typed(each, PodDisruptionBudget))
        for each in self.pods:
            if each["metadata"]["name"] not in without:
                cluster.upsert_pod(typed(each, Pod))
        for name, node in (promised or {}).items():
            cluster.nominate(name, node)
        return cluster

    def job(self, cluster: Cluster) -> Job:
        members = tuple(cluster.pods[name] for name in self.wanted)
        demands = tuple(
            Demand(gang, minimum, 0, "Strict", tuple(cluster.pods[name] for name in names))
            for gang, minimum, names in self.demands
        )
        return Job(",".join(gang for gang, _, _ in self.demands) or members[0].uid, members, demands)

    def asked(self) -> Preemption | str:
        cluster = self.picture()
        return find_preemption(self.job(cluster), cluster, PROFILES)

    def victims(self) -> list[str]:
        """Whom the job would evict, by name; there must be such a preemption."""
        found = self.asked()
        assert isinstance(found, Preemption), found
        return sorted(victim.name for victim in found.victims)

    def refusal(self) -> str:
        found = self.asked()
        assert isinstance(found, str), found
        return found

    @property
    def priority(self) -> int:
        """The lowest of the job's members."""
        return min(pod["spec"]["priority"] for pod in self.pods if pod["metadata"]["name"] in self.wanted)

    def leaving(self) -> list[str]:
        """Pods of lower priority that are terminating."""
        return [
            pod["metadata"]["name"]
            for pod in self.pods
            if "deletionTimestamp" in pod["metadata"] and pod["spec"]["priority"] < self.priority
        ]

    def fits_without(self, gone: Iterable[str], promised: Mapping[str, str] | None = None) -> bool:
        """Whether the planner finds a place for the whole job when these pods are gone, and those that leave anyway."""
        cluster = self.picture({*gone, *self.leaving()}, promised)
        answer = planned(self.job(cluster), cluster)
        return isinstance(answer, Plan) and answer.missing is None

    def _pod(self, name: str, **given: Any) -> Json:
        obj = pod_json(name, **given)
        obj["metadata"]["uid"] = name
        self.pods.append(with_identity(obj))
        return obj


def planned(job: Job, cluster: Cluster) -> Plan | Refusal:
    if job.demands:
        return plan_gangs(job, cluster, PROFILES)
    return plan(job, cluster, PROFILES[SCHEDULER])


def _disrupted(job: str) -> Json:
    message = f"{SCHEDULER}: preempting to accommodate higher priority pods, preemptor: {job}, triggerpod: {job}"
    return {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": message}


def stage(*nodes: str, cpu: int = 4, **given: object) -> Stage:
    """Nodes of one kind, and nobody on them."""
    made = Stage()
    for name in nodes:
        made.node(name, cpu=cpu, **given)
    return made
