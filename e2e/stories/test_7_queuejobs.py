"""QueueJobs: pods that find each other by name, and that are made again as a whole."""

from __future__ import annotations

from e2e.stories.cluster import Json, until
from e2e.stories.workloads import Workloads

# Rank 0 waits for the others, who ask for it by its name until that is known.
_MEET = """
import os, socket, time
job, task, index = os.environ["JOB"], os.environ["KOORDPY_TASK"], int(os.environ["KOORDPY_INDEX"])
def meet(server, others):
    if task == server:
        with socket.create_server(("", 2222)) as listening:
            for _ in range(others):
                listening.accept()
        return
    while True:
        try:
            return socket.create_connection((f"{job}-{server}-0.{job}", 2222), timeout=5)
        except OSError:
            time.sleep(0.5)
"""
_FAIL_ONCE = """
if os.environ["POD"].endswith("-0"):  # the first incarnation
    if index == 1:
        raise SystemExit("a rank is lost")
    time.sleep(3600)
"""


def test_a_queue_job_runs_until_all_have_succeeded(story: Workloads) -> None:
    story.submit(_queue_job(story, "train", _MEET + "meet('ps', 2)", ps=1, worker=2))
    until(lambda: _phase(story, "train") in {"Running", "Completed"}, "its pods run")
    until(lambda: _phase(story, "train") == "Completed", "all of them have met")
    status = story.cluster.get("queuejobs", "train", story.namespace)["status"]
    assert (status["succeeded"], status.get("restarts", 0)) == (3, 0)
    names = {pod["metadata"]["name"] for pod in story.pods()}
    assert names == {"train-ps-0-0", "train-worker-0-0", "train-worker-1-0"}


def test_a_queue_job_that_loses_a_pod_is_made_again_as_a_whole(story: Workloads) -> None:
    """Under the same names: the second incarnation finds its first rank where the first one had it."""
    program = _MEET + _FAIL_ONCE + "meet('ps', 2)"
    story.submit(_queue_job(story, "flaky", program, ps=1, worker=2))
    until(lambda: _phase(story, "flaky") == "Completed", "the second attempt succeeds")
    job = story.cluster.get("queuejobs", "flaky", story.namespace)
    assert job["status"]["restarts"] == 1
    (restarted,) = (each for each in job["status"]["conditions"] if each["type"] == "Restarted")
    assert restarted["reason"] == "PodFailed"
    assert "flaky-worker-1-0" in restarted["message"]
    names = {pod["metadata"]["name"] for pod in story.pods()}
    assert {"flaky-ps-0-1", "flaky-worker-0-1", "flaky-worker-1-1"} <= names


def _queue_job(story: Workloads, name: str, program: str, **tasks: int) -> Json:
    template = story.template(story.pod(name, program=program))
    own_name = {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    template["spec"]["containers"][0]["env"] = [{"name": "JOB", "value": name}, own_name]
    specs = [{"name": task, "replicas": replicas, "template": template} for task, replicas in tasks.items()]
    return {
        "apiVersion": "arbitrator.incubator.k8s.io/v1alpha1",
        "kind": "QueueJob",
        "metadata": {"name": name},
        "spec": {"schedulerName": "koord-scheduler", "network": "Hostnames", "maxRestarts": 3, "taskSpecs": specs},
    }


def _phase(story: Workloads, name: str) -> str:
    return str(story.cluster.get("queuejobs", name, story.namespace).get("status", {}).get("phase", ""))
