"""Credentials and permissions: one line that says what is wrong, and a scheduler that goes on when it is mended."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator

import pytest
import yaml

from tests.app.cluster import add_nodes, add_pods, bound
from tests.app.scheduler import SchedulerProcess
from tests.controlplane.certificates import Authority
from tests.controlplane.fixtures import Real, corner
from tests.controlplane.server import NOBODY_TOKEN, ControlPlane

pytestmark = pytest.mark.real

RBAC = "apis/rbac.authorization.k8s.io/v1"


@pytest.fixture(scope="module")
def guarded() -> Iterator[ControlPlane]:
    with ControlPlane("RBAC") as control_plane:
        yield control_plane


@pytest.fixture
async def strict(guarded: ControlPlane) -> AsyncIterator[Real]:
    async with corner(guarded) as real:
        yield real


async def test_without_permission_it_says_so_once_and_goes_on_when_it_is_granted(strict: Real, tmp_path) -> None:
    await add_nodes(strict.client, 1)
    await add_pods(strict.client, 1, "100m")
    kubeconfig = strict.kubeconfig(tmp_path, token=NOBODY_TOKEN)
    async with SchedulerProcess(tmp_path, "--kubeconfig", kubeconfig) as scheduler:
        await scheduler.until(lambda: _not_ready(scheduler, 'Forbidden: .*User "nobody" cannot list resource "pods"'))
        await _grant(strict)
        await scheduler.ready()
        await scheduler.until(lambda: _bound(strict))
        complaints = [line["resource"] for line in scheduler.lines("watch_failed")]
        assert len(complaints) == len(set(complaints)), "one line for each thing that it may not read"
        assert len(scheduler.lines("forbidden")) == 1
        assert "Traceback" not in scheduler.text()


async def _not_ready(scheduler: SchedulerProcess, pattern: str) -> bool:
    status, text = await scheduler.get("/readyz")
    return status == 503 and re.search(pattern, text) is not None


async def _bound(real: Real) -> bool:
    return bool(await bound(real.client))


async def _grant(real: Real) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "everything"},
        "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
    }
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "everything-for-nobody"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "everything"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "nobody"}],
    }
    (await real.client.create(f"{RBAC}/clusterroles", role, namespace="")).ok()
    (await real.client.create(f"{RBAC}/clusterrolebindings", binding, namespace="")).ok()


async def _fails_with_one_line(tmp_path, kubeconfig) -> str:
    async with SchedulerProcess(tmp_path, "--kubeconfig", kubeconfig) as scheduler:
        assert await scheduler.ended() == 1
        (line,) = scheduler.text().splitlines()
        return line


async def test_a_wrong_token_is_one_line_and_exit_code_1(strict: Real, tmp_path) -> None:
    line = await _fails_with_one_line(tmp_path, strict.kubeconfig(tmp_path, token="expired"))
    assert line == "koordpy: the API server cannot be used: GET /api/v1/nodes?limit=1: 401 Unauthorized"


async def test_a_server_that_another_authority_vouches_for_is_one_line_and_exit_code_1(strict: Real, tmp_path) -> None:
    kubeconfig = strict.kubeconfig(tmp_path, token=NOBODY_TOKEN)
    (tmp_path / "another").mkdir()
    content = yaml.safe_load(kubeconfig.read_text())
    content["clusters"][0]["cluster"]["certificate-authority"] = str(Authority(tmp_path / "another").pair.certificate)
    kubeconfig.write_text(yaml.safe_dump(content))
    line = await _fails_with_one_line(tmp_path, kubeconfig)
    assert f"the certificate of {strict.control_plane.url} is not trusted" in line


async def test_a_wrong_address_is_one_line_and_exit_code_1(strict: Real, tmp_path) -> None:
    kubeconfig = strict.kubeconfig(tmp_path, token=NOBODY_TOKEN)
    kubeconfig.write_text(kubeconfig.read_text().replace(strict.control_plane.url, "https://127.0.0.1:1"))
    assert "cannot connect to https://127.0.0.1:1" in await _fails_with_one_line(tmp_path, kubeconfig)


async def test_a_missing_kubeconfig_is_one_line_and_exit_code_1(tmp_path) -> None:
    line = await _fails_with_one_line(tmp_path, tmp_path / "missing")
    assert line == f"koordpy: kubeconfig {tmp_path}/missing: no such file"
