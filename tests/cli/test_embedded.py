"""`koordpy embedded`."""

import json
import re
import signal
import socket
import urllib.request
from pathlib import Path

import pytest
import yaml

from tests.cli.commands import ended_by, koordpy, started

pytestmark = pytest.mark.process
REPOSITORY = Path(__file__).parent.parent.parent


def get(url: str) -> dict:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)


def kubeconfig_named_in(process) -> str:
    for line in process.stdout:
        if "export KUBECONFIG=" in line:
            return line.split("=", 1)[1].strip()
    raise AssertionError(f"no kubeconfig was printed: {process.stderr.read()}")


def server_of(kubeconfig: str) -> str:
    return yaml.safe_load(Path(kubeconfig).read_text())["clusters"][0]["cluster"]["server"]


def test_the_printed_kubeconfig_leads_to_the_nodes_that_were_asked_for():
    with started("embedded", "--nodes", "3", "--cpu", "4", "--memory", "16Gi", "--gpu", "2") as process:
        nodes = get(server_of(kubeconfig_named_in(process)) + "/api/v1/nodes")["items"]
    holds = [node["status"]["allocatable"] for node in nodes]
    assert [(h["cpu"], h["memory"], h["nvidia.com/gpu"]) for h in holds] == [("4", "16Gi", "2")] * 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(number):
    with started("embedded", "--nodes", "1") as process:
        kubeconfig_named_in(process)
        assert ended_by(process, number) == (0, "")


def test_a_signal_ends_it_cleanly_while_somebody_watches():
    with started("embedded", "--nodes", "1") as process:
        url = server_of(kubeconfig_named_in(process))
        with urllib.request.urlopen(url + "/api/v1/nodes?watch=true", timeout=10) as watch:
            watch.readline()
            assert ended_by(process, signal.SIGINT) == (0, "")


def test_the_next_commands_are_named():
    with started("embedded", "--nodes", "1") as process:
        told = [line.strip() for line in iter(process.stdout.readline, "Everything is gone when this ends (Ctrl-C).\n")]
    assert "kubectl get nodes" in told
    assert "koordpy run --with-controllers &" in told


def test_a_job_makes_its_pods():
    containers = [{"name": "main", "image": "none"}]
    pods = {"metadata": {"labels": {"a": "b"}}, "spec": {"restartPolicy": "Never", "containers": containers}}
    job = {"metadata": {"name": "x"}, "spec": {"parallelism": 2, "completions": 2, "template": pods}}
    with started("embedded", "--nodes", "1") as process:
        url = server_of(kubeconfig_named_in(process))
        body = json.dumps(job).encode()
        target = f"{url}/apis/batch/v1/namespaces/default/jobs"
        request = urllib.request.Request(target, body, {"Content-Type": "application/json"})
        urllib.request.urlopen(request, timeout=10).close()
        with urllib.request.urlopen(url + "/api/v1/pods?watch=true", timeout=10) as watch:
            made = [json.loads(watch.readline())["object"]["metadata"]["ownerReferences"] for _ in range(2)]
    assert [(owner["kind"], owner["name"]) for (owner,) in made] == [("Job", "x")] * 2


def test_the_kubeconfig_is_written_where_it_is_wanted(tmp_path):
    path = tmp_path / "kubeconfig"
    with started("embedded", "--nodes", "0", "--kubeconfig-out", path) as process:
        assert kubeconfig_named_in(process) == str(path)
        assert get(server_of(str(path)) + "/api/v1/nodes")["items"] == []


@pytest.mark.parametrize(
    "page", [*sorted(REPOSITORY.glob("docs/*.md")), REPOSITORY / "README.md"], ids=lambda p: p.name
)
def test_a_snippet_that_starts_it_in_the_background_waits_for_it(page: Path):
    lines = page.read_text().splitlines()
    started_at = [number for number, line in enumerate(lines) if re.match(r"\s*koordpy embedded .*&$", line)]
    assert all("until kubectl get --raw=/readyz" in lines[number + 2] for number in started_at)


def test_a_port_in_use_is_one_line():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        answer = koordpy("embedded", "--port", str(port))
    assert answer.returncode == 1
    assert len(answer.stderr.splitlines()) == 1
    assert f"--port {port}" in answer.stderr


def test_a_kubeconfig_that_cannot_be_written_is_one_line(tmp_path):
    path = tmp_path / "no-such-directory" / "kubeconfig"
    answer = koordpy("embedded", "--kubeconfig-out", path)
    assert answer.returncode == 1
    assert answer.stderr == f"koordpy: --kubeconfig-out {path}: No such file or directory\n"
