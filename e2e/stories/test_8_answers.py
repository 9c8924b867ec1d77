"""`kubectl koord`: users with Kubernetes' own roles ask the scheduler, and nobody else does."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import yaml

from e2e.cluster.programs import Failed
from e2e.stories.cluster import SYSTEM, Cluster, Json, until
from e2e.stories.workloads import SLOTS, Workloads

# What a pod gets that asks the scheduler's service itself: with nothing, and with its own account's token.
_ASK = f"""
import urllib.error, urllib.request
token = open("/var/run/secrets/kubernetes.io/serviceaccount/token").read()
def code(path, **headers):
    request = urllib.request.Request("http://koordpy-scheduler.{SYSTEM}:10251" + path, headers=headers)
    try:
        return urllib.request.urlopen(request, timeout=10).status
    except urllib.error.HTTPError as error:
        return error.code
jobs = "/apis/koordpy.io/v1alpha1/jobs"
print(code("/readyz"), code("/metrics"), code(jobs), code(jobs, Authorization="Bearer " + token))
"""


@pytest.fixture
def users(story: Workloads, tmp_path: Path) -> Iterator[dict[str, Path]]:
    """Kubeconfigs: `ada` may view the whole cluster, `bob` the namespace of the story."""
    found = {}
    for name in ("ada", "bob"):
        story.cluster.kubectl("create", "serviceaccount", name, f"--namespace={story.namespace}")
        found[name] = _kubeconfig(story, name, tmp_path / name)
    binding = f"{story.namespace}-ada"
    role = ["--clusterrole=view", f"--serviceaccount={story.namespace}:"]
    story.cluster.kubectl("create", "clusterrolebinding", binding, role[0], f"{role[1]}ada")
    story.cluster.kubectl("create", "rolebinding", "bob", role[0], f"{role[1]}bob", f"--namespace={story.namespace}")
    yield found
    story.cluster.kubectl("delete", "clusterrolebinding", binding)


def _kubeconfig(story: Workloads, account: str, path: Path) -> Path:
    token = story.cluster.kubectl("create", "token", account, f"--namespace={story.namespace}").strip()
    content: Json = yaml.safe_load(story.cluster.kubeconfig.read_text())
    content["users"] = [{"name": each["name"], "user": {"token": token}} for each in content["users"]]
    path.write_text(yaml.safe_dump(content))
    return path


def test_a_user_who_may_view_the_cluster_asks_why_a_job_waits_and_what_would_start_it(
    story: Workloads, users: dict[str, Path], tmp_path: Path
) -> None:
    job = f"{story.namespace}/wide"
    answer = partial(_answer, story.cluster, users["ada"])
    story.submit(story.pod("before"), *story.gang("wide", 2 * SLOTS))
    story.await_message("wide-0", f"{2 * SLOTS - 1} of {2 * SLOTS} members fit")
    until(lambda: job in answer("jobs"), "who may view the cluster may ask")
    assert f"JobEnds: {story.namespace}/before ends or is deleted" in answer("explain", job)
    file = tmp_path / "late.yaml"
    file.write_text(yaml.safe_dump({**story.pod("late"), "metadata": {"name": "late", "namespace": story.namespace}}))
    assert f"{story.namespace}/late  Now" in answer("whatif", "-f", file)
    assert f"{job}  Now" in answer("whatif", f"--without-job={story.namespace}/before")
    assert {pod["metadata"]["name"] for pod in story.pods()} >= {"before", "wide-0"}, "asking changes nothing"
    assert "late" not in {pod["metadata"]["name"] for pod in story.pods()}
    admin = story.cluster.kubeconfig
    assert job in _answer(story.cluster, admin, "jobs"), "whoever has a certificate and no token asks too"


def _answer(cluster: Cluster, kubeconfig: Path, *arguments: str | Path) -> str:
    code, said = cluster.koord(*arguments, kubeconfig=kubeconfig)
    if code:
        raise Failed(said)
    return said


def test_a_user_who_may_not_ask_is_told_so_in_one_line(story: Workloads, users: dict[str, Path]) -> None:
    code, said = story.cluster.koord("jobs", kubeconfig=users["bob"])
    assert code == 1
    (line,) = said.splitlines()
    assert "you may not ask the scheduler" in line
    assert f"system:serviceaccount:{story.namespace}:bob" in line


def test_who_reaches_the_port_without_the_right_gets_health_and_metrics_only(story: Workloads) -> None:
    """Also with a token: everybody may `get` the path `/apis/*` of the API server, which must not count here."""
    story.submit(story.pod("asker", program=_ASK, restartPolicy="Never", scheduler="default-scheduler"))
    wait = ["wait", "pod/asker", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=100s"]
    story.cluster.kubectl(*wait, f"--namespace={story.namespace}")
    assert story.cluster.kubectl("logs", "asker", f"--namespace={story.namespace}").split() == [
        "200",
        "200",
        "401",
        "403",
    ]
