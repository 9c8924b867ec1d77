"""A small asynchronous client for tests: JSON as it came, with the status code, against any Kubernetes API.

It must stay ignorant: no retries, no caches, no types. A test sees exactly what the server answered.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import aiohttp

from tests.controlplane.certificates import trusting

TIMEOUT_SECONDS = 20

GROUPS = {
    "bindings": "api/v1",
    "clusternetworktopologies": "apis/scheduling.koordinator.sh/v1alpha1",
    "customresourcedefinitions": "apis/apiextensions.k8s.io/v1",
    "events": "apis/events.k8s.io/v1",
    "leases": "apis/coordination.k8s.io/v1",
    "poddisruptionbudgets": "apis/policy/v1",
    "priorityclasses": "apis/scheduling.k8s.io/v1",
    "runtimeclasses": "apis/node.k8s.io/v1",
    "storageclasses": "apis/storage.k8s.io/v1",
}
CLUSTER_SCOPED = frozenset(
    (
        "clusternetworktopologies",
        "customresourcedefinitions",
        "namespaces",
        "nodes",
        "persistentvolumes",
        "priorityclasses",
        "queues",
        "runtimeclasses",
        "storageclasses",
    )
)
PATCHES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
Json = dict[str, Any]


def path(resource: str, name: str = "", namespace: str = "", subresource: str = "") -> str:
    """The path of a collection or an object.

    `resource` is a plural from GROUPS or of the core group ("pods"), or says where it is ("apis/x.test/v1/widgets").
    """
    group, _, plural = resource.rpartition("/")
    parts = [group or GROUPS.get(plural, "api/v1")]
    if namespace:
        parts += ["namespaces", namespace]
    parts += [part for part in (plural, name, subresource) if part]
    return "/" + "/".join(parts)


@dataclass(frozen=True)
class Reply:
    """What the server answered."""

    status: int
    body: Json

    def ok(self) -> Json:
        """The body of a success; anything else fails the test with what the server said."""
        assert self.status < 300, f"the server answered {self.status}: {json.dumps(self.body)}"
        return self.body

    def refused(self, status: int, reason: str) -> str:
        """The message of a refusal with this code and reason; the test goes on to check what it names."""
        assert self.status == status, f"expected {status}, the server answered {self.status}: {json.dumps(self.body)}"
        assert (self.body["kind"], self.body["status"]) == ("Status", "Failure")
        assert (self.body["code"], self.body["reason"]) == (status, reason)
        return self.body["message"]


class Watch:
    """An open watch. `next()` gives one event after the other, and None when the server ends it."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def next(self, timeout: float = 5) -> Json | None:  # noqa: ASYNC109 - a test says how long it waits
        async with asyncio.timeout(timeout):
            line = await self._response.content.readline()
        return json.loads(line) if line else None

    async def quiet(self, seconds: float = 0.3) -> bool:
        """Whether nothing comes for so long: the only way to see that an event was not sent."""
        try:
            return await self.next(seconds) is None
        except TimeoutError:
            return True


class Client:
    """`async with Client(url, namespace="x") as client: await client.create("pods", pod)`.

    Calls go to the client's namespace, those for CLUSTER_SCOPED resources to none. A call can name another one;
    `namespace=""` lists, watches and deletes in all of them.
    """

    def __init__(self, url: str, *, namespace: str = "default", token: str = "", ca_path: Path | None = None) -> None:
        self.url = url
        self.namespace = namespace
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._trusted = trusting(ca_path) if ca_path else True

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            self.url,
            headers=self._headers,
            connector=aiohttp.TCPConnector(ssl=self._trusted, limit=0),
            timeout=aiohttp.ClientTimeout(total=TIMEOUT_SECONDS),
            read_bufsize=2**22,  # readline() refuses longer lines, and a watch event is one line
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def request(
        self,
        method: str,
        at: str,
        body: object = None,
        *,
        params: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
    ) -> Reply:
        # Text and bytes go out as they are: a test may want to send what is no JSON.
        data = body if body is None or isinstance(body, str | bytes) else json.dumps(body)
        sent = {"Content-Type": "application/json", **(headers or {})}
        async with self._session.request(method, at, data=data, params=params, headers=sent) as response:
            content = await response.read()
            return Reply(response.status, _decoded(content))

    def path(self, resource: str, name: str = "", namespace: str | None = None, subresource: str = "") -> str:
        """The path of a collection or an object in the namespace of this client, if it lives in one."""
        if namespace is None:
            namespace = "" if resource.rpartition("/")[2] in CLUSTER_SCOPED else self.namespace
        return path(resource, name, namespace, subresource)

    async def get(self, resource: str, name: str, *, namespace: str | None = None, subresource: str = "") -> Reply:
        return await self.request("GET", self.path(resource, name, namespace, subresource))

    async def list(self, resource: str, *, namespace: str | None = None, **params: str | int) -> Reply:
        return await self.request("GET", self.path(resource, namespace=namespace), params=_parameters(params))

    async def create(self, resource: str, body: Json, *, namespace: str | None = None, **params: str) -> Reply:
        return await self.request("POST", self.path(resource, namespace=namespace), body, params=params)

    async def replace(self, resource: str, body: Json, *, subresource: str = "") -> Reply:
        """PUT an object where its own metadata says it is."""
        meta = body["metadata"]
        return await self.request("PUT", path(resource, meta["name"], meta.get("namespace", ""), subresource), body)

    async def patch(
        self,
        resource: str,
        name: str,
        patch: object,
        *,
        namespace: str | None = None,
        subresource: str = "",
        how: str = "merge",
        **params: str,
    ) -> Reply:
        """PATCH; `how` is one of PATCHES, and "apply" wants a `fieldManager`."""
        at = self.path(resource, name, namespace, subresource)
        return await self.request("PATCH", at, patch, params=params, headers={"Content-Type": PATCHES[how]})

    async def delete(
        self, resource: str, name: str, *, namespace: str | None = None, grace: int | None = None, uid: str = ""
    ) -> Reply:
        options: Json = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        if uid:
            options["preconditions"] = {"uid": uid}
        return await self.request("DELETE", self.path(resource, name, namespace), options)

    async def delete_all(
        self, resource: str, *, namespace: str | None = None, grace: int | None = None, **params: str
    ) -> Reply:
        options: Json = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        return await self.request("DELETE", self.path(resource, namespace=namespace), options, params=params)

    async def bind(self, pod: str, node: str, *, namespace: str | None = None, uid: str = "") -> Reply:
        """Bind a pod as a scheduler does, through pods/binding; with `uid`, only that very pod."""
        meta = {"name": pod, **({"uid": uid} if uid else {})}
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": target}
        return await self.request("POST", self.path("pods", pod, namespace, "binding"), binding)

    async def evict(self, pod: str, *, namespace: str | None = None) -> Reply:
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod},
        }
        return await self.request("POST", self.path("pods", pod, namespace, "eviction"), eviction)

    @contextlib.asynccontextmanager
    async def watch(
        self, resource: str, *, namespace: str | None = None, headers: dict[str, str] | None = None, **params: str | int
    ) -> AsyncIterator[Watch]:
        """Watch a collection; parameters by their API names: resourceVersion, labelSelector, timeoutSeconds."""
        forever = aiohttp.ClientTimeout(total=None, sock_connect=TIMEOUT_SECONDS)
        at = self.path(resource, namespace=namespace)
        asked = _parameters({"watch": "true", **params})
        async with self._session.get(at, params=asked, headers=headers, timeout=forever) as response:
            if response.status != 200:
                raise AssertionError(f"watch {at} answered {response.status}: {await response.text()}")
            yield Watch(response)


def _parameters(params: dict[str, str | int]) -> dict[str, str]:
    return {name: str(value) for name, value in params.items()}


def _decoded(content: bytes) -> Json:
    try:
        decoded = json.loads(content)
    except ValueError:
        return {"text": content.decode(errors="replace")}  # /readyz and a few errors are plain text
    return decoded if isinstance(decoded, dict) else {"items": decoded}
