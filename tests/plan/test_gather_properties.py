"""Gathering on random irregular trees, beside brute force: no rule is broken, and nothing better is missed."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from koordpy.api.topology import GatherRule
from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.topology.gather import plan_gathered
from koordpy.state.cluster import Cluster
from tests.builders import pod
from tests.plan.gang_jobs import NAME, PROFILE, gang, where
from tests.plan.naive_network import LAYERS, Network, Spot
from tests.plan.trees import tree

PLACES = ["s1/b1", "s1/b1", "s1/b2", "s1", "s2/b1", "s2/b3", "s2", "", "/b9", "/b9", "s10/b1"]


@dataclass(frozen=True)
class Case:
    """A network, and a job of gangs: the sizes of their members, by gang."""

    network: Network
    gangs: tuple[tuple[int, ...], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(size for sizes in self.gangs for size in sizes)

    def answer(self, rng: Random | None = None) -> tuple[Cluster, Plan | Refusal]:
        """koordpy's; with `rng`, nodes and members come in another order."""
        spots = list(self.network.spots)
        if rng:
            rng.shuffle(spots)
        cluster = tree(*((spot.place, spot.name, {"cpu": spot.free}) for spot in spots))
        demands = []
        for number, sizes in enumerate(self.gangs):
            pods = [(f"g{number}-{i}", size) for i, size in enumerate(sizes)]
            if rng:
                rng.shuffle(pods)
            records = [cluster.upsert_pod(pod(name, cpu=size)) for name, size in pods]
            demands.append(gang(f"g{number}", records))
        job = Job("job", tuple(member for demand in demands for member in demand.members), tuple(demands))
        return cluster, plan_gathered(job, cluster, {NAME: PROFILE}, self._rules())

    def _rules(self) -> tuple[GatherRule, ...]:
        network = self.network
        return tuple(
            GatherRule(LAYERS[level].lower(), must=level in network.musts, multiple=network.multiples.get(level, 1))
            for level in (1, 2, 3)
        )


def any_network(rng: Random, multiples: dict[int, int] | None = None) -> Network:
    spots = tuple(Spot(f"n{i}", rng.choice(PLACES), rng.randint(0, 4)) for i in range(rng.randint(1, 7)))
    musts = frozenset(rng.sample((1, 2), rng.choice((0, 0, 1, 1, 2))))
    return Network(spots, musts, multiples or {})


def equal_members(rng: Random) -> tuple[int, ...]:
    return (rng.choice((1, 1, 2)),) * rng.randint(1, 6)


def spots_of(case: Case, cluster: Cluster, answer: Plan) -> dict[str, Spot]:
    by_name = {spot.name: spot for spot in case.network.spots}
    return {name: by_name[node] for name, node in where(cluster, answer).items()}


def check(case: Case) -> None:
    """All rules for one case."""
    cluster, answer = case.answer()
    best = case.network.best(case.sizes)
    if isinstance(answer, Refusal):
        assert not best, f"{best} holds the job, and it was refused: {answer.message}"
        return
    assert answer.gathered is not None
    used = spots_of(case, cluster, answer)
    assert len(used) == len(case.sizes)
    level, path = answer.gathered.level, answer.gathered.path
    assert {spot.path(level) for spot in used.values()} == {path}
    for must in case.network.musts:
        assert len({spot.path(must) for spot in used.values()}) == 1
        assert all(spot.is_named(must) for spot in used.values())
    assert case.network.keeps_multiples(Counter(used.values()))
    assert no_node_is_overcommitted(case, used)
    assert (level, path) in best


def no_node_is_overcommitted(case: Case, used: dict[str, Spot]) -> bool:
    load: Counter[Spot] = Counter()
    for number, sizes in enumerate(case.gangs):
        for i, size in enumerate(sizes):
            load[used[f"g{number}-{i}"]] += size
    return all(spot.free >= taken for spot, taken in load.items())


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_equal_members_get_the_domain_that_brute_force_finds(seed: int):
    rng = Random(seed)
    check(Case(any_network(rng), (equal_members(rng),)))


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_members_in_multiples_get_the_domain_that_brute_force_finds(seed: int):
    rng = Random(seed)
    multiples = {rng.choice((1, 2, 3)): rng.choice((2, 3))}
    check(Case(any_network(rng, multiples), ((1,) * rng.randint(1, 6),)))


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_a_master_and_workers_of_other_sizes_get_the_domain_that_brute_force_finds(seed: int):
    rng = Random(seed)
    gangs = ((rng.randint(1, 4),), tuple(rng.choice((1, 2, 3)) for _ in range(rng.randint(1, 4))))
    check(Case(any_network(rng), gangs))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_the_same_input_in_any_order_gives_the_same_placement(seed: int):
    rng = Random(seed)
    case = Case(any_network(rng), ((rng.randint(1, 3),), equal_members(rng)))
    answers = [case.answer(), case.answer(rng), case.answer(rng)]
    assert len({isinstance(answer, Plan) for _, answer in answers}) == 1
    placed = [where(*each) for each in answers if isinstance(each[1], Plan)]
    assert all(each == placed[0] for each in placed)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_neighbours_in_rank_share_their_domains_and_as_few_of_them_as_can_be_are_used(seed: int):
    rng = Random(seed)
    case = Case(any_network(rng), ((1,) * rng.randint(1, 8),))
    cluster, answer = case.answer()
    if isinstance(answer, Refusal):
        return
    used = spots_of(case, cluster, answer)
    in_order = [used[f"g0-{i}"] for i in range(len(case.sizes))]
    for level in (1, 2, 3):
        paths = [spot.path(level) for spot in in_order]
        changes = sum(a != b for a, b in itertools.pairwise(paths))
        assert changes + 1 == len(set(paths)), "a domain is left and come back to"
    below = answer.gathered.level + 1 if answer.gathered is not None else 4
    if below < 4:
        assert len({spot.path(below) for spot in in_order}) == fewest(case, below, answer.gathered.path)


def fewest(case: Case, level: int, inside: tuple[str, ...]) -> int:
    """Domains that are needed, the largest first."""
    offered: Counter[tuple[str, ...]] = Counter()
    for spot in case.network.spots:
        if spot.path(len(inside)) == inside:
            offered[spot.path(level)] += spot.free
    left, count = len(case.sizes), 0
    for slots in sorted(offered.values(), reverse=True):
        if left > 0:
            left -= slots
            count += 1
    return count


@pytest.mark.parametrize("must", [1, 2])
def test_brute_force_knows_a_case_that_was_worked_out_by_hand(must: int):
    spots = (Spot("n1", "s1/b1", 1), Spot("n2", "s1/b2", 1), Spot("n3", "s2/b3", 3))
    network = Network(spots, frozenset((must,)))
    assert network.best((1, 1)) == {(3, ("s2", "b3", "n3"))}
    assert network.best((1, 1, 1, 1)) == set()
    assert network.best((1,)) == {(3, ("s1", "b1", "n1")), (3, ("s1", "b2", "n2"))}
