"""Who gets the nodes: queues that lend and take back, and a large job that is promised a start."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from e2e.stories.cluster import Cluster, Json, node_of, phases, until
from e2e.stories.workloads import SLOTS, Workloads, give_slots

GPU = "koordpy.test/gpu"
GPUS = 2 * SLOTS
LENDER, BORROWER = "koordpy-e2e-serving", "koordpy-e2e-research"
QUOTAS = {LENDER: 2, BORROWER: GPUS - 2}
SECONDS_TO_END = 4
RUN_TIME = "koordpy.io/run-time"


@pytest.fixture
def queues(cluster: Cluster, workers: list[str]) -> Iterator[None]:
    give_slots(cluster, workers, SLOTS, GPU)
    made = [
        {
            "apiVersion": "scheduling.run.ai/v2",
            "kind": "Queue",
            "metadata": {"name": name},
            "spec": {"resources": {"gpu": {"quota": quota, "limit": GPUS if name == BORROWER else quota}}},
        }
        for name, quota in QUOTAS.items()
    ]
    cluster.apply(*made, namespace="default")
    yield
    cluster.kubectl("delete", "queues.scheduling.run.ai", *QUOTAS)
    give_slots(cluster, workers, 0, GPU)


@pytest.mark.usefixtures("queues")
def test_a_queue_uses_what_is_idle_and_gives_it_back_in_peace(story: Workloads) -> None:
    for number in range(GPUS // 2):
        burst = story.gang(f"burst{number}", 2, queue=BORROWER, resource=GPU, ends_after_s=SECONDS_TO_END)
        story.submit(*burst)
    until(lambda: phases(story.pods()) == ["Running"] * GPUS, "the burst has the whole cluster")
    story.submit(*story.gang("answers", 2, queue=LENDER, resource=GPU))

    early = _bound_while_victims_end(story)
    assert early, "the victims were gone at once: they had no grace period"
    assert not any(early), "a member was bound before its room was free"
    story.await_running("answers", 2)
    left = [pod for pod in story.pods() if pod["metadata"]["name"].startswith("burst")]
    assert phases(left) == ["Running"] * QUOTAS[BORROWER], "no more was taken than was owed, and whole gangs"
    events = story.cluster.list("events", story.namespace)
    assert any(f"queue {LENDER} takes back" in event.get("message", "") for event in events)
    until(lambda: _allocated(story.cluster) == QUOTAS, "the Queues say what they have")


@pytest.mark.usefixtures("queues")
def test_a_queue_never_has_more_than_its_limit(story: Workloads) -> None:
    """The rest of the cluster is idle."""
    most = QUOTAS[LENDER]
    story.submit(*story.gang("first", most, queue=LENDER, resource=GPU))
    story.await_running("first", most)
    story.submit(*story.gang("second", 1, queue=LENDER, resource=GPU))
    story.await_message(
        "second-0", f"queue {LENDER} has no room below its limit of gpu: limit {most}, allocated {most}, asked for 1"
    )
    story.delete(*(f"first-{i}" for i in range(most)))
    story.await_running("second", 1)


def _bound_while_victims_end(story: Workloads) -> list[bool]:
    """Whether a member had a node, in each look while a victim was on its way out."""
    seen: list[bool] = []
    until(lambda: "Terminating" in phases(story.pods()), "victims are told to end")

    def all_have_ended() -> bool:
        pods = story.pods()  # one answer: one moment
        going = [pod for pod in pods if phases([pod]) == ["Terminating"] and pod["status"]["phase"] == "Running"]
        if len(going) == 2:
            seen.append(any(node_of(pod) for pod in pods if pod["metadata"]["name"].startswith("answers")))
        return not going

    until(all_have_ended, "the victims end")
    return seen


def _allocated(cluster: Cluster) -> dict[str, int]:
    found = {each["metadata"]["name"]: each for each in cluster.list("queues.scheduling.run.ai")}
    return {name: int(found[name].get("status", {}).get("allocated", {}).get(GPU, 0)) for name in QUOTAS}


def test_a_large_job_is_promised_a_start_and_small_ones_run_before_it(story: Workloads) -> None:
    """`busy` ends before it said, by our hand: nothing here depends on how fast the machine is."""
    busy = 2 * SLOTS - 2
    story.submit(*story.gang("busy", busy, annotations={RUN_TIME: "30m"}))
    story.await_running("busy", busy)
    story.submit(*story.gang("wide", 2 * SLOTS, annotations={RUN_TIME: "1m"}))
    story.await_message("wide-0", "reserved to start at")
    until(lambda: _reserved(story), "the PodGroup says when it starts")
    story.submit(
        _single(story, "short", "5m", program="print('done')"),
        _single(story, "long", "1h"),
    )
    story.await_message("long", f"nodes are reserved for {story.namespace}/wide")
    until(lambda: phases([_pod(story, "short")]) == ["Succeeded"], "what ends in time runs before it")
    assert {node_of(pod) for pod in story.members("wide")} == {""}
    story.delete(*(f"busy-{i}" for i in range(busy)))
    story.await_running("wide", 2 * SLOTS)
    assert node_of(_pod(story, "long")) == ""
    until(lambda: not _reserved(story), "a promise that was kept is taken away")


def _single(story: Workloads, name: str, run_time: str, **options: str) -> Json:
    return story.pod(name, annotations={RUN_TIME: run_time}, restartPolicy="Never", **options)  # type: ignore[arg-type]


def _pod(story: Workloads, name: str) -> Json:
    return story.cluster.get("pod", name, story.namespace)


def _reserved(story: Workloads) -> str:
    group = story.cluster.get("podgroups.scheduling.sigs.k8s.io", "wide", story.namespace)
    return str(group["metadata"].get("annotations", {}).get("koordpy.io/reserved-start", ""))
