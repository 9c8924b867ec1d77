"""A start that cannot succeed: exit code 1, one line on standard error that names the problem, no traceback."""

import signal
import socket
from pathlib import Path

import pytest

from tests.cli.commands import ended_by, koordpy, started

pytestmark = pytest.mark.process

CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
DEAD_SERVER = """
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: u, user: {{}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
"""


def only_line_of_failure(*arguments: str | Path, **environment: str) -> str:
    answer = koordpy("run", *arguments, **environment)
    assert answer.returncode == 1, answer.stderr
    (line,) = answer.stderr.splitlines()
    return line


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_a_missing_kubeconfig_is_named(tmp_path):
    missing = tmp_path / "nowhere"
    assert only_line_of_failure("--kubeconfig", missing) == f"koordpy: kubeconfig {missing}: no such file"


@pytest.mark.parametrize(
    "garbage", ["{", "just words", "", "[]", "\x00", "kind: Config\n", "clusters: 7\ncurrent-context: x\n"]
)
def test_a_kubeconfig_that_is_none_is_named(tmp_path, garbage):
    path = tmp_path / "kubeconfig"
    path.write_text(garbage)
    assert only_line_of_failure("--kubeconfig", path).startswith(f"koordpy: kubeconfig {path}: ")


def test_an_unreachable_server_is_named(tmp_path):
    path = tmp_path / "kubeconfig"
    port = free_port()
    path.write_text(DEAD_SERVER.format(port=port))
    line = only_line_of_failure("--kubeconfig", path)
    assert f"cannot connect to http://127.0.0.1:{port}" in line


def test_the_kubeconfig_at_home_is_used_and_its_context_can_be_chosen(tmp_path):
    port = free_port()
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text(DEAD_SERVER.format(port=port))
    assert f"cannot connect to http://127.0.0.1:{port}" in only_line_of_failure(HOME=str(tmp_path))
    line = only_line_of_failure("--context", "other", HOME=str(tmp_path))
    assert line == f"koordpy: kubeconfig {tmp_path}/.kube/config: there is no context 'other'; there are x"


def test_no_credentials_at_all_says_what_was_looked_for():
    line = only_line_of_failure()
    assert line == (
        "koordpy: no --kubeconfig, no KUBECONFIG and no ~/.kube/config, and this is not a pod with a service account"
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("parallelisms: 3\n", "parallelisms: unknown field"),
        ("profiles: [{schedulerName: a, plugin: {}}]\n", "profiles[0].plugin: unknown field"),
        ("profiles: [{schedulerName: a}, {schedulerName: a}]\n", "profiles[1].schedulerName: 'a' stands there twice"),
        ("leaderElection: {leaseDuration: soon}\n", "leaderElection.leaseDuration: 'soon' is not a Go duration"),
        ("podMaxBackoffSeconds: 0\n", "podMaxBackoffSeconds: 0 is below"),
        ("parallelism: [\n", "not YAML"),
    ],
)
def test_a_bad_configuration_is_named_by_file_field_and_value(tmp_path, text, problem):
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG + text)
    assert only_line_of_failure("--config", path).startswith(f"koordpy: {path}: {problem}")


def test_a_missing_configuration_file_is_named(tmp_path):
    missing = tmp_path / "config.yaml"
    assert only_line_of_failure("--config", missing) == f"koordpy: {missing}: No such file or directory"


@pytest.mark.parametrize("spelling", ["--leader-elect=false", "--leader-elect"])
def test_leader_election_is_switched_as_in_kube_scheduler(tmp_path, spelling):
    kubeconfig = tmp_path / "kubeconfig"
    with started("embedded", "--nodes", "1", "--kubeconfig-out", kubeconfig) as api:
        api.stdout.readline()
        flags = ["--kubeconfig", kubeconfig, "--bind-address", "127.0.0.1", "--port", "0", "--log-format", "json"]
        with started("run", *flags, spelling) as scheduler:
            lines = []
            while '"scheduling"' not in (lines[-1] if lines else ""):
                lines.append(scheduler.stderr.readline())
            code, _ = ended_by(scheduler, signal.SIGTERM)
    assert code == 0
    assert any('"leading"' in line for line in lines) == (spelling == "--leader-elect")
