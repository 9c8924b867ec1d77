"""Gangs and single pods on real kubelets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from e2e.cluster.programs import Failed
from e2e.stories.cluster import SYSTEM, Cluster, node_of, phases, until
from e2e.stories.workloads import LABEL, SLOT, SLOTS, Workloads

GANG = "gang.scheduling.koordinator.sh"
RACK = "koordpy.test/rack"


def test_the_chart_installs_everything_ready_and_spread_over_nodes(cluster: Cluster) -> None:
    for component in ("scheduler", "controllers"):
        pods = cluster.list("pods", SYSTEM, f"app.kubernetes.io/component={component}")
        assert phases(pods) == ["Running", "Running"]
        assert len({node_of(pod) for pod in pods}) == 2, "one node must not take both replicas with it"
    assert until(cluster.leader, "a scheduler leads").startswith("koordpy-scheduler-")


def test_helm_test_runs_a_gang(cluster: Cluster) -> None:
    assert "Succeeded" in cluster.helm("test", "koordpy", f"--namespace={SYSTEM}", "--timeout=2m")


def test_a_gang_by_pod_group_runs(story: Workloads) -> None:
    story.submit(*story.gang("train", 3))
    story.await_running("train", 3)
    story.await_phase("train", "Running")


def test_a_gang_by_annotations_waits_for_its_last_member(story: Workloads) -> None:
    said = {f"{GANG}/name": "sweep", f"{GANG}/min-available": "3"}
    members = [story.pod(f"sweep-{i}", annotations=said) for i in range(3)]
    story.submit(*members[:2])
    story.await_message("sweep-0", "is incomplete: 2 of 3 members")
    assert [node_of(pod) for pod in story.members("sweep")] == ["", ""]
    story.submit(members[2])
    story.await_running("sweep", 3)


def test_a_gang_that_does_not_fit_holds_nothing_and_runs_when_it_fits(story: Workloads) -> None:
    most = 2 * SLOTS
    story.submit(story.pod("before"), *story.gang("wide", most))
    story.await_message("wide-0", f"gang {story.namespace}/wide: {most - 1} of {most} members fit")
    assert {node_of(pod) for pod in story.members("wide")} == {""}
    story.submit(story.pod("beside", slots=SLOTS - 1))  # a gang that waits keeps nobody out
    until(lambda: phases([story.cluster.get("pod", "beside", story.namespace)]) == ["Running"], "beside runs")
    story.delete("before", "beside")
    story.await_running("wide", most)
    story.await_phase("wide", "Running")


def test_the_pods_of_a_job_are_a_gang(story: Workloads) -> None:
    pod = story.pod(
        "ranks", labels={LABEL: "ranks"}, program="import os; print('rank', os.environ['JOB_COMPLETION_INDEX'])"
    )
    template = {"metadata": {"labels": pod["metadata"]["labels"]}, "spec": {**pod["spec"], "restartPolicy": "Never"}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "ranks"},
        "spec": {"completionMode": "Indexed", "completions": 4, "parallelism": 4, "template": template},
    }
    story.submit(story.pod_group("ranks", 4), job)
    story.cluster.kubectl(
        "wait", "job/ranks", "--for=condition=Complete", f"--namespace={story.namespace}", "--timeout=90s"
    )
    story.await_phase("ranks", "Finished")
    logs = story.cluster.kubectl("logs", f"--namespace={story.namespace}", "--selector=app=ranks")
    assert sorted(logs.split("\n")[:-1]) == [f"rank {i}" for i in range(4)]


def test_a_gang_that_must_be_close_together_is_on_one_rack(story: Workloads, racks: dict[str, str]) -> None:
    """The racks are a node each, and the gang would be spread evenly over both, were it not for the annotation."""
    ask = '{"gatherStrategy": [{"layer": "RackLayer", "strategy": "MustGather"}]}'
    gather = {f"{GANG}/network-topology-spec": ask}
    story.submit(*story.gang("close", SLOTS, annotations=gather))
    used = {racks[node_of(pod)] for pod in story.await_running("close", SLOTS)}
    assert len(used) == 1
    story.submit(*story.gang("closer", SLOTS + 1, annotations=gather))
    story.await_message("closer-0", f"gang {story.namespace}/closer")
    assert {node_of(pod) for pod in story.members("closer")} == {""}


@pytest.fixture
def racks(cluster: Cluster, workers: list[str]) -> Iterator[dict[str, str]]:
    """A rack for each worker, and the topology that says so."""
    topology = {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "ClusterNetworkTopology",
        "metadata": {"name": "default"},
        "spec": {
            "networkTopologySpec": [
                {"topologyLayer": "RackLayer", "labelKey": [RACK]},
                {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "RackLayer"},
            ]
        },
    }
    for node in workers:
        cluster.kubectl("label", "node", node, f"{RACK}=rack-of-{node}")
    cluster.apply(topology, namespace="default")
    yield {node: f"rack-of-{node}" for node in workers}
    cluster.kubectl("delete", "clusternetworktopologies", "default")
    cluster.kubectl("label", "nodes", *workers, f"{RACK}-")


def test_kube_scheduler_and_koordpy_count_each_others_pods(story: Workloads) -> None:
    """Both fill the same nodes: nobody is given room that the other has given away."""
    theirs = [story.pod(f"theirs-{i}", scheduler="default-scheduler") for i in range(SLOTS)]
    story.submit(*theirs)
    story.await_running("theirs", SLOTS)
    story.submit(*story.gang("ours", SLOTS))
    ours = story.await_running("ours", SLOTS)
    taken = dict.fromkeys(map(node_of, [*ours, *story.members("theirs")]), 0)
    for pod in [*ours, *story.members("theirs")]:
        taken[node_of(pod)] += int(pod["spec"]["containers"][0]["resources"]["requests"][SLOT])
    assert set(taken.values()) == {SLOTS}
    story.submit(story.pod("late"), story.pod("late-theirs", scheduler="default-scheduler"))
    story.await_message("late", f"Insufficient {SLOT}")
    story.await_message("late-theirs", f"Insufficient {SLOT}")


def test_users_have_rights_over_pod_groups_by_kubernetes_own_roles(story: Workloads) -> None:
    for role, user in (("view", "ada"), ("edit", "bob")):
        words = ["rolebinding", user, f"--clusterrole={role}", f"--user={user}", f"--namespace={story.namespace}"]
        story.cluster.kubectl("create", *words)

    def may(user: str, verb: str, resource: str, *more: str) -> bool:
        """`kubectl auth can-i` ends badly when the answer is no."""
        question = ["auth", "can-i", verb, resource, f"--as={user}", f"--namespace={story.namespace}", *more]
        try:
            return story.cluster.kubectl(*question).strip() == "yes"
        except Failed:
            return False

    ours, theirs = "podgroups.scheduling.sigs.k8s.io", "podgroups.scheduling.x-k8s.io"
    until(lambda: may("ada", "list", ours), "who may view may list PodGroups")
    until(lambda: may("bob", "create", theirs), "who may edit may create PodGroups")
    story.cluster.kubectl("get", "clusternetworktopologies", "--as=ada", "--as-group=system:authenticated")
    assert not may("ada", "create", ours)
    assert not may("bob", "patch", ours, "--subresource=status")
    assert not may("bob", "create", "clusternetworktopologies.scheduling.koordinator.sh")
