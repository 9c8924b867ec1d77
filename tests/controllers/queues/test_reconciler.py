"""The status of Queues follows their pods within seconds; and nothing is written in vain."""

from __future__ import annotations

import pytest

from koordpy.sim.embedded.faults import Fault, Rule
from tests.builders import pod_json
from tests.controllers.queues.actions import (
    GPU,
    LABEL,
    PODS,
    QUEUES,
    RUN_AI_POD_GROUPS,
    add,
    definition,
    events,
    kais_definition,
    pod_in,
    queue_json,
    queue_writes,
    ready,
    run_ai_group,
    run_ai_pod_groups,
    status_of,
)
from tests.controllers.world import DEFINITIONS, World
from tests.controllers.world import definition as podgroup_definition

pytestmark = pytest.mark.looptime

KINDS = {"ours": definition(), "kais": kais_definition()}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_queue_and_its_parents_show_what_their_pods_have_and_want(kind):
    async with World(KINDS[kind]) as world, world.controllers():
        await add(world, queue_json("top"), queue_json("a", "top"), queue_json("b", "top"))
        await world.cluster.create(PODS, pod_in("a", "p1", 2))
        await world.cluster.create(PODS, pod_in("a", "p2", 1))
        await world.cluster.create(PODS, pod_in("b", "p3", 4))
        await world.bind("p1")
        await world.bind("p3")
        assert (await status_of(world, "a", 1.5))["allocated"] == {"cpu": "1", GPU: "2"}
        assert (await status_of(world, "a", 0))["requested"] == {"cpu": "2", GPU: "3"}
        top = await status_of(world, "top", 0)
        assert (top["allocated"], top["requested"]) == ({"cpu": "2", GPU: "6"}, {"cpu": "3", GPU: "7"})
        assert top["childQueues"] == ["a", "b"]
        assert ready(top) == ("True", "Ready")


async def test_a_pod_that_ends_or_is_gone_counts_no_more_and_a_terminating_one_until_then():
    async with World(definition()) as world, world.controllers():
        await add(world, queue_json("q"))
        for name in ("done", "gone", "going"):
            await world.cluster.create(PODS, pod_in("q", name))
            await world.bind(name)
        assert (await status_of(world, "q"))["allocated"][GPU] == "3"
        await world.phase("done", "Succeeded")
        await world.delete("gone")
        await world.ask("DELETE", f"{PODS}/going", {"gracePeriodSeconds": 3600})
        found = await status_of(world, "q")
        assert (found["allocated"][GPU], found["requested"][GPU]) == ("1", "1")
        await world.delete("going")
        assert (await status_of(world, "q"))["allocated"] == {"cpu": "0", GPU: "0"}


async def test_gated_pods_do_not_ask_for_anything_yet():
    gated = pod_in("q", "p")
    gated["spec"]["schedulingGates"] = [{"name": "example.com/later"}]
    async with World(definition()) as world, world.controllers():
        await add(world, queue_json("q"))
        await world.cluster.create(PODS, gated)
        assert "requested" not in await status_of(world, "q") or not (await status_of(world, "q", 0))["requested"]
        await world.ask("PATCH", f"{PODS}/p", {"spec": {"schedulingGates": []}})
        assert (await status_of(world, "q"))["requested"][GPU] == "1"


async def test_spec_queue_of_a_run_ai_podgroup_comes_before_its_label_and_the_pods():
    async with World(definition(), run_ai_pod_groups()) as world, world.controllers():
        await add(world, *(queue_json(name) for name in ("spec", "object", "pod")))
        by_label = run_ai_group("by-label")
        by_label["metadata"]["labels"] = {LABEL: "object"}
        for group in (run_ai_group("by-spec", "spec"), by_label, run_ai_group("says-nothing")):
            await world.cluster.create(RUN_AI_POD_GROUPS, group)
        for name in ("by-spec", "by-label", "says-nothing"):
            annotations = {"pod-group-name": name}
            await world.cluster.create(PODS, pod_in("pod", f"p-{name}", annotations=annotations))
        for name in ("spec", "object", "pod"):
            assert (await status_of(world, name))["requested"][GPU] == "1", name


async def test_a_label_on_a_podgroup_of_koordinators_counts_for_all_its_pods():
    async with World(definition(), podgroup_definition()) as world, world.controllers():
        await add(world, queue_json("q"), queue_json("other"))
        group = {"metadata": {"name": "g", "labels": {LABEL: "q"}}}
        await world.cluster.create("/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/default/podgroups", _group(group))
        await world.pod("p1", cpu=1)
        await world.pod("p2", cpu=1)
        assert (await status_of(world, "q"))["requested"] == {"cpu": "2"}
        await world.ask(
            "PATCH", "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/default/podgroups/g", _labels("other")
        )
        assert (await status_of(world, "q"))["requested"] == {"cpu": "0"}
        assert (await status_of(world, "other"))["requested"] == {"cpu": "2"}


def _group(more):
    return {"apiVersion": "scheduling.sigs.k8s.io/v1alpha1", "kind": "PodGroup", "spec": {"minMember": 2}} | more


def _labels(queue):
    return {"metadata": {"labels": {LABEL: queue}}}


async def test_a_label_that_is_changed_while_a_pod_runs_counts_from_its_next_start():
    async with World(definition()) as world, world.controllers():
        await add(world, queue_json("q"), queue_json("other"))
        await world.cluster.create(PODS, pod_in("q", "p"))
        await status_of(world, "q")
        await world.bind("p")
        assert (await status_of(world, "q"))["allocated"][GPU] == "1"
        await world.ask("PATCH", f"{PODS}/p", _labels("other"))
        assert (await status_of(world, "q"))["allocated"][GPU] == "1"
        await world.delete("p")
        await world.cluster.create(PODS, pod_in("other", "p"))
        assert (await status_of(world, "other"))["requested"][GPU] == "1"
        assert (await status_of(world, "q"))["requested"][GPU] == "0"


async def test_the_oldest_member_speaks_for_a_gang_without_a_podgroup():
    async with World(definition()) as world, world.controllers():
        await add(world, queue_json("q"), queue_json("other"))
        gang = {"gang.scheduling.koordinator.sh/name": "g"}
        await world.cluster.create(PODS, pod_in("q", "a", annotations=gang))
        await world.cluster.create(PODS, pod_in("other", "b", annotations=gang))
        assert (await status_of(world, "q"))["requested"][GPU] == "2"
        await world.delete("a")
        assert (await status_of(world, "other"))["requested"][GPU] == "1"
        assert (await status_of(world, "q"))["requested"][GPU] == "0"


async def test_pods_that_name_no_queue_are_in_the_default_queue_if_there_is_one():
    async with World(definition()) as world, world.controllers():
        await world.cluster.create(PODS, pod_in("", "p"))
        await add(world, queue_json("default-queue"))
        assert (await status_of(world, "default-queue"))["requested"][GPU] == "1"


async def test_a_queue_that_is_created_after_its_pods_shows_them():
    async with World() as world, world.controllers():
        await world.cluster.create(PODS, pod_in("late", "p"))
        await world.cluster.create(DEFINITIONS, definition())
        await add(world, queue_json("late"))
        assert (await status_of(world, "late", 5))["requested"][GPU] == "1"


async def test_work_that_is_not_preemptible_is_shown_apart():
    async with World(definition(), run_ai_pod_groups()) as world, world.controllers():
        await add(world, queue_json("q"))
        important = {"metadata": {"name": "build"}, "value": 150}
        await world.cluster.create("/apis/scheduling.k8s.io/v1/priorityclasses", _class(important))
        await world.cluster.create(RUN_AI_POD_GROUPS, run_ai_group("fixed", "q", preemptibility="non-preemptible"))
        await world.cluster.create(RUN_AI_POD_GROUPS, run_ai_group("classy", "q", priorityClassName="build"))
        soft = run_ai_group("soft", "q", preemptibility="preemptible", priorityClassName="build")
        await world.cluster.create(RUN_AI_POD_GROUPS, soft)
        for name, gpus in (("fixed", 1), ("classy", 2), ("soft", 4)):
            annotations = {"pod-group-name": name}
            await world.cluster.create(PODS, pod_in("", name, gpus, annotations=annotations))
            await world.bind(name)
        protected = pod_in("q", "protected", 8)
        protected["metadata"]["labels"]["scheduling.koordinator.sh/disable-preemptible"] = "true"
        await world.cluster.create(PODS, protected)
        await world.bind("protected")
        found = await status_of(world, "q")
        assert (found["allocated"][GPU], found["allocatedNonPreemptible"][GPU]) == ("15", "11")


def _class(more):
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"} | more


@pytest.mark.parametrize("kind", KINDS)
async def test_a_parent_that_is_missing_is_told_once_and_forgotten_when_it_comes(kind):
    async with World(KINDS[kind]) as world, world.controllers():
        await add(world, queue_json("a", "gone"), queue_json("fine"))
        assert ready(await status_of(world, "a")) == ("False", "ParentMissing")
        assert ready(await status_of(world, "fine", 0)) == ("True", "Ready")
        await world.cluster.create(PODS, pod_in("a", "p"))
        await status_of(world, "a")
        assert await events(world) == [("Warning", "ParentMissing", "a", "parent queue gone does not exist")]
        await add(world, queue_json("gone"))
        assert ready(await status_of(world, "a")) == ("True", "Ready")
        assert (await status_of(world, "gone", 0))["childQueues"] == ["a"]


async def test_a_cycle_is_told_to_everyone_in_it():
    async with World(definition()) as world, world.controllers():
        await add(world, queue_json("a", "b"), queue_json("b", "a"))
        assert ready(await status_of(world, "a")) == ready(await status_of(world, "b")) == ("False", "ParentCycle")
        assert {(reason, name) for _, reason, name, _ in await events(world) if reason == "ParentCycle"} == {
            ("ParentCycle", "a"),
            ("ParentCycle", "b"),
        }


async def test_numbers_that_kais_definition_lets_through_are_an_error_on_the_object():
    async with World(kais_definition()) as world, world.controllers():
        await add(world, queue_json("a", resources={"gpu": {"overQuotaWeight": -1}}))
        found = await status_of(world, "a")
        assert ready(found) == ("False", "InvalidSpec")
        assert found["conditions"][0]["message"] == "spec.resources.gpu.overQuotaWeight: -1 is negative"


async def test_a_queue_whose_pods_are_all_of_another_scheduler_is_left_to_it():
    async with World(definition()) as world, world.controllers():
        await world.cluster.create(PODS, pod_in("q", "p", scheduler="kai-scheduler"))
        await add(world, queue_json("q"))
        assert await status_of(world, "q") == {}
        await world.cluster.create(PODS, pod_in("q", "ours"))
        assert (await status_of(world, "q"))["requested"][GPU] == "1"


@pytest.mark.parametrize("kind", KINDS)
async def test_many_pods_at_once_are_a_few_writes_and_no_change_is_none(kind):
    async with World(KINDS[kind]) as world, world.controllers():
        await add(world, queue_json("q"))
        await status_of(world, "q")
        before = len(queue_writes(world))
        for number in range(100):
            await world.cluster.create(PODS, pod_in("q", f"p{number}"))
        assert (await status_of(world, "q"))["requested"][GPU] == "100"
        written = len(queue_writes(world))
        assert written - before <= 2
        await world.ask("PATCH", f"{PODS}/p1", {"metadata": {"labels": {"example.com/other": "x"}}})
        await world.cluster.create(PODS, pod_json("elsewhere", cpu=1))
        await status_of(world, "q")
        assert len(queue_writes(world)) == written


async def test_a_restart_finds_nothing_to_write():
    async with World(definition()) as world:
        await add(world, queue_json("q"), queue_json("lost", "gone"))
        await world.cluster.create(PODS, pod_in("q", "p"))
        async with world.controllers():
            before = await status_of(world, "q")
        writes, told = len(queue_writes(world)), await events(world)
        async with world.controllers():
            assert await status_of(world, "q") == before
        assert len(queue_writes(world)) == writes
        assert await events(world) == told


async def test_what_somebody_else_writes_into_a_status_is_put_right():
    async with World(definition()) as world, world.controllers():
        await add(world, queue_json("q"))
        await world.cluster.create(PODS, pod_in("q", "p"))
        good = await status_of(world, "q")
        await world.ask("PATCH", f"{QUEUES}/q/status", {"status": {"requested": {GPU: "7"}, "childQueues": ["x"]}})
        assert await status_of(world, "q") == good


@pytest.mark.parametrize("status", [409, 429, 500, 503])
async def test_a_write_that_fails_is_made_again(status):
    async with World(definition()) as world, world.controllers():
        world.faults.add(Rule(Fault.STATUS, "PATCH", count=2, status=status))
        await add(world, queue_json("q"))
        await world.cluster.create(PODS, pod_in("q", "p"))
        assert (await status_of(world, "q", 10))["requested"][GPU] == "1"
