"""Gangs by KAI's PodGroups, on both API servers: everything that holds for gangs holds for these."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
import structlog

from koordpy.app.crds import definitions
from tests.scenarios.api import Refused
from tests.scenarios.frontends import subgroup
from tests.scenarios.mirror import KAI_GROUPS
from tests.scenarios.network import BLOCK, SPINE
from tests.scenarios.objects import gang, members
from tests.scenarios.test_definitions import DEFINITIONS, start_without
from tests.scenarios.world import World

MASTER_AND_WORKERS = (subgroup("master", 1), subgroup("worker", 2))
RUN_AI = next(each for each in definitions() if each["spec"]["group"] == "scheduling.run.ai")


async def training(world: World, *, workers: int = 2, **given: object) -> list[str]:
    """The pods of a PodGroup named train: a master, and workers; returns their names."""
    names = [f"w-{number}" for number in range(1, workers + 1)]
    await world.kai_pods("m", gang="train", subgroup="master", **given)
    await world.kai_pods(*names, gang="train", subgroup="worker", **given)
    return ["m", *names]


# --- membership ---


async def test_members_start_together(world: World) -> None:
    await world.nodes(1)
    await world.kai("a", 3)
    await world.kai_pods("a-1", "a-2", gang="a")
    await world.all_say("gang {ns}/a is incomplete: 2 of 3 members", "a-1", "a-2")
    await world.pending("a-1", "a-2")
    await world.kai_pods("a-3", gang="a")
    await world.bound(*members("a", 3))


async def test_members_that_come_before_their_pod_group_wait_for_it(world: World) -> None:
    await world.nodes(1)
    await world.kai_pods("a-1", "a-2", gang="a")
    await world.all_say("gang {ns}/a waits for PodGroup {ns}/a, which does not exist", "a-1", "a-2")
    await world.kai("a", 2)
    await world.bound("a-1", "a-2")


async def test_nothing_of_a_gang_starts_while_its_minimum_does_not_fit(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.kai("a", 3)
    await world.kai_pods(*members("a", 3), gang="a")
    await world.says("a-1", "Insufficient cpu")
    await world.pending(*members("a", 3))
    await world.node("more", cpu=1)
    await world.bound(*members("a", 3))


async def test_pod_groups_of_one_name_in_two_front_ends_are_two_gangs(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.pod_group("a", minimum=2)
    await world.kai("a", 2)
    await world.pods("c-1", gang="a", cpu=1)
    await world.kai_pods("k-1", gang="a")
    await world.all_say("gang {ns}/a is incomplete: 1 of 2 members", "c-1", "k-1")
    await world.kai_pods("k-2", gang="a")
    await world.bound("k-1", "k-2")
    await world.pending("c-1")


async def test_a_pod_that_two_front_ends_claim_belongs_to_the_first_and_is_told_of_both(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("mine", minimum=1)
    await world.kai("theirs", 2)
    await world.kai_pods("p", gang="theirs", labels={"pod-group.scheduling.sigs.k8s.io": "mine"})
    await world.bound("p")
    told = await world.event("ConflictingGangs", pod="p", text="{ns}/mine")
    assert told["type"] == "Warning"
    assert f"{world.namespace}/theirs" in told["note"]


async def test_annotations_of_koordinator_count_on_its_objects(world: World) -> None:
    await world.nodes(1, cpu=3)
    both = world.group("a", "b")
    await world.kai("a", 2, annotations=gang(groups=both))
    await world.kai("b", 2, annotations=gang(groups=both))
    await world.kai_pods("a-1", "a-2", gang="a")
    await world.says("a-1", "gang {ns}/b is incomplete: 0 of 2 members")
    await world.kai_pods("b-1", "b-2", gang="b")
    await world.pending("a-1", "a-2", "b-1", "b-2")
    await world.node("more", cpu=1)
    await world.bound("a-1", "a-2", "b-1", "b-2")


async def test_a_mode_of_koordinator_on_a_member_counts(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.busy_node()
    await world.kai("a", 3)
    await world.kai_pods(*members("a", 3), gang="a", annotations=gang(mode="NonStrict"))
    await world.pods("small", cpu=1)
    await world.says("small", "are held by gang {ns}/a")
    await world.delete("filler")
    await world.bound(*members("a", 3), "small")


# --- subgroups ---


async def test_every_subgroup_has_to_have_its_minimum(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.kai("train", 3, *MASTER_AND_WORKERS)
    await world.kai_pods("w-1", "w-2", "w-3", gang="train", subgroup="worker")
    await world.says("w-1", "gang {ns}/train is incomplete: 3 of 3 members; subgroup master has 0 of 1 members")
    await world.pending("w-1", "w-2", "w-3")
    await world.kai_pods("m", gang="train", subgroup="master")
    await world.bound("m", "w-1", "w-2", "w-3")


async def test_a_master_that_does_not_fit_keeps_all_workers_back(world: World) -> None:
    await world.nodes(2, cpu=2)
    await world.kai("train", 3, *MASTER_AND_WORKERS)
    await world.kai_pods("m", gang="train", subgroup="master", cpu=3)
    await world.kai_pods("w-1", "w-2", gang="train", subgroup="worker")
    await world.says("m", "gang {ns}/train, subgroup master: 0 of 1 members fit")
    await world.pending("m", "w-1", "w-2")
    await world.node("large", cpu=3)
    await world.bound("m", "w-1", "w-2")


async def test_surplus_workers_do_not_take_the_room_of_the_master(world: World) -> None:
    await world.nodes(1, cpu=3)
    await world.kai("train", 3, *MASTER_AND_WORKERS)
    await world.kai_pods(*members("w", 4), gang="train", subgroup="worker")
    await world.kai_pods("m", gang="train", subgroup="master")
    await world.bound("m")
    await world.some_bound(2, *members("w", 4))


async def test_a_parent_starts_with_as_many_children_as_it_needs(world: World) -> None:
    await world.nodes(1, cpu=3)
    await world.kai(
        "set", None, subgroup("jobs", minSubGroup=1), *(subgroup(name, 2, parent="jobs") for name in ("s0", "s1"))
    )
    await world.kai_pods("s1-0", gang="set", subgroup="s1")
    await world.kai_pods("s0-0", gang="set", subgroup="s0")
    await world.pending("s1-0", "s0-0")
    await world.kai_pods("s1-1", gang="set", subgroup="s1")
    await world.bound("s1-0", "s1-1")
    await world.kai_pods("s0-1", gang="set", subgroup="s0")
    await world.pending("s0-0", "s0-1")
    await world.node("more", cpu=1)
    await world.bound("s0-0", "s0-1")


async def test_a_pod_of_an_unknown_subgroup_waits_alone_until_there_is_one(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.kai("train", 3, *MASTER_AND_WORKERS)
    await world.kai_pods("ps", gang="train", subgroup="ps")
    await world.kai_pods("none", gang="train")
    known = "PodGroup {ns}/train has the subgroups master, worker"
    await world.says("ps", f"the pod names the subgroup ps, and {known}")
    await world.says("none", f"the pod names no subgroup, and {known}")
    await world.bound(*await training(world))
    await world.change_kai("train", subGroups=[*MASTER_AND_WORKERS, subgroup("ps", 1)])
    await world.bound("ps")
    await world.label("none", labels={"kai.scheduler/subgroup-name": "worker"})
    await world.bound("none")


# --- minima that change ---


async def test_a_minimum_that_is_lowered_starts_a_gang_that_waits(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.kai("a", 3)
    await world.kai_pods("a-1", "a-2", gang="a")
    await world.says("a-1", "2 of 3 members")
    await world.change_kai("a", minMember=2)
    await world.bound("a-1", "a-2")


async def test_members_that_a_raised_minimum_lacks_start_together_or_not_at_all(world: World) -> None:
    await world.nodes(1, cpu=3)
    await world.kai("a", 2)
    await world.kai_pods("a-1", "a-2", gang="a")
    await world.bound("a-1", "a-2")
    await world.change_kai("a", minMember=4)
    await world.kai_pods("a-3", "a-4", gang="a")
    await world.says("a-3", "Insufficient cpu")
    await world.pending("a-3", "a-4")
    await world.node("more", cpu=1)
    await world.bound("a-3", "a-4")


async def test_one_member_of_a_raised_minimum_waits_for_the_other(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.kai("a", 1)
    await world.kai_pods("a-1", gang="a")
    await world.bound("a-1")
    await world.change_kai("a", minMember=3)
    await world.kai_pods("a-2", gang="a")
    await world.says("a-2", "gang {ns}/a is incomplete: 2 of 3 members")
    await world.change_kai("a", minMember=2)
    await world.bound("a-2")


async def test_a_subgroup_whose_minimum_is_raised_while_it_runs_refills_whole(world: World) -> None:
    await world.nodes(1, cpu=4)
    await world.kai("train", 3, *MASTER_AND_WORKERS)
    await world.bound(*await training(world))
    await world.change_kai("train", minMember=5, subGroups=[subgroup("master", 1), subgroup("worker", 4)])
    await world.kai_pods("w-3", "w-4", gang="train", subgroup="worker")
    await world.says("w-3", "Insufficient cpu")
    await world.pending("w-3", "w-4")
    await world.node("more", cpu=1)
    await world.bound("w-3", "w-4")


async def test_workers_of_a_lowered_subgroup_start_without_the_others(world: World) -> None:
    await world.nodes(1, cpu=2)
    await world.kai("train", 3, *MASTER_AND_WORKERS)
    names = await training(world)
    await world.says("m", "Insufficient cpu")
    await world.change_kai("train", minMember=2, subGroups=[subgroup("master", 1), subgroup("worker", 1)])
    await world.bound("m")
    await world.some_bound(1, *names[1:])


# --- priority and topology ---


async def test_the_priority_class_of_a_pod_group_orders_its_job(world: World) -> None:
    await world.classes(high=50)
    await world.nodes(1, cpu=2)
    await world.bind_elsewhere("filler", "n1", cpu=2)
    await world.kai("a", 2)
    await world.kai_pods("a-1", "a-2", gang="a", priority=10)
    await world.kai("b", 2, priorityClassName="high")
    await world.kai_pods("b-1", "b-2", gang="b")
    await world.all_say("Insufficient cpu", "a-1", "b-1")
    await world.delete("filler")
    await world.bound("b-1", "b-2")
    await world.pending("a-1", "a-2")


async def test_a_priority_class_that_does_not_exist_is_said_once_and_nobody_waits_for_it(world: World) -> None:
    await world.nodes(1)
    await world.kai("a", 1, priorityClassName="nowhere")
    await world.kai_pods("a-1", gang="a")
    await world.bound("a-1")
    told = await world.event("InvalidGangSpec", pod_group="a", text='spec.priorityClassName: "nowhere"')
    assert told["type"] == "Warning"


async def test_a_required_level_gathers_the_gang_in_one_domain(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1", "s1/b2": "n2", "s2/b3": "n3 n4 n5"}, cpu=1)
    await world.kai("a", 3, topologyConstraint={"topology": "any", "requiredTopologyLevel": SPINE})
    await world.kai_pods(*members("a", 3), gang="a")
    await world.bound(*members("a", 3))
    assert set(world.spines(*members("a", 3))) == {"s2"}


async def test_a_required_level_without_room_keeps_the_gang_pending(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2", "s2/b2": "n3 n4"}, cpu=1)
    await world.kai("a", 3, topologyConstraint={"requiredTopologyLevel": SPINE})
    await world.kai_pods(*members("a", 3), gang="a")
    await world.says("a-1", "is closest and lacks 1")
    await world.pending(*members("a", 3))
    await world.fabric({"s2/b9": "n9"}, cpu=1)
    await world.bound(*members("a", 3))
    assert set(world.spines(*members("a", 3))) == {"s2"}


async def test_a_preferred_level_gathers_if_it_can(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2", "s1/b2": "n3", "s2/b3": "n4 n5 n6"}, cpu=1)
    await world.kai("a", 2, topologyConstraint={"preferredTopologyLevel": BLOCK})
    await world.kai_pods("a-1", "a-2", gang="a")
    await world.bound("a-1", "a-2")
    assert len(set(world.blocks("a-1", "a-2"))) == 1
    await world.kai("b", 4, topologyConstraint={"preferredTopologyLevel": BLOCK})
    await world.kai_pods(*members("b", 4), gang="b")
    await world.bound(*members("b", 4))


async def test_a_required_level_that_is_no_layer_of_the_topology_is_said(world: World) -> None:
    await world.topology()
    await world.fabric({"s1/b1": "n1 n2"}, cpu=1)
    await world.kai("a", 2, topologyConstraint={"requiredTopologyLevel": "example.com/row"})
    await world.kai_pods("a-1", "a-2", gang="a")
    await world.says("a-1", "example.com/row")
    await world.pending("a-1", "a-2")


# --- preemption ---


async def test_a_gang_with_subgroups_preempts_for_all_of_them_or_nobody(world: World) -> None:
    await world.nodes(2, cpu=2)
    for name in ("v-1", "v-2", "v-3"):
        await world.pods(name, cpu=1)
        await world.bound(name)
    await world.kai("train", 3, *MASTER_AND_WORKERS)
    await world.kai_pods("m", gang="train", subgroup="master", priority=100, preempts=True, cpu=3)
    await world.kai_pods("w-1", "w-2", gang="train", subgroup="worker", priority=100, preempts=True)
    await world.says("m", "subgroup master: 0 of 1 members fit")
    await world.stays(lambda: not world.observer.evictions.names, "nobody is evicted for a job that never fits")


async def test_a_gang_with_subgroups_that_fits_after_evictions_starts_whole(world: World) -> None:
    await world.nodes(2, cpu=2)
    for name in ("v-1", "v-2", "v-3"):
        await world.pods(name, cpu=1)
        await world.bound(name)
    await world.kai("train", 3, *MASTER_AND_WORKERS)
    names = ["m", "w-1", "w-2"]
    await world.kai_pods("m", gang="train", subgroup="master", priority=100, preempts=True)
    await world.kai_pods("w-1", "w-2", gang="train", subgroup="worker", priority=100, preempts=True)
    victims = await world.evicted_some(2, "v-1", "v-2", "v-3")
    await world.pending(*names)
    await world.gone(*victims)
    await world.bound(*names)


async def test_a_gang_whose_subgroup_would_fall_below_its_minimum_goes_whole(world: World) -> None:
    await world.nodes(3, cpu=1)
    await world.kai("train", 3, *MASTER_AND_WORKERS)
    names = await training(world, cpu=1)
    await world.bound(*names)
    await world.urgent("u", cpu=1)
    await world.evicted(*names)
    await world.gone(*names)
    await world.bound("u")


async def test_surplus_goes_alone_where_each_subgroup_can_spare_a_member(world: World) -> None:
    await world.nodes(5, cpu=1)
    await world.kai("train", 3, *MASTER_AND_WORKERS)
    names = await training(world, workers=3)
    await world.kai_pods("m-2", gang="train", subgroup="master")
    await world.bound(*names, "m-2")
    await world.urgent("u", cpu=1)
    (victim,) = await world.evicted_some(1, *names, "m-2")
    await world.gone(victim)
    await world.bound("u")


# --- the second time ---


async def test_a_gang_that_was_half_bound_when_koordpy_was_killed_is_completed(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.kai("train", 3, *MASTER_AND_WORKERS)
    async with world.crash(after_binds=1):
        names = await training(world)
    await world.start()
    await world.bound(*names)


async def test_after_a_restart_missing_members_still_start_together(world: World) -> None:
    await world.nodes(1, cpu=3)
    await world.kai("a", 2)
    await world.kai_pods("a-1", "a-2", gang="a")
    await world.bound("a-1", "a-2")
    await world.stop()
    await world.change_kai("a", minMember=4)
    await world.kai_pods("a-3", "a-4", gang="a")
    await world.start()
    await world.says("a-3", "Insufficient cpu")
    await world.pending("a-3", "a-4")
    await world.node("more", cpu=1)
    await world.bound("a-3", "a-4")


async def test_a_pod_group_that_is_made_again_starts_whole_again(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.kai("train", 3, *MASTER_AND_WORKERS)
    names = await training(world)
    await world.bound(*names)
    await world.finish("m")
    await world.another_second()
    await world.delete_kai("train")
    await world.delete(*names)
    await world.kai("train", 3, *MASTER_AND_WORKERS)
    await world.kai_pods("w-1", "w-2", gang="train", subgroup="worker")
    await world.says("w-1", "subgroup master has 0 of 1 members")
    await world.pending("w-1", "w-2")
    await world.kai_pods("m", gang="train", subgroup="master")
    await world.bound(*names)


async def test_finished_members_of_a_subgroup_count_after_a_restart(world: World) -> None:
    await world.nodes(1, cpu=8)
    await world.kai("train", 3, *MASTER_AND_WORKERS)
    names = await training(world)
    await world.bound(*names)
    await world.finish("m", "w-1")
    await world.restart()
    await world.delete("w-2")
    await world.kai_pods("w-2", gang="train", subgroup="worker")
    await world.bound("w-2")


# --- definitions ---


async def test_a_definition_that_is_installed_later_starts_who_waits_for_it(virtual: World) -> None:
    await start_without(virtual, RUN_AI)
    await virtual.nodes(1)
    with structlog.testing.capture_logs() as entries:
        await virtual.kai_pods("a-1", gang="a")
        await virtual.says("a-1", "gang {ns}/a waits for PodGroup {ns}/a, but PodGroups are not installed")
        await virtual.pods("single", cpu=1)
        await virtual.bound("single")
        await asyncio.sleep(600)
        assert len([each for each in entries if "run.ai" in str(each)]) <= 1
    await virtual.api.ask("POST", DEFINITIONS, RUN_AI)
    await virtual.says("a-1", "which does not exist")
    await virtual.kai("a", 1)
    await virtual.bound("a-1")


async def test_members_of_a_definition_that_is_removed_wait_and_nobody_else_does(virtual: World) -> None:
    await virtual.nodes(1, cpu=8)
    await virtual.kai("a", 2)
    await virtual.kai_pods("a-1", gang="a")
    await virtual.api.ask("DELETE", f"{DEFINITIONS}/{RUN_AI['metadata']['name']}")
    await virtual.says("a-1", "PodGroups are not installed")
    await virtual.kai_pods("a-2", gang="a")
    await virtual.pending("a-1", "a-2")
    await virtual.pods("single", cpu=1)
    await virtual.bound("single")
    await virtual.api.ask("POST", DEFINITIONS, RUN_AI)
    await virtual.until(lambda: not virtual.mirror.all(KAI_GROUPS), "the PodGroups are gone with their definition")
    await virtual.kai("a", 2)
    await virtual.bound("a-1", "a-2")


@pytest.mark.parametrize("spec", [{"minMember": -1}, {"subGroups": [{"name": "a", "parent": "nowhere"}]}])
async def test_a_pod_group_that_makes_no_sense_disturbs_nobody_else(world: World, spec: dict[str, object]) -> None:
    await world.nodes(1, cpu=8)
    with contextlib.suppress(Refused):  # its definition may say so already
        await world.kai("odd", **spec)
    await world.kai_pods("o-1", gang="odd", subgroup="a")
    await world.kai("a", 1)
    await world.kai_pods("a-1", gang="a")
    await world.bound("a-1")
