"""The placement score of the gangs of real traces: gathered in the network, and as plain gangs.

A trace is replayed twice on the same simulated cluster, in memory. Jobs come in the order of the trace, as soon as
enough of the others have ended to keep the cluster as full as wanted; they run for as long as in the trace. Only the
plans differ. The score of a gang is the one that koordpy publishes (`rating.py`): the fewest domains of the network
that could hold it, over those that it uses.

Neither way has an advantage but its own: names of nodes say nothing about their place in the network, and both pack
GPUs tightly, since spreading would leave no node whole.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from statistics import fmean

from bench import traces
from bench.figures import BenchError, Figure
from bench.planning.fabric import CPU_M_PER_NODE, LAYERS, PROFILES, members_of, nodes_of
from bench.traces import GPUS_PER_NODE, Trace, TraceJob
from koordpy.api.topology import GatherRule
from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.job import Demand, Job
from koordpy.plan.placement.jobs import plan_job
from koordpy.plan.topology.rating import Rating, rate
from koordpy.plan.topology.siblings import Rules
from koordpy.state.cluster import Cluster

GATHERED: Rules = (GatherRule("spinelayer", must=False, multiple=1),)
PLAIN: Rules = ()
LOAD = 0.85  # of the cluster
_ONE_OF = 8  # jobs of one pod that are replayed: they are in the way of gangs, and have no score
_SEED = 7


def figures(directory: Path, nodes: int, gangs: int, say: Callable[[str], None]) -> list[Figure]:
    """The mean score over up to so many gangs of each trace, gathered and plain."""
    found = []
    for trace in (traces.training(directory), traces.serving(directory)):
        jobs = _chosen(trace, gangs)
        say(f"placing {sum(job.pods > 1 for job in jobs):,} gangs of {trace.source} on {nodes:,} nodes ...")
        for way, rules in (("gathered", GATHERED), ("plain gangs", PLAIN)):
            ratings = list(Replay(nodes, rules).run(jobs))
            found += _figures(f"{way}, {trace.source}, {nodes:,} nodes", ratings)
    return found


def _figures(name: str, ratings: list[Rating]) -> list[Figure]:
    if not ratings:
        raise BenchError(f"{name}: no gang was placed")
    one_spine = fmean(rating.used["SpineLayer"] == rating.least["SpineLayer"] for rating in ratings)
    return [
        Figure(f"mean placement score, {name}, {len(ratings):,} gangs", "", (fmean(r.score for r in ratings),)),
        Figure(f"gangs below as few spines as can be, {name}", "%", (100 * one_spine,)),
    ]


def _chosen(trace: Trace, gangs: int) -> list[TraceJob]:
    """The first gangs of a trace, and of the jobs of one pod that come meanwhile a part."""
    singles = itertools.count()
    wanted = itertools.count()
    chosen = []
    for job in trace.jobs:
        if job.pods == 1 and next(singles) % _ONE_OF == 0:
            chosen.append(job)
        elif job.pods > 1:
            if next(wanted) >= gangs:
                break
            chosen.append(job)
    return chosen


class Replay:
    """One trace on one cluster, which is kept as full as wanted: the next job comes when enough others have ended."""

    def __init__(self, nodes: int, rules: Rules) -> None:
        self._rules = rules
        self._cluster = Cluster()
        self._cluster.topology.set_layers(LAYERS)
        for node in nodes_of(nodes, Random(_SEED)):
            self._cluster.upsert_node(node)
        self._nodes = nodes
        self._used = 0.0  # what runs, in shares of the cluster
        self._now = 0.0
        self._numbers = itertools.count()
        self._running: list[tuple[float, int, TraceJob, list[str]]] = []  # by their end; a heap

    def run(self, jobs: Iterable[TraceJob]) -> Iterator[Rating]:
        """How each gang was placed, but for those that found the cluster half empty at the beginning."""
        for trace_job in (job for job in jobs if self._share(job) <= LOAD):
            self._make_room(trace_job)
            is_busy = self._used > LOAD / 2
            job = self._submit(trace_job)
            while isinstance(answer := plan_job(job, self._cluster, PROFILES, self._rules), Refusal):
                if not self._running:
                    break  # too large for an empty cluster
                self._end_next()
            if isinstance(answer, Plan):
                self._start(trace_job, answer)
                rating = (
                    rate(answer.placements, job.by_uid, self._cluster, PROFILES) if job.demands and is_busy else None
                )
                if rating is not None:
                    yield rating

    def _make_room(self, job: TraceJob) -> None:
        while self._running and self._used + self._share(job) > LOAD:
            self._end_next()

    def _end_next(self) -> None:
        self._now, _, job, uids = heapq.heappop(self._running)
        self._used -= self._share(job)
        for uid in uids:
            self._cluster.remove_pod(uid)

    def _start(self, job: TraceJob, answer: Plan) -> None:
        for each in answer.placements:
            self._cluster.assume(each.uid, each.node)
        self._used += self._share(job)
        uids = [each.uid for each in answer.placements]
        heapq.heappush(self._running, (self._now + job.duration_s, next(self._numbers), job, uids))

    def _share(self, job: TraceJob) -> float:
        """Of the whole cluster: in GPUs or in CPUs, whichever is more."""
        return max(job.gpus / GPUS_PER_NODE, job.cpu_m / CPU_M_PER_NODE) / self._nodes

    def _submit(self, job: TraceJob) -> Job:
        demands = []
        for role in job.roles:
            name = f"{job.name}-{role.name}"
            members = tuple(self._cluster.upsert_pod(pod) for pod in members_of(name, role))
            demands.append(Demand(f"default/{name}", len(members), 0, "Strict", members))
        all_members = tuple(member for demand in demands for member in demand.members)
        return Job(job.name, all_members, tuple(demands) if len(all_members) > 1 else ())
