"""Reclaim in small worlds, without a scheduler: it stops from any state, quotas are reached, equals end up equal."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from koordpy.api.queue import QueueResource
from koordpy.quota.amounts import GPU
from koordpy.quota.levels import ROOT
from koordpy.quota.reclaim import Basis, Claim, Taken
from koordpy.quota.tree import tree_of
from tests.quota.building import gpus, queue
from tests.quota.pool import Job, Pool
from tests.quota.random_trees import random_amounts, random_tree
from tests.quota.walk import Walk


def random_pool(dice: Random, *, remembers: bool) -> Pool | None:
    tree = random_tree(dice, most=8)
    leaves = [row for row in range(len(tree)) if tree.is_leaf(row) and tree.is_ready(row)]
    if not leaves:
        return None
    alone = dice.random() < 0.5  # one resource, or three
    jobs: list[Job] = []
    for number in range(dice.randint(3, 20)):
        amounts = gpus(dice.randint(1, 5)) if alone else np.array(random_amounts(dice))
        jobs.append(Job(number, dice.choice(leaves), amounts, preemptible=dice.random() < 0.9))
    pool = Pool(tree, np.array([12_000, 2 * 10**12, dice.randint(3, 16) * 1000]), jobs, remembers=remembers)
    for job in dice.sample(jobs, len(jobs)):  # any state to begin with
        if (job.amounts <= pool.free).all() and dice.random() < 0.8:
            pool.start(job)
    return pool


@pytest.mark.random
@pytest.mark.parametrize("remembers", [True, False])
@pytest.mark.parametrize("block", range(8))
def test_from_any_state_with_no_new_jobs_evictions_stop(block: int, remembers: bool):
    for seed in range(block * 40, block * 40 + 40):
        dice = Random(seed)
        pool = random_pool(dice, remembers=remembers)
        if pool is not None:
            number = len(pool.jobs)
            assert pool.settle(dice, most=number + number * (number + 1)), (seed, pool.reclaims[-10:])


@pytest.mark.random
@pytest.mark.parametrize("block", range(4))
def test_the_laws_of_preemption_hold_for_every_reclaim(block: int):
    """Never from the same queue or one within its line, never what is not preemptible, only for what is due."""
    for seed in range(1000 + block * 40, 1040 + block * 40):
        dice = Random(seed)
        pool = random_pool(dice, remembers=True)
        if pool is None:
            continue
        assert pool.settle(dice, most=500)
        for by, basis, victims, before in pool.reclaims:
            lines = pool.tree.quota if basis is Basis.QUOTA else pool.shares
            asks = (by.amounts > 0) & pool.tree.counted[by.row]
            assert (before[by.row] + by.amounts <= lines[by.row])[asks].all()
            for victim in victims:
                assert victim.row != by.row
                assert victim.preemptible
                counted = pool.tree.counted[victim.row]
                above = (before[victim.row] > lines[victim.row]) & counted & (by.amounts > 0)
                assert above.any() or not counted.all()


@pytest.mark.random
@pytest.mark.parametrize("block", range(4))
def test_what_is_reached_at_once_is_what_is_reached_one_by_one(block: int):
    for seed in range(block * 60, block * 60 + 60):
        dice = Random(seed)
        pool = random_pool(dice, remembers=True)
        if pool is None:
            continue
        for job in pool.jobs:
            below = dice.choice([ROOT, *pool.tree.paths[job.row].tolist()])
            for basis in Basis:
                claim = Claim(pool.usage, pool.shares, job.row, job.amounts, basis=basis, below=below)
                for other in pool.jobs:
                    taken = Taken(other.row, other.amounts)
                    assert claim.reaches(taken) == claim._is_above(taken, pool.usage.allocated), seed


def test_two_teams_share_a_cluster_through_the_day_as_the_guide_tells():
    tree = tree_of([queue("research", quota=12), queue("serving", quota=4)])
    research, serving = tree.rows["research"], tree.rows["serving"]
    jobs = [Job(number, research, gpus(2)) for number in range(8)]
    pool = Pool(tree, gpus(16), jobs)
    assert pool.settle(Random(1), most=0)
    assert has(pool) == (16, 0)
    pool.submit([Job(number, serving, gpus(2)) for number in range(8, 12)])
    assert pool.settle(Random(1), most=2)
    assert (has(pool), len(pool.reclaims)) == ((12, 4), 2)
    pool.finish([job for job in pool.jobs if job.row == research][:4])
    assert pool.settle(Random(1), most=2)
    assert has(pool) == (8, 8)
    pool.submit([Job(number, research, gpus(2)) for number in range(12, 16)])
    assert pool.settle(Random(1), most=4)
    assert has(pool) == (12, 4)


def has(pool: Pool) -> tuple[int, int]:
    """GPUs of research and serving."""
    amounts = {name: int(pool.usage.allocated[row, GPU]) // 1000 for name, row in pool.tree.rows.items()}
    return amounts["research"], amounts["serving"]


def test_a_share_that_was_reclaimed_is_not_taken_back_for_ever():
    """Queue a takes one job back for its quota, b two for its share, and so on: the check afterwards ends that."""
    cpu = [QueueResource(quota=4000, over_quota_weight=0), QueueResource(quota=3000, over_quota_weight=2)]
    tree = tree_of([queue("a", quota=1, weight=0, cpu=cpu[0]), queue("b", quota=0, weight=2, cpu=cpu[1])])
    jobs = [("b", 0, 3), ("a", 0, 3), ("a", 2, 0), ("b", 1, 3), ("a", 1, 1)]
    amounts = [(tree.rows[name], np.array([cpus * 1000, 0, number * 1000])) for name, cpus, number in jobs]
    assert Walk(tree, np.array([3000, 0, 5000]), amounts).evictions_in_a_cycle() == []


@pytest.mark.random
@pytest.mark.parametrize("block", range(6))
def test_there_is_no_way_back_from_an_eviction_in_whatever_order_jobs_and_victims_are_chosen(block: int):
    for seed in range(block * 10, block * 10 + 10):
        dice = Random(seed)
        names = ["a", "b", "c"][: dice.choice([2, 2, 3])]
        made = [queue("d"), *(queue(name, dice.choice(["", "d"]), **_numbers(dice)) for name in names)]
        tree = tree_of(made)
        jobs = [
            (tree.rows[dice.choice(names)], np.array([dice.randint(0, 3), 0, dice.randint(1, 3)]) * 1000)
            for _ in range(dice.randint(3, 6))
        ]
        walk = Walk(tree, np.array([dice.randint(2, 6), 0, dice.randint(2, 6)]) * 1000, jobs)
        assert walk.evictions_in_a_cycle() == [], seed


def _numbers(dice: Random) -> dict[str, Any]:
    cpu = QueueResource(quota=dice.randint(0, 4) * 1000, over_quota_weight=dice.choice([0, 1, 2]))
    return {"quota": dice.randint(0, 4), "weight": dice.choice([0, 1, 1, 2]), "cpu": cpu}


@pytest.mark.random
@pytest.mark.parametrize("seed", range(60))
def test_quotas_are_reached_within_one_round(seed: int):
    """Jobs of one GPU fit everywhere, so nothing but quotas decides; each queue may wait for its turn but once."""
    dice = Random(seed)
    capacity = dice.randint(8, 24)
    quotas = [dice.randint(0, capacity // 4) for _ in range(4)]
    made = [queue("d1", quota=quotas[0] + quotas[1]), queue("d2", quota=quotas[2] + quotas[3])]
    made += [queue(f"q{each}", "d1" if each < 2 else "d2", quota=quotas[each]) for each in range(4)]
    tree = tree_of(made)
    jobs = [Job(number, tree.rows[f"q{dice.randrange(4)}"], gpus(1)) for number in range(3 * capacity)]
    pool = Pool(tree, gpus(capacity), jobs)
    greedy = tree.rows[f"q{dice.randrange(4)}"]
    for job in sorted(jobs, key=lambda job: job.row != greedy)[:capacity]:  # one queue has taken what it could
        pool.start(job)
    assert pool.settle(dice, most=len(jobs))
    for row in range(len(tree)):
        due = min(tree.quota[row, GPU], pool.usage.requested[row, GPU])
        assert pool.usage.allocated[row, GPU] >= due, tree.names[row]
    assert len(pool.reclaims) <= capacity


@pytest.mark.random
@pytest.mark.parametrize("seed", range(60))
def test_equal_queues_that_want_everything_end_within_one_job_of_each_other(seed: int):
    dice = Random(seed)
    tree = tree_of([queue("a"), queue("b")])
    size = dice.randint(1, 4)
    jobs = [Job(number, number % 2, gpus(size)) for number in range(40)]
    pool = Pool(tree, gpus(dice.randint(4, 30)), jobs)
    for job in jobs[::2]:
        if (job.amounts <= pool.free).all():
            pool.start(job)
    assert pool.settle(dice, most=len(jobs))
    assert abs(int(pool.usage.allocated[0, GPU]) - int(pool.usage.allocated[1, GPU])) <= size * 1000
