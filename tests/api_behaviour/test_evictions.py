"""pods/eviction, and what a disruption budget says to it."""

from tests.api_behaviour.objects import disruption_budget, pod
from tests.controlplane.client import Client

WEB = {"app": "web"}


async def _running(api: Client, name: str) -> None:
    (await api.create("pods", pod(name, meta={"labels": WEB}))).ok()
    (await api.bind(name, "n")).ok()
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    (await api.patch("pods", name, {"status": ready}, subresource="status", how="strategic")).ok()


async def _budget(api: Client, allowed: int) -> None:
    """A budget with the status that its controller, which is not running here, would write."""
    budget = (await api.create("poddisruptionbudgets", disruption_budget("web", WEB, minAvailable=1))).ok()
    budget["status"] = {
        "observedGeneration": budget["metadata"]["generation"],
        "disruptionsAllowed": allowed,
        "currentHealthy": 1 + allowed,
        "desiredHealthy": 1,
        "expectedPods": 1 + allowed,
    }
    (await api.replace("poddisruptionbudgets", budget, subresource="status")).ok()


async def test_an_evicted_pod_is_terminating_and_the_answer_is_201_success(api: Client):
    await _running(api, "a")
    reply = await api.evict("a")
    assert (reply.status, reply.body["status"]) == (201, "Success")
    assert "deletionTimestamp" in (await api.get("pods", "a")).ok()["metadata"]


async def test_a_budget_that_allows_nothing_refuses_with_429_and_its_name(api: Client):
    await _running(api, "a")
    await _budget(api, allowed=0)
    reply = await api.evict("a")
    assert "disruption budget" in reply.refused(429, "TooManyRequests")
    assert reply.body["details"]["causes"][0]["reason"] == "DisruptionBudget"
    assert "web" in reply.body["details"]["causes"][0]["message"]
    assert "deletionTimestamp" not in (await api.get("pods", "a")).ok()["metadata"]


async def test_a_budget_that_allows_one_is_used_up_by_one(api: Client):
    await _running(api, "a")
    await _running(api, "b")
    await _budget(api, allowed=1)
    (await api.evict("a")).ok()
    (await api.evict("b")).refused(429, "TooManyRequests")
    status = (await api.get("poddisruptionbudgets", "web")).ok()["status"]
    assert status["disruptionsAllowed"] == 0
    assert list(status["disruptedPods"]) == ["a"]


async def test_a_pod_that_is_pending_is_evicted_whatever_the_budget_says(api: Client):
    (await api.create("pods", pod("a", meta={"labels": WEB}))).ok()
    await _budget(api, allowed=0)
    (await api.evict("a")).ok()
    (await api.get("pods", "a")).refused(404, "NotFound")


async def test_evicting_an_unknown_pod_is_404(api: Client):
    (await api.evict("nobody")).refused(404, "NotFound")
