"""What a failed pod means for its Job on the embedded cluster, in virtual time."""

import asyncio

import pytest

from tests.sim.embedded.inprocess import PODS, call
from tests.sim.embedded.workloads.world import World, conditions, job, world

pytestmark = [pytest.mark.looptime]

IGNORE_DISRUPTIONS = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}


def on_exit(action, operator, *codes, **more):
    return {"action": action, "onExitCodes": {"operator": operator, "values": list(codes), **more}}


def policy(*rules):
    return {"podFailurePolicy": {"rules": list(rules)}}


async def evict_all(w: World) -> None:
    for pod in w.living():
        name = pod["metadata"]["name"]
        answer = await call(w.cluster, "POST", f"{PODS}/{name}/eviction", {"metadata": {"name": name}})
        assert answer["httpStatus"] == 201


async def test_evicted_pods_are_no_failures_where_the_policy_says_so():
    """As of a gang that is preempted: without the policy, two members more than the backoff limit end its Job."""
    async with world() as w:
        await w.create("jobs", job(parallelism=3, completions=3, backoffLimit=1, **policy(IGNORE_DISRUPTIONS)))
        await asyncio.sleep(1)
        await evict_all(w)
        await asyncio.sleep(100)
        status = await w.status("jobs")
        assert ("failed" in status, status["active"]) == (False, 3)
        await w.create("jobs", job("y", parallelism=3, completions=3, backoffLimit=1))
        await asyncio.sleep(1)
        await evict_all(w)
        await asyncio.sleep(1)
        assert conditions(await w.status("jobs", "y"))["Failed"] == ("True", "BackoffLimitExceeded")


@pytest.mark.parametrize(("rules", "replaced"), [([IGNORE_DISRUPTIONS], False), ([], True)])
async def test_a_job_with_a_policy_replaces_a_pod_when_it_has_ended_and_not_before(rules, replaced):
    async with world(termination=20) as w:
        await w.create("jobs", job(completionMode="Indexed", completions=1, **(policy(*rules) if rules else {})))
        await asyncio.sleep(1)
        await evict_all(w)
        await asyncio.sleep(15)  # longer than the pause after a failure
        assert len(w.living()) == replaced
        await asyncio.sleep(20)
        assert len(w.living()) == 1


async def test_an_exit_code_that_fails_the_job_ends_it_at_once():
    async with world() as w:
        await w.create("jobs", job(runs="5", exits="42", **policy(on_exit("FailJob", "In", 42))))
        await asyncio.sleep(8)
        status = await w.status("jobs")
        assert conditions(status)["Failed"] == ("True", "PodFailurePolicy")
        assert status["failed"] == 1
        (said,) = (c["message"] for c in status["conditions"] if c["type"] == "Failed")
        assert said.startswith("Container main for pod default/x-")
        assert said.endswith(" failed with exit code 42 matching FailJob rule at index 0")


@pytest.mark.parametrize(
    ("rule", "failed"),
    [
        (on_exit("Ignore", "In", 3), None),
        (on_exit("Ignore", "NotIn", 4), None),
        (on_exit("Ignore", "In", 4), 1),
        (on_exit("Ignore", "In", 3, containerName="other"), 1),
        (on_exit("Count", "In", 3), 1),
    ],
)
async def test_a_failure_counts_as_the_first_rule_says_that_matches_it(rule, failed):
    async with world() as w:
        await w.create("jobs", job(runs="5", exits="3", **policy(rule, on_exit("Count", "In", 3))))
        await asyncio.sleep(8)
        assert (await w.status("jobs")).get("failed") == failed


async def test_a_pod_that_was_deleted_before_it_was_bound_is_replaced():
    async with world(binds=False) as w:
        await w.create("jobs", job(**policy(IGNORE_DISRUPTIONS)))
        await asyncio.sleep(1)
        (name,) = w.names()
        await call(w.cluster, "DELETE", f"{PODS}/{name}")
        await asyncio.sleep(12)
        assert len(w.living()) == 1
