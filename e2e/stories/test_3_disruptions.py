"""The scheduler, its node, its API server and its version go away in the middle of things, and gangs stay whole."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from e2e.cluster.kind import Kind
from e2e.cluster.programs import Failed, say
from e2e.stories.cluster import SYSTEM, Cluster, Json, node_of, phases, until
from e2e.stories.workloads import LABEL, SLOTS, Workloads, give_slots

MEMBERS = 5
WIDE = 48  # members of a gang that are not all bound at once: koordpy has 32 binds on their way at a time
STRIKES = 6


@contextmanager
def gangs_arriving(story: Workloads, *, every_s: float = 1.0) -> Iterator[list[str]]:
    """Gangs without slots, one after the other until the block ends; the list has their names."""
    names: list[str] = []
    troubles: list[Exception] = []
    ended = threading.Event()

    def submit() -> None:
        while not ended.is_set():
            name = f"wave-{len(names)}"
            try:
                story.submit(*story.gang(name, MEMBERS, slots=0))
            except Exception as error:  # noqa: BLE001 - raised where the story can fail
                troubles.append(error)
                return
            names.append(name)
            ended.wait(every_s)

    thread = threading.Thread(target=submit)
    thread.start()
    try:
        yield names
    finally:
        ended.set()
        thread.join()
    if troubles:
        raise troubles[0]


def all_run(story: Workloads, gangs: list[str]) -> None:
    """Every gang as a whole, and no pod was started twice."""
    wanted = ["Running"] * (MEMBERS * len(gangs))
    until(lambda: phases(story.pods()) == wanted, f"all {len(gangs)} gangs run", patience_s=240)
    restarts = {c["restartCount"] for pod in story.pods() for c in pod["status"]["containerStatuses"]}
    assert restarts == {0}


def a_scheduler_leads(cluster: Cluster) -> str:
    def leader() -> str:
        name = cluster.leader()
        return name if name in {pod["metadata"]["name"] for pod in schedulers(cluster)} else ""

    return until(leader, "a scheduler that exists leads")


def schedulers(cluster: Cluster) -> list[Json]:
    return cluster.list("pods", SYSTEM, "app.kubernetes.io/component=scheduler")


def everything_is_ready(cluster: Cluster) -> None:
    def ready() -> bool:
        pods = cluster.list("pods", SYSTEM, "app.kubernetes.io/name=koordpy")
        return phases(pods) == ["Running"] * 4

    until(ready, "both replicas of both parts are ready", patience_s=240)


def test_the_leader_is_killed_while_gangs_are_bound(story: Workloads) -> None:
    """Twice, without a warning: what it had begun another one finishes."""
    with gangs_arriving(story, every_s=0.1) as gangs:
        for number in range(2):
            leader = a_scheduler_leads(story.cluster)
            _await_gangs(gangs, 2 * number + 2)
            force = ["--grace-period=0", "--force", "--wait=false"]
            story.cluster.kubectl("delete", "pod", leader, f"--namespace={SYSTEM}", *force)
            another_leads(story.cluster, leader)
    all_run(story, gangs)
    everything_is_ready(story.cluster)


def test_the_leader_dies_between_two_binds_of_a_gang(
    story: Workloads, kind: Kind, capsys: pytest.CaptureFixture[str]
) -> None:
    """Some members have their node, the others do not, and whoever leads next completes the gang."""
    for attempt in range(1, STRIKES + 1):
        gang = f"wide-{attempt}"
        bound = _strike(story, kind, gang)
        with capsys.disabled():
            say(f"strike {attempt}: the leader died with {bound} of {WIDE} members bound")
        struck = 0 < bound < WIDE
        until(lambda gang=gang: _bound(story, gang) == WIDE, f"all {WIDE} members are bound", patience_s=120)  # type: ignore[misc]
        if struck:
            break
        story.delete(*(pod["metadata"]["name"] for pod in story.members(gang)))
    else:
        pytest.fail(f"{STRIKES} times the leader died before the first bind or after the last")
    story.await_running(gang, WIDE)
    restarts = {c["restartCount"] for pod in story.members(gang) for c in pod["status"]["containerStatuses"]}
    assert restarts == {0}
    everything_is_ready(story.cluster)


def _strike(story: Workloads, kind: Kind, gang: str) -> int:
    """Kill the leader as soon as a bind is seen; returns how many there were, long before another one leads."""
    leader = a_scheduler_leads(story.cluster)
    node = node_of(story.cluster.get("pod", leader, SYSTEM))
    with kind.ready_to_kill(node, leader) as kill, story.watching_binds() as binds:
        story.submit(*story.gang(gang, WIDE, slots=0))
        next(pod for pod in binds if pod.startswith(f"{gang}-"))  # those of the strike before may still be there
        kill()
    time.sleep(2)  # what was under way at the API server arrives; a lease lasts for longer
    return _bound(story, gang)


def _bound(story: Workloads, gang: str) -> int:
    return sum(bool(node_of(pod)) for pod in story.members(gang))


def _await_gangs(gangs: list[str], count: int) -> None:
    until(lambda: len(gangs) >= count, f"{count} gangs have come")


def another_leads(cluster: Cluster, leader: str) -> None:
    until(lambda: cluster.leader() not in {"", leader}, f"another one than {leader} leads")


def test_an_upgrade_while_gangs_arrive_leaves_none_behind(story: Workloads) -> None:
    with gangs_arriving(story) as gangs:
        story.cluster.install(f"scheduler.podAnnotations.upgraded=at-{time.time():.0f}", "scheduler.logLevel=debug")
    assert gangs
    all_run(story, gangs)
    args = [pod["spec"]["containers"][0]["args"] for pod in schedulers(story.cluster)]
    assert all("--log-level=debug" in each for each in args)


def test_a_wrong_configuration_is_named_and_the_replicas_of_before_go_on(story: Workloads) -> None:
    profile = "config.profiles[0]"
    wrong = [f"{profile}.schedulerName=koord-scheduler", f"{profile}.plugins.score.enabled[0].name=NoSuchScore"]
    try:
        with pytest.raises(Failed, match=r"timed out|deadline|not ready"):
            story.cluster.install(*wrong, patience="8s")
        until(lambda: any("NoSuchScore" in said for said in _said_by_checks(story.cluster)), "the mistake is named")
        story.submit(*story.gang("meanwhile", 2))
        story.await_running("meanwhile", 2)
    finally:
        story.cluster.install()
    everything_is_ready(story.cluster)


def _said_by_checks(cluster: Cluster) -> list[str]:
    words = ["--container=config-check", f"--namespace={SYSTEM}"]
    return [cluster.kubectl("logs", pod["metadata"]["name"], *words) for pod in schedulers(cluster)]


def test_the_api_server_restarts_while_gangs_wait(story: Workloads, kind: Kind) -> None:
    story.submit(story.pod("before"), *story.gang("wide", 2 * SLOTS))
    story.await_message("wide-0", f"gang {story.namespace}/wide: {2 * SLOTS - 1} of {2 * SLOTS} members fit")
    kind.restart_apiserver()
    until(lambda: story.cluster.kubectl("get", "--raw", "/readyz") == "ok", "the API server is back")
    story.delete("before")
    story.await_running("wide", 2 * SLOTS)
    everything_is_ready(story.cluster)


def test_a_drain_moves_a_gang_and_a_replica_of_the_scheduler(story: Workloads, workers: list[str]) -> None:
    """A ReplicaSet makes evicted members again at once; a Job would wait for longer with every one that it lost."""
    drained, other = workers
    pod = story.pod("ranks", labels={LABEL: "ranks"})
    spec = {
        "replicas": SLOTS,
        "selector": {"matchLabels": {"app": "ranks"}},
        "template": {"metadata": {"labels": pod["metadata"]["labels"]}, "spec": pod["spec"]},
    }
    replicas = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "ranks"}, "spec": spec}
    story.submit(story.pod_group("ranks", SLOTS), replicas)
    story.await_running("ranks", SLOTS)
    try:
        story.cluster.kubectl("drain", drained, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=100s")
        until(lambda: _on(story, other) == SLOTS, "all members run on the node that is left")
        leader = a_scheduler_leads(story.cluster)
        assert node_of(story.cluster.get("pod", leader, SYSTEM)) == other
    finally:
        story.cluster.kubectl("uncordon", drained)
    _spread_again(story.cluster)


def _on(story: Workloads, node: str) -> int:
    running = [pod for pod in story.members("ranks") if phases([pod]) == ["Running"]]
    return sum(node_of(pod) == node for pod in running)


def _spread_again(cluster: Cluster) -> None:
    """Nobody moves pods back to a node that was drained; the stories after this one want a replica on each."""
    cluster.kubectl("rollout", "restart", "deployment", f"--namespace={SYSTEM}")
    for component in ("scheduler", "controllers"):
        cluster.kubectl(
            "rollout", "status", f"deployment/koordpy-{component}", f"--namespace={SYSTEM}", "--timeout=120s"
        )
    everything_is_ready(cluster)


def test_the_node_of_the_leader_dies_while_gangs_are_bound(story: Workloads, kind: Kind, workers: list[str]) -> None:
    """The replica on the other node takes over, without anybody telling it. Then the node comes back."""
    leader = a_scheduler_leads(story.cluster)
    node = node_of(story.cluster.get("pod", leader, SYSTEM))
    (other,) = (name for name in workers if name != node)
    assert node_of_the_other_replica(story.cluster, leader) == other
    here = {"kubernetes.io/hostname": other}
    story.submit(*story.gang("first", 3, slots=0, nodeSelector=here))
    kind.kill_node(node)
    try:
        story.submit(*story.gang("second", 3, slots=0, nodeSelector=here))
        another_leads(story.cluster, leader)
        story.await_running("first", 3)
        story.await_running("second", 3)
    finally:
        kind.start_node(node)
        give_slots(story.cluster, [node])
    everything_is_ready(story.cluster)
    story.submit(*story.gang("third", 2 * SLOTS))
    story.await_running("third", 2 * SLOTS)


def node_of_the_other_replica(cluster: Cluster, leader: str) -> str:
    (other,) = (pod for pod in schedulers(cluster) if pod["metadata"]["name"] != leader)
    return node_of(other)
