"""What koordpy was allowed and denied during all stories before, and what is left when it is removed."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator

import pytest

from e2e.cluster.kind import Kind
from e2e.stories.cluster import RELEASE, SYSTEM, Cluster, Json, until
from e2e.stories.workloads import Workloads
from koordpy.app import install

Right = tuple[str, str, str]  # API group, resource, verb

# Rights that no story here needs, each for a moment that the stories do not have.
_LEASES = ("koord-scheduler", "koordpy-controllers", "koordpy-podgrouper")
_RUN_TIMES = "koordpy-run-times"
WORKLOADS = {  # kinds whose pods are grouped, but for those that have their stories here
    "": ("replicationcontrollers",),
    "apps": ("daemonsets", "deployments", "replicasets", "statefulsets"),
    "batch": ("cronjobs",),
    "kubeflow.org": ("jaxjobs", "mpijobs", "notebooks", "tfjobs", "xgboostjobs"),
    "trainer.kubeflow.org": ("trainjobs",),
    "jobset.x-k8s.io": ("jobsets",),
    "leaderworkerset.x-k8s.io": ("leaderworkersets",),
    "ray.io": ("rayclusters", "rayjobs", "rayservices"),
    "argoproj.io": ("workflows",),
    "serving.knative.dev": ("configurations", "revisions", "services"),
}
RARE: dict[str, set[Right]] = {
    "koordpy-scheduler": {
        ("", "pods", "get"),  # a bind whose answer was lost
        ("", "persistentvolumeclaims", "patch"),  # claims that are bound where their pod will run
        ("", "persistentvolumes", "patch"),
        ("scheduling.x-k8s.io", "podgroups", "patch"),  # gangs of the coscheduling plugin
        ("events.k8s.io", "events", "patch"),  # events that become a series
        # Gangs of other front-ends, which have their stories on a kube-apiserver (tests/scenarios).
        ("scheduling.run.ai", "podgroups", "patch"),
        ("scheduling.k8s.io", "podgroups", "patch"),
        ("scheduling.k8s.io", "podgroups", "watch"),  # served behind a feature gate
        ("arbitrator.incubator.k8s.io", "schedulingspecs", "patch"),
    },
    "koordpy-controllers": {
        # Definitions without a status of its own, as Koordinator's have none.
        ("scheduling.sigs.k8s.io", "podgroups", "patch"),
        ("scheduling.x-k8s.io", "podgroups", "patch"),
        ("scheduling.x-k8s.io", "podgroups/status", "patch"),
        ("scheduling.koordinator.sh", "clusternetworktopologies", "patch"),
        ("events.k8s.io", "events", "create"),  # a topology that is wrong
        ("events.k8s.io", "events", "patch"),
        ("scheduling.run.ai", "queues", "patch"),
        # A PodGroup that was made and not seen yet, and one whose workload has changed.
        *(("scheduling.run.ai", "podgroups", verb) for verb in ("get", "patch")),
        # PodGroups of Kubernetes itself, and other workloads that are grouped: the same.
        ("scheduling.k8s.io", "podgroups/status", "patch"),
        ("scheduling.k8s.io", "podgroups", "watch"),
        *(
            (group, kind, verb)
            for group, kinds in WORKLOADS.items()
            for kind in kinds
            for verb in ("get", "list", "watch")
        ),
        # QueueJobs that are changed, found half made, or whose time to live is over: tests/controllers/queuejob.
        ("", "pods", "get"),
        *(("", "services", verb) for verb in ("get", "delete")),
        ("", "resourcequotas", "list"),  # several pods beyond the minimums of a namespace
        *(("arbitrator.incubator.k8s.io", "schedulingspecs", verb) for verb in ("get", "patch")),
        *(("arbitrator.incubator.k8s.io", "queuejobs", verb) for verb in ("patch", "delete")),
        ("arbitrator.incubator.k8s.io", "queuejobs/finalizers", "update"),
    },
}


@pytest.mark.usefixtures("cluster")
def test_nothing_that_koordpy_asked_for_was_denied(kind: Kind) -> None:
    assert _denied(kind) == set()


def _denied(kind: Kind, since: str = "") -> set[tuple[str, ...]]:
    """But for moments: an API server that has just started denies everybody everything until it has read the roles."""
    log = [entry for entry in kind.audit_log() if "objectRef" in entry and entry["stageTimestamp"] > since]
    assert log, "the audit log is empty: nothing is proved"
    allowed: dict[tuple[str, ...], list[str]] = {}
    for entry in log:
        if _is_allowed(entry):
            allowed.setdefault(_request(entry), []).append(entry["stageTimestamp"])
    denied = [entry for entry in log if entry["responseStatus"]["code"] == 403]
    return {
        _request(entry)
        for entry in denied
        if not min(allowed.get(_request(entry), ["~"]))
        < entry["stageTimestamp"]
        < max(allowed.get(_request(entry), [""]))
    }


def _is_allowed(entry: Json) -> bool:
    """Also what is not there, or not served: rights are looked at before."""
    code: int = entry["responseStatus"]["code"]
    return code < 300 or code == 404


def _request(entry: Json) -> tuple[str, ...]:
    """Who asked for which right; rights over leases and ConfigMaps are rights over one of them."""
    named = entry["objectRef"]["resource"] in {"leases", "configmaps"}
    name = entry["objectRef"].get("name", "") if named else ""
    return (entry["user"]["username"], *_right(entry), name)


def test_every_right_is_used_or_has_its_reason(cluster: Cluster, kind: Kind) -> None:
    for account, rare in RARE.items():
        role = cluster.get("clusterrole", account)
        user = f"system:serviceaccount:{SYSTEM}:{account}"
        used = {
            _right(entry) for entry in kind.audit_log() if entry["user"]["username"] == user and "objectRef" in entry
        }
        granted = set(_rights(role))
        assert granted - used - rare == set(), f"{account} may do what no story needs"
        assert rare <= granted, f"{account} has lost a right"


def test_the_scheduler_may_keep_what_it_has_learnt_and_nothing_else_there(cluster: Cluster) -> None:
    """It writes seldom, and no story waits for that: the API server is asked whether it might."""
    assert _may_change_configmap(cluster, "create", "")
    assert _may_change_configmap(cluster, "patch", _RUN_TIMES)
    assert not _may_change_configmap(cluster, "patch", "kubeadm-config")


def _may_change_configmap(cluster: Cluster, verb: str, name: str) -> bool:
    user = f"system:serviceaccount:{SYSTEM}:koordpy-scheduler"
    where = {"namespace": "kube-system", "resource": "configmaps", "verb": verb, "name": name}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
    asked = json.dumps({**review, "spec": {"user": user, "resourceAttributes": where}})
    answer: Json = json.loads(cluster.kubectl("create", "-f", "-", "-o", "json", given=asked))
    return bool(answer["status"]["allowed"])


def test_nobody_has_logged_an_error_of_its_own(cluster: Cluster) -> None:
    """Of the pods that are left; API servers and leases come and go, which is a warning and no error."""
    for pod in cluster.list("pods", SYSTEM, "app.kubernetes.io/name=koordpy"):
        name = pod["metadata"]["name"]
        log = cluster.kubectl("logs", name, f"--namespace={SYSTEM}", "--all-containers")
        assert "Traceback" not in log, name
        assert [line for line in log.splitlines() if '"level": "error"' in line] == [], name


def _right(entry: Json) -> Right:
    about = entry["objectRef"]
    resource = "/".join(part for part in (about["resource"], about.get("subresource", "")) if part)
    return about.get("apiGroup", ""), resource, entry["verb"]


def _rights(role: Json) -> Iterator[Right]:
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                yield from ((group, resource, verb) for verb in rule["verbs"])


def test_uninstalling_leaves_the_definitions_the_leases_and_what_was_learnt(cluster: Cluster) -> None:
    """As docs/install.md says; the namespace was made for the release and goes with it."""
    cluster.helm("uninstall", RELEASE, f"--namespace={SYSTEM}", "--wait")
    until(lambda: not cluster.list("pods", SYSTEM), "its pods have ended")
    left = {
        f"{found['kind']}/{found['metadata']['name']}"
        for found in cluster.list(",".join(_kinds(cluster)))
        if _is_koordpys(found["metadata"])
    }
    definitions = {
        f"CustomResourceDefinition/{name}"
        for name in (
            "clusternetworktopologies.scheduling.koordinator.sh",
            "podgroups.scheduling.run.ai",
            "podgroups.scheduling.sigs.k8s.io",
            "podgroups.scheduling.x-k8s.io",
            "queuejobs.arbitrator.incubator.k8s.io",
            "queues.scheduling.run.ai",
            "schedulingspecs.arbitrator.incubator.k8s.io",
        )
    }
    may_be_left = {f"Namespace/{SYSTEM}", f"ConfigMap/{_RUN_TIMES}"}  # the latter after some minutes
    assert left - may_be_left == {*definitions, "Lease/koordpy-controllers", "Lease/koordpy-podgrouper"}
    leases = {lease["metadata"]["name"] for lease in cluster.list("leases", "kube-system")}
    assert set(_LEASES) <= leases
    _remove_what_is_left(cluster)


def test_without_helm_the_printed_manifests_install_and_remove_it(
    bare: Cluster, workers: list[str], kind_if_any: Kind | None
) -> None:
    assert len(workers) == 2
    began = dt.datetime.now(dt.UTC).isoformat()
    manifests = install.manifests(image=bare.image)
    bare.kubectl("apply", "-f", "-", given=manifests)
    for component in ("scheduler", "controllers"):
        bare.kubectl("rollout", "status", f"deployment/koordpy-{component}", f"--namespace={SYSTEM}", "--timeout=100s")
    work = Workloads(bare, "default")
    work.submit(*work.gang("printed", 2))
    work.await_running("printed", 2)
    work.delete("printed-0", "printed-1")
    if kind_if_any:
        assert _denied(kind_if_any, began) == set()
    bare.kubectl("delete", "-f", "-", given=manifests)
    _remove_from_kube_system(bare)


def _is_koordpys(meta: Json) -> bool:
    """By its label, its name or its namespace; the nodes of kind are called after the cluster, which is ours too."""
    if meta.get("labels", {}).get("app.kubernetes.io/part-of") == "koordpy":
        return True
    named = meta["name"].startswith("koordpy") and not meta["name"].startswith("koordpy-e2e")
    with_every_namespace = meta["name"] in {"default", "kube-root-ca.crt"}
    return named or (meta.get("namespace") == SYSTEM and not with_every_namespace)


def _kinds(cluster: Cluster) -> list[str]:
    words = ["api-resources", "--verbs=list", "-o", "name"]
    return [name for name in cluster.kubectl(*words).split() if not name.startswith(("events", "componentstatuses"))]


def _remove_what_is_left(cluster: Cluster) -> None:
    """By the commands of docs/install.md."""
    cluster.kubectl("delete", "namespace", SYSTEM)
    _remove_from_kube_system(cluster)
    cluster.kubectl("delete", "crd", "--selector=app.kubernetes.io/part-of=koordpy")


def _remove_from_kube_system(cluster: Cluster) -> None:
    where = ("--namespace=kube-system", "--ignore-not-found")
    cluster.kubectl("delete", "lease", *_LEASES, *where)
    cluster.kubectl("delete", "configmap", _RUN_TIMES, *where)
