"""Priority classes: what admission makes of a pod's class name."""

import asyncio

from tests.api_behaviour.objects import pod, priority_class
from tests.controlplane.client import Client, Json


async def _created(api: Client, body: Json) -> Json:
    """Admission sees a new class a moment late, as its own watch brings it; a client tries again."""
    for _ in range(250):
        reply = await api.create("pods", body)
        if reply.status != 403:
            break
        await asyncio.sleep(0.02)
    return reply.ok()


async def test_a_class_gives_the_pod_its_priority_and_preemption_policy(api: Client):
    (await api.create("priorityclasses", priority_class("high", 900, preemptionPolicy="Never"))).ok()
    created = await _created(api, pod("a", priorityClassName="high"))
    assert created["spec"]["priority"] == 900
    assert created["spec"]["preemptionPolicy"] == "Never"


async def test_an_unknown_class_is_refused_with_403_and_its_name(api: Client):
    message = (await api.create("pods", pod("a", priorityClassName="unknown"))).refused(403, "Forbidden")
    assert message == 'pods "a" is forbidden: no PriorityClass with name unknown was found'


async def test_the_system_classes_exist_from_the_start(api: Client):
    listed = (await api.list("priorityclasses")).ok()["items"]
    values = {item["metadata"]["name"]: item["value"] for item in listed}
    assert values["system-node-critical"] == 2_000_001_000
    assert values["system-cluster-critical"] == 2_000_000_000


async def test_a_pod_cannot_choose_a_priority_without_a_class(api: Client):
    message = (await api.create("pods", pod("a", priority=5))).refused(403, "Forbidden")
    assert "the integer value of priority (5) must not be provided in pod spec" in message


async def test_the_global_default_class_is_given_to_pods_that_name_none(api: Client):
    (await api.create("priorityclasses", priority_class("usual", 7, globalDefault=True))).ok()
    for attempt in range(250):
        created = (await api.create("pods", pod(f"a-{attempt}"))).ok()
        if created["spec"]["priority"]:
            break
        await asyncio.sleep(0.02)
    assert (created["spec"]["priorityClassName"], created["spec"]["priority"]) == ("usual", 7)


async def test_the_value_of_a_class_cannot_be_changed(api: Client):
    (await api.create("priorityclasses", priority_class("high", 900))).ok()
    message = (await api.patch("priorityclasses", "high", {"value": 901})).refused(422, "Invalid")
    assert "value" in message


async def test_a_value_above_a_billion_is_for_system_classes_only(api: Client):
    message = (await api.create("priorityclasses", priority_class("huge", 1_000_000_001))).refused(422, "Invalid")
    assert "value" in message
