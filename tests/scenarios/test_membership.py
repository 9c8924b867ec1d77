"""Who belongs to a gang: the keys that name one, and the pods that do not count."""

from __future__ import annotations

import pytest

from tests.scenarios.objects import KOORDINATOR, SIGS, X_K8S, gang
from tests.scenarios.world import World


async def test_a_gang_starts_the_moment_its_last_member_arrives(world: World) -> None:
    await world.nodes(3, cpu=4)
    await world.pod_group("a", minimum=3)
    await world.pods("a-1", "a-2", gang="a", cpu=1)
    await world.says("a-1", "gang {ns}/a is incomplete: 2 of 3 members")
    await world.pending("a-1", "a-2")
    await world.pods("a-3", gang="a", cpu=1)
    await world.bound("a-1", "a-2", "a-3")


@pytest.mark.parametrize("api_group", ["sigs", "x-k8s"])
@pytest.mark.parametrize("label", [SIGS, X_K8S])
async def test_both_labels_name_a_pod_group_of_either_api_group(world: World, label: str, api_group: str) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=2, api_group=api_group)
    await world.pods("a-1", labels={label: "a"})
    await world.says("a-1", "gang {ns}/a is incomplete: 1 of 2 members")
    await world.pods("a-2", labels={label: "a"})
    await world.bound("a-1", "a-2")


@pytest.mark.parametrize(
    ("labels", "annotations"),
    [
        ({f"{SIGS}/name": "a"}, {}),
        ({}, {f"{SIGS}/name": "a"}),
        ({}, {SIGS: "a"}),
        ({}, {f"{KOORDINATOR}/name": "a"}),
    ],
    ids=["label-name", "annotation-name", "annotation", "koordinator"],
)
async def test_pods_can_name_their_gang_without_a_pod_group(
    world: World, labels: dict[str, str], annotations: dict[str, str]
) -> None:
    await world.nodes(1)
    belongs = {"labels": labels, "annotations": annotations | gang(minimum=2)}
    await world.pods("a-1", **belongs)
    await world.says("a-1", "gang {ns}/a is incomplete: 1 of 2 members")
    await world.pods("a-2", **belongs)
    await world.bound("a-1", "a-2")


async def test_the_label_of_a_pod_group_wins_over_an_annotation(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=2)
    await world.pods("p", gang="a", annotations=gang("b"))
    await world.says("p", "gang {ns}/a is incomplete")
    await world.pending("p")


async def test_the_sigs_label_wins_over_the_x_k8s_one(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=2)
    await world.pod_group("b", minimum=1, api_group="x-k8s")
    await world.pods("p", labels={SIGS: "a", X_K8S: "b"})
    await world.says("p", "gang {ns}/a is incomplete: 1 of 2 members")


async def test_a_label_without_a_name_makes_no_gang(world: World) -> None:
    await world.nodes(1)
    await world.pods("p", labels={SIGS: ""}, annotations={f"{KOORDINATOR}/name": ""})
    await world.bound("p")


async def test_a_gang_of_the_same_name_in_another_namespace_is_another_gang(world: World) -> None:
    await world.nodes(1)
    await world.pods("a-1", annotations=gang("a", minimum=2))
    await world.pods("a-2", annotations=gang("a", minimum=2), namespace=world.other_namespace)
    await world.says("a-1", "gang {ns}/a is incomplete: 1 of 2 members")
    await world.pending("a-1")
    await world.pending("a-2", namespace=world.other_namespace)


async def test_a_pod_of_another_scheduler_does_not_count_and_is_named(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", gang="a")
    await world.pods("a-2", gang="a", scheduler="default-scheduler")
    await world.says("a-1", "gang {ns}/a is incomplete: 1 of 2 members (other scheduler: a-2)")
    await world.pending("a-1", "a-2")


async def test_a_running_pod_of_another_scheduler_does_not_count_either(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=2, annotations=gang(policy="waiting-and-running"))
    await world.bind_elsewhere("a-1", "n1", gang="a")
    await world.pods("a-2", gang="a")
    await world.says("a-2", "gang {ns}/a is incomplete: 1 of 2 members")
    await world.pending("a-2")


async def test_a_gated_pod_does_not_count_until_its_gate_is_removed(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=3)
    await world.pods("a-1", "a-2", gang="a")
    await world.pods("a-3", gang="a", gated=True)
    await world.says("a-1", "gang {ns}/a is incomplete: 2 of 3 members (gated: a-3)")
    await world.pending("a-1", "a-2", "a-3")
    await world.ungate("a-3")
    await world.bound("a-1", "a-2", "a-3")


async def test_a_terminating_pod_does_not_count(world: World) -> None:
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", gang="a")
    await world.pods("a-2", gang="a", held=True)
    await world.terminate("a-2")
    await world.nodes(1)
    await world.says("a-1", "gang {ns}/a is incomplete: 1 of 2 members")
    await world.pending("a-1", "a-2")
    await world.pods("a-3", gang="a")
    await world.bound("a-1", "a-3")


async def test_a_pod_made_again_under_the_same_name_is_a_new_member_and_counts_once(world: World) -> None:
    await world.nodes(1)
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", gang="a")
    await world.delete("a-1")
    await world.pods("a-1", gang="a")
    await world.says("a-1", "gang {ns}/a is incomplete: 1 of 2 members")
    await world.pending("a-1")
    await world.pods("a-2", gang="a")
    await world.bound("a-1", "a-2")


async def test_single_pods_and_gangs_live_side_by_side(world: World) -> None:
    await world.nodes(2, cpu=2)
    await world.pod_group("a", minimum=2)
    await world.pods("a-1", gang="a", cpu=1)
    await world.pods("single", cpu=1)
    await world.bound("single")
    await world.pods("a-2", gang="a", cpu=1)
    await world.bound("a-1", "a-2")
