"""Groups of several sizes are placed one by one only where they may fit."""

from __future__ import annotations

from unittest import mock

import pytest

from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.topology.gather import Gathering
from koordpy.state.cluster import Cluster
from tests.builders import node
from tests.plan.constraints import affinity, pod_term, selector
from tests.plan.gang_jobs import gang, members, where
from tests.plan.test_gather import gathered
from tests.plan.trees import BLOCK, LAYERS, labels_of, must, tree

RACKS, NODES = 12, 4


def racks() -> Cluster:
    """Twelve equal ones below three spines: four nodes of 8 CPUs each."""
    return tree(
        *((f"s{rack % 3}/b{rack}", f"n{rack}-{number}", {"cpu": 8}) for rack in range(RACKS) for number in range(NODES))
    )


def group(cluster: Cluster, masters: tuple[int, int], workers: tuple[int, int]) -> tuple[Plan | Refusal, int]:
    """So many of so many CPUs each, below one block; and how often they were placed one by one."""
    first = gang("m", members(cluster, masters[0], "m", cpu=masters[1]))
    second = gang("w", members(cluster, workers[0], "w", cpu=workers[1]))
    with mock.patch.object(Gathering, "_one_by_one", autospec=True, side_effect=Gathering._one_by_one) as tried:
        return gathered(cluster, first, second, rules=must(BLOCK)), tried.call_count


def test_domains_that_lack_what_all_of_them_ask_for_are_not_tried():
    """A node has room for the master, or for the workers; the rack for all of them."""
    answer, tries = group(racks(), masters=(1, 8), workers=(2, 4))
    assert isinstance(answer, Plan)
    assert tries == 1


def test_of_racks_that_look_the_same_one_is_tried():
    """28 CPUs of 32 are asked for, and no way to divide the nodes among fives and sixes gives each its own."""
    answer, tries = group(racks(), masters=(2, 5), workers=(3, 6))
    assert isinstance(answer, Refusal)
    assert tries == 1
    assert "BlockLayer/b0: 4 of 5, BlockLayer/b1: 4 of 5" in answer.message


@pytest.mark.parametrize("larger", ["n7-0", "n11-3"])
def test_a_rack_that_looks_different_is_tried_too(larger: str):
    cluster = tree(
        *(
            (f"s{rack % 3}/b{rack}", name, {"cpu": 11 if name == larger else 8})
            for rack in range(RACKS)
            for name in (f"n{rack}-{number}" for number in range(NODES))
        )
    )
    answer, tries = group(cluster, masters=(2, 5), workers=(3, 6))
    assert larger in where(cluster, answer).values()
    assert tries == 2


def test_members_that_mind_each_other_are_not_tried_in_every_domain_there_is():
    """Three that keep apart by zone, and two zones: nowhere, and that is known after some tries and not after 91."""
    cluster = Cluster()
    cluster.topology.set_layers(LAYERS)
    for number in range(60):
        place = labels_of(f"s1/b{number // 2}") | {"zone": "xy"[number % 2]}
        cluster.upsert_node(node(f"n{number}", labels=place))
    apart = affinity(apart=[pod_term("zone", selector(app="a"))])
    three = gang("a", members(cluster, 3, labels={"app": "a"}, affinity=apart))
    with mock.patch.object(Gathering, "_anyhow", autospec=True, side_effect=Gathering._anyhow) as tried:
        answer = gathered(cluster, three)
    assert isinstance(answer, Refusal)
    assert tried.call_count == 8 + 8 + 1 + 1  # nodes, blocks, the spine, the cluster
    assert "2 of 3" in answer.message
