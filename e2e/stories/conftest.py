"""The cluster is given by options; koordpy is installed on it once, and every story has a namespace of its own."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from e2e.cluster import binaries
from e2e.cluster.kind import Kind
from e2e.cluster.providers import EXISTING, Provider
from e2e.stories.cluster import Cluster, until
from e2e.stories.remains import collect
from e2e.stories.workloads import Workloads, give_slots

ROOT = Path(__file__).parent.parent.parent
REMAINS = ROOT / "build" / "e2e"
CLUSTER = pytest.StashKey[Cluster]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kubeconfig", required=True, help="of the cluster; koordpy is installed on it and removed")
    parser.addoption("--image", required=True, help="koordpy's image, where the nodes find it")
    parser.addoption("--chart", default=str(ROOT / "charts" / "koordpy"), help="a directory or a packaged chart")
    parser.addoption("--provider", default=EXISTING, help="who gave the cluster: some stories need to stop nodes")


def pytest_report_header(config: pytest.Config) -> str:
    return f"provider: {config.getoption('--provider')}; what failed stories leave is in {REMAINS}"


@pytest.fixture(scope="session")
def bare(request: pytest.FixtureRequest) -> Cluster:
    """The cluster, whatever is on it."""
    option = request.config.getoption
    shutil.rmtree(REMAINS, ignore_errors=True)
    kubectl = shutil.which("kubectl") or str(binaries.published("kubectl")["kubectl"])
    helm = shutil.which("helm") or str(binaries.published("helm")["helm"])
    cluster = Cluster(Path(option("--kubeconfig")), kubectl, helm, option("--image"), Path(option("--chart")))
    request.config.stash[CLUSTER] = cluster
    return cluster


@pytest.fixture(scope="session")
def kind_if_any(request: pytest.FixtureRequest) -> Kind | None:
    """None for an existing cluster: its nodes are not ours to stop, nor its audit log to read."""
    name = request.config.getoption("--provider")
    return None if name == EXISTING else Provider(name).attach().kind


@pytest.fixture(scope="session")
def kind(kind_if_any: Kind | None) -> Kind:
    """For stories that stop nodes or read the audit log."""
    if kind_if_any is None:
        pytest.skip("an existing cluster: its nodes are not ours to stop, nor its audit log to read")
    return kind_if_any


@pytest.fixture(scope="session")
def workers(bare: Cluster) -> Iterator[list[str]]:
    """Two nodes that take ordinary pods, with slots."""
    names = sorted(node["metadata"]["name"] for node in bare.list("nodes") if not node["spec"].get("taints"))
    if len(names) < 2:
        pytest.fail("the stories need two nodes without taints")
    give_slots(bare, names[:2])
    yield names[:2]
    give_slots(bare, names[:2], 0)


@pytest.fixture(scope="session")
def cluster(bare: Cluster, workers: list[str]) -> Cluster:  # noqa: ARG001 - asked for its slots
    """With koordpy on it."""
    bare.install()
    return bare


@pytest.fixture
def story(cluster: Cluster) -> Iterator[Workloads]:
    """A namespace of the story's own, and empty slots: what it made is gone before the next one begins."""
    namespace = f"story-{uuid.uuid4().hex[:6]}"
    cluster.kubectl("create", "namespace", namespace)
    try:
        yield Workloads(cluster, namespace)
    finally:
        everything = ["queuejobs,jobs,replicasets,pods", "--all", "--now", f"--namespace={namespace}", "--wait=false"]
        cluster.kubectl("delete", *everything)
        cluster.kubectl("delete", "namespace", namespace, "--wait=false")
        until(lambda: not cluster.list("pods", namespace), f"the pods of {namespace} are gone")


def pytest_report_teststatus(report: pytest.TestReport | pytest.CollectReport) -> tuple[str, str, str] | None:
    """A story that was told says how long it took."""
    if not isinstance(report, pytest.TestReport) or report.when != "call" or report.skipped:
        return None
    word = "PASSED" if report.passed else "FAILED"
    return report.outcome, word[0], f"{word} in {report.duration:.0f} s"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Look at the cluster before the fixtures of a failed story end."""
    report = yield
    cluster = item.config.stash.get(CLUSTER, None)
    if report.failed and report.when != "teardown" and cluster:
        collect(cluster, REMAINS / item.name)
    return report
