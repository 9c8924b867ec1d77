"""Removes what a test has left in the cluster, straight from etcd.

No controller runs here that would empty a namespace, and asking the API server to delete thirty kinds of objects
one by one, past their finalizers, costs more than most tests. To watches a key removed from etcd is an ordinary
deletion. It must touch nothing but the test's own namespace and what is new in the cluster scope.
"""

import base64
import re

import aiohttp

from tests.controlplane.client import TIMEOUT_SECONDS, Json

REGISTRY = "/registry/"
# The scheduler of the next test would see these. Definitions of custom resources stay: they take a second to make.
CLUSTER_SCOPED = (
    "minions", "priorityclasses", "persistentvolumes", "storageclasses", "runtimeclasses",
    "scheduling.koordinator.sh/clusternetworktopologies", "scheduling.run.ai/queues",
)  # fmt: skip
OPERATIONS_PER_TRANSACTION = 100  # etcd takes 128


async def cluster_scoped(etcd_url: str) -> set[str]:
    """The keys of cluster-scoped objects at this moment, to tell later what is new."""
    kinds = tuple(f"{REGISTRY}{kind}/" for kind in CLUSTER_SCOPED)
    return {key for key in await _keys(etcd_url) if key.startswith(kinds)}


async def sweep(etcd_url: str, namespace: str, before: set[str]) -> None:
    """Remove the namespace with all that is in it, and the cluster-scoped objects that were not there `before`."""
    inside = re.compile(f"^{REGISTRY}.*/{re.escape(namespace)}(/|$)")
    leftovers = {key for key in await _keys(etcd_url) if inside.match(key)}
    leftovers |= await cluster_scoped(etcd_url) - before
    deletions = [{"request_delete_range": {"key": _encoded(key)}} for key in sorted(leftovers)]
    for start in range(0, len(deletions), OPERATIONS_PER_TRANSACTION):
        await _ask(etcd_url, "txn", {"success": deletions[start : start + OPERATIONS_PER_TRANSACTION]})


async def compact(etcd_url: str, revision: int) -> None:
    """Make etcd forget all versions before this one, as it is told to every five minutes in production."""
    await _ask(etcd_url, "compaction", {"revision": str(revision), "physical": True})


async def _keys(etcd_url: str) -> list[str]:
    end = REGISTRY[:-1] + chr(ord("/") + 1)  # etcd's way to say "everything with this prefix"
    found = await _ask(etcd_url, "range", {"key": _encoded(REGISTRY), "range_end": _encoded(end), "keys_only": True})
    return [base64.b64decode(entry["key"]).decode() for entry in found["kvs"]]


def _encoded(key: str) -> str:
    return base64.b64encode(key.encode()).decode()


async def _ask(etcd_url: str, operation: str, body: Json) -> Json:
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
    async with (
        aiohttp.ClientSession(etcd_url, timeout=timeout) as session,
        session.post(f"/v3/kv/{operation}", json=body) as reply,
    ):
        reply.raise_for_status()
        return await reply.json()
