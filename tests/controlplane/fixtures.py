"""The pytest fixtures of the real control plane: one per run, and a clean corner of it per test.

Tests that use them carry `@pytest.mark.real`. They never skip: binaries that are missing are built, and a build
that fails is a failing test.
"""

import contextlib
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.controlplane.client import Client
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.server import ADMIN_TOKEN, ControlPlane
from tests.controlplane.sweep import cluster_scoped, sweep


@dataclass(frozen=True)
class Real:
    """A test's own corner of the real control plane."""

    control_plane: ControlPlane
    client: Client
    namespace: str

    def kubeconfig(self, directory: Path, token: str | None = None) -> Path:
        return self.control_plane.kubeconfig(directory / "kubeconfig", token=token, namespace=self.namespace)


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    with ControlPlane() as control_plane:
        yield control_plane


@pytest.fixture
async def real(control_plane: ControlPlane) -> AsyncIterator[Real]:
    async with corner(control_plane) as real:
        yield real


@contextlib.asynccontextmanager
async def corner(control_plane: ControlPlane) -> AsyncIterator[Real]:
    """A namespace of the test's own; what it made there and in the cluster scope is gone after it."""
    namespace = f"test-{uuid.uuid4().hex[:8]}"
    control_plane.start()
    async with Client(
        control_plane.url, namespace=namespace, token=ADMIN_TOKEN, ca_path=control_plane.ca_path
    ) as client:
        before = await cluster_scoped(control_plane.etcd_url)
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        (await client.create("namespaces", body)).ok()
        try:
            yield Real(control_plane, client, namespace)
        finally:
            control_plane.start()  # a test that stopped it and failed must not take the next one with it
            await sweep(control_plane.etcd_url, namespace, before)


@pytest.fixture
async def kubelets(real: Real) -> AsyncIterator[Kubelets]:
    """Bound pods of this test come up, deleted ones go. A test that does not ask for it sees neither."""
    async with Kubelets(real.client, real.namespace) as kubelets:
        yield kubelets
