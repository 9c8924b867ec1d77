"""Workloads and how they are said to each scheduler: the same gangs for all, and of the sizes that they claim."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench.figures import Figure
from bench.live import manifests, network
from bench.live.manifests import SCHEDULER_NAME, ManifestsOf
from bench.live.measures import RATE, figure_name
from bench.live.objects import Gang
from bench.live.rounds import recorded, takes_part
from bench.live.schedulers import SCHEDULERS
from bench.live.workloads import NAMES, gangs, never_fits, preempt, streaming, topology, workload

ALL_MANIFESTS = [manifests.plain_pods, manifests.koordinator, manifests.sigs, manifests.volcano]


@pytest.mark.parametrize("manifests_of", ALL_MANIFESTS)
def test_every_scheduler_gets_the_same_pods_but_for_labels_and_annotations_of_gangs(manifests_of: ManifestsOf):
    gang = Gang("train", 3, gather=network.LAYERS)
    for pod, plain in zip(manifests_of(gang, "ns").pods, manifests.plain_pods(gang, "ns").pods, strict=True):
        assert pod["metadata"]["name"] == plain["metadata"]["name"]
        assert pod["spec"] == plain["spec"]
        assert pod["spec"]["schedulerName"] == SCHEDULER_NAME


@pytest.mark.parametrize("manifests_of", [manifests.sigs, manifests.volcano])
def test_the_minimum_of_a_podgroup_is_every_member(manifests_of: ManifestsOf):
    ((_, group),) = manifests_of(Gang("train", 3), "ns").objects
    assert (group["metadata"]["name"], group["spec"]["minMember"]) == ("train", 3)


@pytest.mark.parametrize("manifests_of", ALL_MANIFESTS)
def test_an_app_is_never_a_gang_with_a_minimum(manifests_of: ManifestsOf):
    manifests = manifests_of(Gang("app", 3, all_or_nothing=False), "ns")
    assert all(group["spec"]["minMember"] == 1 for _, group in manifests.objects)
    assert not any("min-available" in key for pod in manifests.pods for key in pod["metadata"]["annotations"])


@pytest.mark.parametrize("name", NAMES)
def test_the_names_of_pods_are_unique(name: str):
    made = workload(name, Path("/nowhere"))
    names = [member for gang in (*made.gangs, *made.running) for member in gang.member_names()]
    assert len(set(names)) == len(names)


def test_the_giant_asks_for_twice_the_cluster_and_the_others_fit():
    made = never_fits(node_count=10, count=4, size=5)
    giant, *others = made.gangs
    assert giant.size * int(giant.requests["cpu"]) == 2 * 4 * 10
    assert sum(gang.size * int(gang.requests["cpu"]) for gang in others) <= 4 * 10
    assert made.must_bind == {name for gang in others for name in gang.member_names()}


def test_the_preemptor_needs_a_whole_node_for_each_member_and_every_node_is_full():
    made = preempt(node_count=6, size=3)
    assert sorted(gang.on[0] for gang in made.running) == sorted(n["metadata"]["name"] for n in made.nodes)
    assert {gang.requests["cpu"] for gang in (*made.running, *made.gangs)} == {"4"}
    assert made.least_evictions == made.gangs[0].size


def test_the_bare_client_runs_only_workloads_that_fit_wherever_they_are_bound():
    bare, kube = SCHEDULERS["bare client"], SCHEDULERS["kube-scheduler"]
    assert takes_part(bare, gangs(2, 2, 4))
    assert takes_part(bare, streaming(2, 2, 4))
    assert not takes_part(bare, replace(streaming(2, 2, 4), gangs=(Gang("ends", 2, lasts=5.0),)))
    assert not takes_part(bare, replace(streaming(2, 2, 4), gangs=(Gang("choosy", 2, pool="gpu"),)))
    assert not takes_part(bare, preempt(4, 2))
    assert not takes_part(bare, topology())
    assert takes_part(kube, preempt(4, 2))
    assert not takes_part(kube, never_fits(4, 2, 2))


def test_records_are_found_by_workload_measure_and_scheduler():
    made, volcano = gangs(2, 2, 4), SCHEDULERS["volcano"]
    kept = Figure(figure_name(RATE.name, made, "volcano"), "", (1.0,), configuration=volcano.configuration)
    found = recorded(made, [SCHEDULERS["koordpy"], volcano], {kept.name: kept})
    assert found.figures[RATE.name] == {"volcano": kept}
    assert found.all_figures() == [kept]


def test_a_record_of_another_configuration_is_not_taken_for_one_of_this():
    made, volcano = gangs(2, 2, 4), SCHEDULERS["volcano"]
    other = Figure(figure_name(RATE.name, made, "volcano"), "", (1.0,), configuration="v0.1")
    assert recorded(made, [volcano], {other.name: other}).all_figures() == []


def test_a_network_has_the_sizes_it_says_and_names_that_do_not_give_the_tree_away():
    made = network.nodes()
    leaves = [node["metadata"]["labels"][f"{network.PREFIX}/leaf"] for node in made]
    assert (len(made), len(set(leaves))) == (1_000, 100)
    assert len({node["metadata"]["name"] for node in made}) == 1_000
    assert leaves[:10] != [leaves[0]] * 10


def test_the_placement_score_is_one_for_a_gang_on_as_few_leaves_as_can_be():
    made = network.nodes(cores=1, spines=1, leaves=2, size=2)  # of 8 GPUs each: 4 members of 4 GPUs to a leaf
    leaf_of = {node["metadata"]["name"]: node["metadata"]["labels"][f"{network.PREFIX}/leaf"] for node in made}
    near = [name for name, leaf in leaf_of.items() if leaf == "leaf-0"]
    far = [name for name, leaf in leaf_of.items() if leaf == "leaf-1"]
    gang = Gang("g", 2, requests={network.GPU: "4"}, gather=network.LAYERS)
    assert network.placement_score([gang], dict(zip(gang.member_names(), near, strict=True)), made) == 1.0
    assert network.placement_score([gang], {"g-0000": near[0], "g-0001": far[0]}, made) == 0.5
