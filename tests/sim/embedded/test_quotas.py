"""ResourceQuotas of the embedded cluster: pods are counted, and one too many is refused in the real server's words."""

import pytest

from koordpy.sim.embedded.server import EmbeddedCluster
from tests.sim.embedded.inprocess import PODS, pod

QUOTAS = "/api/v1/namespaces/default/resourcequotas"


async def test_a_pod_too_many_is_refused_and_the_message_names_quota_and_numbers():
    async with EmbeddedCluster(kubelets=False) as cluster:
        await cluster.create(QUOTAS, {"metadata": {"name": "two"}, "spec": {"hard": {"pods": "2"}}})
        await cluster.create(PODS, pod("a"))
        await cluster.create(PODS, pod("b"))
        told = 'pods "c" is forbidden: exceeded quota: two, requested: pods=1, used: pods=2, limited: pods=2'
        with pytest.raises(ValueError, match=told):
            await cluster.create(PODS, pod("c"))


async def test_requests_are_added_up():
    async with EmbeddedCluster(kubelets=False) as cluster:
        await cluster.create(QUOTAS, {"metadata": {"name": "cpu"}, "spec": {"hard": {"requests.cpu": "1"}}})
        await cluster.create(PODS, _asking("a", "600m"))
        with pytest.raises(ValueError, match=r"requested: requests.cpu=500m, used: requests.cpu=600m, limited"):
            await cluster.create(PODS, _asking("b", "500m"))
        await cluster.create(PODS, _asking("c", "400m"))


def _asking(name: str, cpu: str) -> dict:
    body = pod(name)
    body["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    return body
