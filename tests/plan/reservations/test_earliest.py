"""The earliest start of a job: arithmetic finds the time that planning at one end after the other would have found."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

import pytest

from koordpy.api.keys import RUN_TIME
from koordpy.plan.framework.answers import Plan
from koordpy.plan.framework.job import Job
from koordpy.plan.placement.absence import take_off
from koordpy.plan.placement.jobs import plan_job
from koordpy.plan.preemption.search import is_whole
from koordpy.plan.reservations.earliest import Start, earliest_start, fits_beside
from koordpy.plan.reservations.ends import End, ends_of
from koordpy.plan.reservations.kept import is_kept
from koordpy.state.cluster import Cluster
from koordpy.state.pods import PodRecord
from koordpy.state.trial import Trial
from tests.builders import pod
from tests.plan.constraints import affinity, pod_term, selector
from tests.plan.gang_jobs import NAME, PROFILE, cluster_of, gang, members

NOW = 1_767_225_600.0
PROFILES = {NAME: PROFILE}


def full_cluster(rng: Random) -> Cluster:
    """Nodes with pods of one or two CPUs, most of which declare an end."""
    sizes = [{"cpu": rng.randint(2, 6), "labels": {"pool": rng.choice("ab")}} for _ in range(rng.randint(2, 6))]
    cluster, number = cluster_of(*sizes), 0
    for position, size in enumerate(sizes, start=1):
        left = size["cpu"]
        while left and rng.random() < 0.9:
            cpu, number = min(left, rng.randint(1, 2)), number + 1
            says = {RUN_TIME: f"{rng.choice((10, 20, 30, 40, 50))}s"} if rng.random() < 0.85 else None
            running = pod(f"r{number}", cpu=cpu, node=f"n{position}", annotations=says)
            cluster.upsert_pod(running)
            left -= cpu
    return cluster


def waiting_job(rng: Random, cluster: Cluster) -> Job:
    given = {"cpu": rng.randint(1, 3)}
    kind = rng.choice(("plain", "plain", "pool", "apart", "mixed"))
    if kind == "pool":
        given["node_selector"] = {"pool": "a"}
    if kind == "apart":
        given |= {
            "labels": {"app": "x"},
            "affinity": affinity(apart=[pod_term("kubernetes.io/hostname", selector(app="x"))]),
        }
    pods = members(cluster, rng.randint(1, 5), **given)
    if kind == "mixed":
        pods += members(cluster, 2, "b", cpu=1)
    demand = gang("g", pods)
    return Job("job", tuple(pods), (demand,))


def planner(cluster: Cluster) -> Callable[[Job], object]:
    return partial(plan_job, cluster=cluster, profiles=PROFILES)


def searched(job: Job, ends: list[End], cluster: Cluster) -> Start | None:
    return earliest_start(job, ends, NOW, plan=planner(cluster), cluster=cluster, profiles=PROFILES)


def one_after_the_other(job: Job, ends: list[End], cluster: Cluster) -> float | None:
    for at in sorted({each.at for each in ends}):
        with Trial(cluster.occupancy) as trial:
            take_off((each.pod for each in ends if each.at <= at), cluster, trial)
            if is_whole(planner(cluster)(job)):
                return at
    return None


@pytest.mark.parametrize("seed", range(120))
def test_the_earliest_start_is_the_first_end_at_which_the_job_can_be_planned(seed: int):
    rng = Random(seed)
    cluster = full_cluster(rng)
    job = waiting_job(rng, cluster)
    ends, _ = ends_of(job, cluster, NOW)
    found = searched(job, ends, cluster)
    assert (found.at if found is not None else None) == one_after_the_other(job, ends, cluster)


def _is_among(record: PodRecord, uids: set[str]) -> bool:
    return record.uid in uids


def newcomers(rng: Random, cluster: Cluster) -> list[tuple[PodRecord, str]]:
    """Pods that would be started now, on nodes that have room for them."""
    found = []
    with Trial(cluster.occupancy) as trial:
        for record in members(cluster, rng.randint(1, 3), "new", cpu=1, labels={"app": rng.choice("xy")}):
            answer = plan_job(Job(record.uid, (record,)), cluster, PROFILES)
            if isinstance(answer, Plan) and record.shape is not None:
                node = answer.placements[0].node
                row = cluster.nodes.row_of(node)
                assert row is not None
                trial.place(row, record.shape)
                found.append((record, node))
    return found


def test_whoever_leaves_the_reserved_nodes_their_room_leaves_the_job_its_start():
    """`is_kept` is a proof: wherever it holds, the job can still be planned for its time."""
    proved = 0
    for seed in range(150):
        rng = Random(seed)
        cluster = full_cluster(rng)
        job = waiting_job(rng, cluster)
        ends, _ = ends_of(job, cluster, NOW)
        start = searched(job, ends, cluster)
        others = newcomers(rng, cluster) if start is not None else []
        if start is None or not others:
            continue
        is_gone = partial(_is_among, uids={each.pod.uid for each in ends if each.at <= start.at})
        if is_kept(job, start, others, is_gone, cluster=cluster, profiles=PROFILES):
            proved += 1
            assert fits_beside(job, start.at, others, ends, plan=planner(cluster), cluster=cluster), seed
    assert proved > 20
