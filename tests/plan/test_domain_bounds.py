"""Bounds of gathering: a group of several shapes is tried only in domains where it may fit."""

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
    """Twelve equal blocks below three spines, each of four nodes of 8 CPUs."""
    return tree(
        *((f"s{rack % 3}/b{rack}", f"n{rack}-{number}", {"cpu": 8}) for rack in range(RACKS) for number in range(NODES))
    )


def group(cluster: Cluster, masters: tuple[int, int], workers: tuple[int, int]) -> tuple[Plan | Refusal, int]:
    """The answer for so many members of so many CPUs each in one block, and the number of domains that were tried."""
    first = gang("m", members(cluster, masters[0], "m", cpu=masters[1]))
    second = gang("w", members(cluster, workers[0], "w", cpu=workers[1]))
    with mock.patch.object(Gathering, "_try_one_by_one", autospec=True, side_effect=Gathering._try_one_by_one) as tried:
        return gathered(cluster, first, second, rules=must(BLOCK)), tried.call_count


def test_a_domain_that_lacks_the_sum_of_all_requests_is_not_tried():
    """A node has room for the master or for the workers, the block for all of them."""
    answer, tries = group(racks(), masters=(1, 8), workers=(2, 4))
    assert isinstance(answer, Plan)
    assert tries == 1


def test_of_equal_domains_one_is_tried():
    """28 CPUs of 32 are requested, but a node of 8 has room for one member only, and five members need five nodes."""
    answer, tries = group(racks(), masters=(2, 5), workers=(3, 6))
    assert isinstance(answer, Refusal)
    assert tries == 1
    assert "BlockLayer/b0: 4 of 5, BlockLayer/b1: 4 of 5" in answer.message


@pytest.mark.parametrize("larger", ["n7-0", "n11-3"])
def test_a_domain_that_differs_from_the_failed_ones_is_tried(larger: str):
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


def test_members_that_mind_each_other_are_tried_in_a_bounded_number_of_domains():
    """Three members with anti-affinity by zone, and two zones: refused after 18 trials and not after 91."""
    cluster = Cluster()
    cluster.topology.set_layers(LAYERS)
    for number in range(60):
        place = labels_of(f"s1/b{number // 2}") | {"zone": "xy"[number % 2]}
        cluster.upsert_node(node(f"n{number}", labels=place))
    spread = affinity(apart=[pod_term("zone", selector(app="a"))])
    three = gang("a", members(cluster, 3, labels={"app": "a"}, affinity=spread))
    with mock.patch.object(Gathering, "_scarcest_first", autospec=True, side_effect=Gathering._scarcest_first) as tried:
        answer = gathered(cluster, three)
    assert isinstance(answer, Refusal)
    assert tried.call_count == 8 + 8 + 1 + 1  # nodes, blocks, the spine, the cluster
    assert "2 of 3" in answer.message
