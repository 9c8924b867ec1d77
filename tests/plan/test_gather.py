"""Gathering: the deepest domain that holds the job, and among equals the tightest."""

from __future__ import annotations

import itertools

import pytest

from koordpy.api.errors import MalformedValue
from koordpy.api.topology import GatherRule, gather_rules
from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.job import Demand, Job
from koordpy.plan.topology.gather import plan_gathered
from koordpy.state.cluster import Cluster
from tests.builders import pod
from tests.plan.constraints import affinity, node_term, requirement
from tests.plan.gang_jobs import NAME, PROFILE, gang, members, where
from tests.plan.trees import BLOCK, EIGHT, ONE, SELECTOR, SPINE, must, tree


def gathered(cluster: Cluster, *demands: Demand, rules: str = "") -> Plan | Refusal:
    pods = tuple(pod for demand in demands for pod in demand.members)
    asked = gather_rules(rules) if rules else (GatherRule(SPINE.lower(), must=False, multiple=1),)
    return plan_gathered(Job("job", pods, demands), cluster, {NAME: PROFILE}, asked)


def test_members_are_laid_out_next_to_each_other_in_the_order_of_their_names():
    cluster = tree(*EIGHT)
    placed = where(cluster, gathered(cluster, gang("a", members(cluster, 4, cpu=1))))
    assert placed == {"a-1": "node-1", "a-2": "node-8", "a-3": "node-2", "a-4": "node-7"}


def test_a_gang_goes_to_the_spine_that_it_fills_exactly():
    sizes = {"s1": 5, "s2": 4, "s3": 3}
    nodes = [(f"{spine}/{spine}b", f"{spine}-n{i}", ONE) for spine, size in sizes.items() for i in range(size)]
    cluster = tree(*nodes)
    placed = where(cluster, gathered(cluster, gang("a", members(cluster, 4, cpu=1))))
    assert {name.partition("-")[0] for name in placed.values()} == {"s2"}


def test_the_deepest_domain_that_holds_the_job_is_taken():
    cluster = tree(*EIGHT, ("s3/b9", "node-9", {"cpu": 2}), ("s3/b9", "node-10", ONE))
    assert set(where(cluster, gathered(cluster, gang("a", members(cluster, 2, cpu=1)))).values()) == {"node-9"}


def test_among_equal_blocks_the_one_in_the_fuller_spine_is_taken():
    cluster = tree(*EIGHT[:4], *EIGHT[4:6])
    placed = where(cluster, gathered(cluster, gang("a", members(cluster, 2, cpu=1))))
    assert set(placed.values()) == {"node-3", "node-6"}


def test_must_gather_is_refused_where_no_domain_of_the_layer_is_large_enough():
    cluster = tree(*EIGHT)
    answer = gathered(cluster, gang("a", members(cluster, 5, cpu=1)), rules=must("spinelayer"))
    assert isinstance(answer, Refusal)
    assert "SpineLayer/s1: 4 of 5, SpineLayer/s2: 4 of 5" in answer.message
    assert "SpineLayer/s1 is closest and lacks 1" in answer.message


def test_prefer_gather_spreads_where_it_has_to_over_as_few_domains_as_can_be():
    cluster = tree(*EIGHT)
    placed = where(cluster, gathered(cluster, gang("a", members(cluster, 5, cpu=1))))
    spines = {name: ("s1" if name in {"node-1", "node-8", "node-2", "node-7"} else "s2") for name in placed.values()}
    assert sorted(spines.values()).count("s1") in (1, 4)


def test_an_unknown_layer_is_an_obstacle_only_if_it_must_be():
    cluster = tree(*EIGHT)
    answer = gathered(cluster, gang("a", members(cluster, 2, cpu=1)), rules=must("RackLayer"))
    assert isinstance(answer, Refusal)
    assert "names the layer RackLayer, and the layers are" in answer.message
    preferred = '{"gatherStrategy":[{"layer":"RackLayer","strategy":"PreferGather"}]}'
    assert isinstance(gathered(cluster, gang("b", members(cluster, 2, "b", cpu=1)), rules=preferred), Plan)


def test_pods_come_in_multiples_where_that_is_asked_for():
    nodes = [("s1/b1", f"x{i}", ONE) for i in range(3)] + [("s1/b2", f"y{i}", ONE) for i in range(3)]
    cluster = tree(*nodes)
    answer = gathered(cluster, gang("a", members(cluster, 4, cpu=1)), rules=must(BLOCK, 1).replace("Must", "Prefer"))
    assert isinstance(answer, Plan)
    rules = '{"gatherStrategy":[{"layer":"BlockLayer","strategy":"PreferGather","podCountMultiple":2}]}'
    placed = where(cluster, gathered(cluster, gang("b", members(cluster, 4, "b", cpu=1)), rules=rules))
    per_block = [sum(name.startswith(block) for name in placed.values()) for block in "xy"]
    assert per_block == [2, 2]


def test_a_master_and_workers_of_other_sizes_are_gathered_in_one_domain():
    nodes = [
        ("s1/b1", "a1", {"cpu": 4}),
        ("s1/b1", "a2", {"cpu": 4}),
        ("s2/b2", "c1", {"cpu": 4}),
        ("s2/b2", "c2", {"cpu": 2}),
    ]
    cluster = tree(*nodes)
    master, workers = members(cluster, 1, "master", cpu=4), members(cluster, 2, "worker", cpu=1)
    placed = where(cluster, gathered(cluster, gang("m", master), gang("w", workers), rules=must(BLOCK)))
    assert set(placed.values()) == {"c1", "c2"}
    assert placed["master-1"] == "c1"


def test_members_with_an_index_are_laid_out_by_it():
    cluster = tree(*EIGHT)
    pods = members(cluster, 3, cpu=1)
    for each, index in zip(pods, (10, 9, 2), strict=True):
        each.index = index
    placed = where(cluster, gathered(cluster, gang("a", pods)))
    assert [placed[name] for name in ("a-3", "a-2", "a-1")] == ["node-1", "node-8", "node-2"]


def test_a_node_without_labels_is_not_lost():
    cluster = tree(("s1/b1", "n1", ONE), ("", "n2", ONE))
    assert isinstance(gathered(cluster, gang("a", members(cluster, 2, cpu=1))), Plan)
    other = members(cluster, 2, "b", cpu=1)
    assert isinstance(gathered(cluster, gang("b", other), rules=must(SPINE)), Refusal)


def test_nodes_without_a_label_are_counted_in_a_refusal_and_not_listed_as_domains():
    cluster = tree(("s1/b1", "n1", ONE), ("s1/b1", "n2", ONE), *(("", f"bare-{i}", ONE) for i in range(20)))
    answer = gathered(cluster, gang("a", members(cluster, 3, cpu=1)), rules=must(BLOCK))
    assert isinstance(answer, Refusal)
    assert "BlockLayer/b1: 2 of 3, 20 nodes without a label of BlockLayer: at most 1 of 3 on one;" in answer.message
    assert "bare-" not in answer.message


def test_blocks_of_one_name_in_two_spines_are_two_blocks():
    cluster = tree(("s1/b1", "n1", ONE), ("s2/b1", "n2", ONE))
    assert isinstance(gathered(cluster, gang("a", members(cluster, 2, cpu=1)), rules=must(BLOCK)), Refusal)


def test_blocks_where_pods_with_the_same_selector_run_come_before_tighter_ones():
    attracting = {"annotations": {SELECTOR: "team-x"}}
    cluster = tree(*EIGHT, ("s3/b5", "node-9", {"cpu": 2}), ("s3/b5", "node-10", {"cpu": 2}))
    cluster.upsert_pod(pod("old", node="node-9", cpu=1, **attracting))
    placed = where(cluster, gathered(cluster, gang("a", members(cluster, 2, cpu=1, **attracting)), rules=must(BLOCK)))
    assert set(placed.values()) == {"node-10"}  # one node holds both, and lies in the block of `old`
    placed = where(
        cluster, gathered(cluster, gang("b", members(cluster, 3, "b", cpu=1, **attracting)), rules=must(BLOCK))
    )
    assert set(placed.values()) == {"node-9", "node-10"}
    assert placed["b-1"] == "node-9"


@pytest.mark.parametrize("text", ["", "{}", '{"gatherStrategy":[]}'])
def test_no_rules_are_no_rules(text: str):
    assert gather_rules(text or "{}") == ()


def test_the_same_input_gives_the_same_placement():
    answers = []
    for order in itertools.islice(itertools.permutations(EIGHT), 0, 5000, 1000):
        cluster = tree(*order)
        answers.append(where(cluster, gathered(cluster, gang("a", members(cluster, 3, cpu=1)))))
    assert all(answer == answers[0] for answer in answers)


def test_multiples_hold_in_the_layers_above_the_domain_that_is_chosen():
    cluster = tree(("s1/b1", "large", {"cpu": 8}), ("s1/b2", "other", {"cpu": 2}))
    rules = '{"gatherStrategy":[{"layer":"BlockLayer","strategy":"PreferGather","podCountMultiple":2}]}'
    assert isinstance(gathered(cluster, gang("a", members(cluster, 3, cpu=1)), rules=rules), Refusal)
    placed = where(cluster, gathered(cluster, gang("b", members(cluster, 4, "b", cpu=1)), rules=rules))
    assert set(placed.values()) == {"large"}


def test_of_two_layers_that_must_hold_the_job_both_are_kept():
    cluster = tree(("/b9", "n1", {"cpu": 2}), ("s1/b1", "n2", {"cpu": 3}))
    both = must(SPINE).replace("]}", "," + must(BLOCK).removeprefix('{"gatherStrategy":['))
    placed = where(cluster, gathered(cluster, gang("a", members(cluster, 2, cpu=1)), rules=both))
    assert set(placed.values()) == {"n2"}


def test_among_equally_tight_domains_the_better_scored_is_taken_and_then_the_first_by_name():
    cluster = tree(*EIGHT)
    preferences = affinity(prefer_nodes=[(1, node_term(requirement("block", "In", "b4")))])
    placed = where(cluster, gathered(cluster, gang("a", members(cluster, 2, cpu=1, affinity=preferences))))
    assert set(placed.values()) == {"node-4", "node-5"}
    placed = where(cluster, gathered(cluster, gang("b", members(cluster, 2, "b", cpu=1))))
    assert set(placed.values()) == {"node-1", "node-8"}


def test_a_specification_whose_key_is_misspelt_is_no_empty_one():
    with pytest.raises(MalformedValue, match="has 'gatherStratgy' and no gatherStrategy"):
        gather_rules('{"gatherStratgy": [{"layer": "SpineLayer", "strategy": "MustGather"}]}')
    assert gather_rules("{}") == ()
