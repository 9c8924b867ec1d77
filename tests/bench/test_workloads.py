"""Workloads and how they are said to each scheduler: the same gangs for all, and of the sizes that they claim."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from bench.figures import Figure
from bench.live import jobs, manifests, network, queues
from bench.live.manifests import SCHEDULER_NAME, ManifestsOf
from bench.live.measures import RATE, figure_name
from bench.live.objects import CPUS, MEMORY_GIB, Gang
from bench.live.queues import Queue
from bench.live.rounds import recorded, takes_part
from bench.live.schedulers import SCHEDULERS
from bench.live.workload import Workload
from bench.live.workloads import (
    NAMES,
    gangs,
    gangs_in_queues,
    grouped,
    never_fits,
    preempt,
    reclaim,
    streaming,
    topology,
    workload,
)

ALL_MANIFESTS = [manifests.plain_pods, manifests.koordinator, manifests.sigs, manifests.volcano, manifests.kai]
KNOWS_QUEUES = [manifests.koordinator, manifests.kai]


@pytest.mark.parametrize("manifests_of", ALL_MANIFESTS)
def test_every_scheduler_gets_the_same_pods_but_for_labels_and_annotations_of_gangs(manifests_of: ManifestsOf):
    gang = Gang("train", 3, gather=network.LAYERS)
    for pod, plain in zip(manifests_of(gang, "ns").pods, manifests.plain_pods(gang, "ns").pods, strict=True):
        assert pod["metadata"]["name"] == plain["metadata"]["name"]
        assert pod["spec"] == plain["spec"]
        assert pod["spec"]["schedulerName"] == SCHEDULER_NAME


@pytest.mark.parametrize("manifests_of", [manifests.sigs, manifests.volcano, manifests.kai])
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
    assert not takes_part(bare, grouped(2, 2, 4))
    assert not takes_part(bare, gangs_in_queues(2, 2, 4, 2))
    assert takes_part(kube, preempt(4, 2))
    assert not takes_part(kube, never_fits(4, 2, 2))


def test_queues_are_for_schedulers_that_have_them_and_jobs_for_those_with_a_grouper():
    def participants(workload: Workload) -> set[str]:
        return {name for name, each in SCHEDULERS.items() if takes_part(each, workload)}

    ours = {"koordpy", "koordpy-asked"}
    assert participants(reclaim(4, 2)) == {*ours, "kai", "kai-default", "volcano-reclaim"}
    assert participants(grouped(2, 2, 4)) == {*ours, "kai", "kai-default"}


def test_gangs_are_spread_evenly_over_queues_each_of_which_may_have_the_whole_cluster():
    made = gangs_in_queues(count=40, size=2, node_count=10, queue_count=20)
    top, *leaves = made.queues
    assert {queue.parent for queue in leaves} == {top.name}
    assert {(queue.cpus, queue.memory_gib) for queue in leaves} == {(CPUS * 10, MEMORY_GIB * 10)}
    assert Counter(gang.queue for gang in made.gangs) == dict.fromkeys((queue.name for queue in leaves), 2)
    assert [(gang.name, gang.size, gang.requests) for gang in made.gangs] == [
        (gang.name, gang.size, gang.requests) for gang in gangs(40, 2, 10).gangs
    ]


def test_in_reclaim_one_queue_has_every_cpu_and_the_other_asks_for_exactly_its_half():
    made = reclaim(node_count=10, size=4)
    _, rich, poor = made.queues
    assert Counter(node for gang in made.running for node in gang.on) == dict.fromkeys(
        (node["metadata"]["name"] for node in made.nodes), CPUS
    )
    assert {gang.queue for gang in made.running} == {rich.name}
    assert {gang.queue for gang in made.gangs} == {poor.name}
    assert made.pods == made.least_evictions == poor.cpus == rich.cpus == CPUS * 10 // 2


@pytest.mark.parametrize("manifests_of", KNOWS_QUEUES)
def test_a_gang_of_a_queue_says_so(manifests_of: ManifestsOf):
    made = manifests_of(Gang("train", 2, queue="team-01"), "ns")
    labels = [pod["metadata"]["labels"].get(queues.LABEL) for pod in made.pods]
    specs = [group["spec"]["queue"] for _, group in made.objects]
    assert "team-01" in (*labels, *specs)
    assert not any(queues.LABEL in pod["metadata"]["labels"] for pod in manifests_of(Gang("a", 2), "ns").pods)


def test_a_queue_without_quota_is_unlimited_and_one_with_a_quota_has_it_in_the_units_of_the_api():
    top, leaf = queues.run_ai([Queue("top", -1, -1), Queue("leaf", 3, 1000, parent="top")])
    assert top[1]["spec"]["resources"]["cpu"]["quota"] == top[1]["spec"]["resources"]["memory"]["quota"] == -1
    assert leaf[1]["spec"]["parentQueue"] == "top"
    assert leaf[1]["spec"]["resources"]["cpu"]["quota"] == 3_000
    assert leaf[1]["spec"]["resources"]["memory"]["quota"] == 1_073_742
    assert [
        queue["metadata"]["name"] for _, queue in queues.volcano([Queue("top", -1, -1), Queue("leaf", 3, 1, "top")])
    ] == ["leaf"]


@pytest.mark.parametrize("manifests_of", KNOWS_QUEUES)
def test_pods_of_a_job_have_an_owner_and_say_nothing_of_a_gang(manifests_of: ManifestsOf):
    ((resource, owner),) = (made := manifests_of(Gang("job", 3, job=True), "ns")).objects
    assert resource == jobs.RESOURCE
    replicas = {role: spec["replicas"] for role, spec in owner["spec"]["pytorchReplicaSpecs"].items()}
    assert replicas == {"Master": 1, "Worker": 2}
    for pod in made.pods:
        assert [each["name"] for each in pod["metadata"]["ownerReferences"]] == ["job"]
        assert pod["metadata"]["annotations"] == {}
    roles = [pod["metadata"]["labels"]["training.kubeflow.org/replica-type"] for pod in made.pods]
    assert Counter(roles) == {"master": 1, "worker": 2}


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
