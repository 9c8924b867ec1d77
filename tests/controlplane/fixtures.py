"""The pytest fixtures of the real control plane: one per run, and a clean corner of it per test.

Tests that use them carry `@pytest.mark.real`. They never skip: binaries that are missing are built, and a build
that fails is a failing test.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.controlplane.client import Client, Json, path
from tests.controlplane.kubelet import Kubelets
from tests.controlplane.server import ADMIN_TOKEN, ControlPlane

# Without a controller nobody else removes these, and the scheduler of the next test would see them.
CLUSTER_SCOPED = ("nodes", "priorityclasses", "persistentvolumes", "storageclasses", "runtimeclasses")

AGGREGATED_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


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
    """A namespace of the test's own; what it made there and in the cluster scope is gone after it."""
    namespace = f"test-{uuid.uuid4().hex[:8]}"
    control_plane.start()
    async with Client(
        control_plane.url, namespace=namespace, token=ADMIN_TOKEN, ca_path=control_plane.ca_path
    ) as client:
        before = await _cluster_scoped(client)
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        (await client.create("namespaces", body)).ok()
        yield Real(control_plane, client, namespace)
        control_plane.start()  # a test that stopped it and failed must not take the next one with it
        await _remove_namespace(client, namespace)
        for resource, name in await _cluster_scoped(client) - before:
            await client.delete(resource, name, grace=0)


@pytest.fixture
async def kubelets(real: Real) -> AsyncIterator[Kubelets]:
    """Bound pods of this test come up, deleted ones go. A test that does not ask for it sees neither."""
    async with Kubelets(real.client, real.namespace) as kubelets:
        yield kubelets


async def _cluster_scoped(client: Client) -> set[tuple[str, str]]:
    listed = await asyncio.gather(*(client.list(resource) for resource in CLUSTER_SCOPED))
    return {
        (resource, item["metadata"]["name"])
        for resource, reply in zip(CLUSTER_SCOPED, listed, strict=True)
        for item in reply.ok()["items"]
    }


async def _remove_namespace(client: Client, namespace: str) -> None:
    """Does the work of the namespace controller, which is not running here."""
    # Twice: a finalizer keeps the object that carries it, so what is left is freed of them and deleted again.
    resources = await _namespaced_resources(client)
    await asyncio.gather(*(client.delete_all(resource, namespace=namespace, grace=0) for resource in resources))
    for resource in resources:
        for item in (await client.list(resource, namespace=namespace)).body.get("items", ()):
            await client.patch(
                resource, item["metadata"]["name"], {"metadata": {"finalizers": None}}, namespace=namespace
            )
    body = (await client.delete("namespaces", namespace)).ok()
    body["spec"]["finalizers"] = []
    (await client.request("PUT", path("namespaces", namespace, subresource="finalize"), body)).ok()


async def _namespaced_resources(client: Client) -> list[str]:
    """Everything that can live in a namespace at this moment, the tests' own resource definitions included."""
    replies = await asyncio.gather(
        *(client.request("GET", at, headers={"Accept": AGGREGATED_DISCOVERY}) for at in ("/api", "/apis"))
    )
    return [
        _location(group, version["version"]) + resource["resource"]
        for reply in replies
        for group in reply.ok()["items"]
        for version in group["versions"][:1]  # the preferred one; the others show the same objects
        for resource in version["resources"]
        if resource["scope"] == "Namespaced" and "deletecollection" in resource["verbs"]
    ]


def _location(group: Json, version: str) -> str:
    name = group["metadata"].get("name")
    return f"apis/{name}/{version}/" if name else f"api/{version}/"
