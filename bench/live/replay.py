"""Traces of real clusters as workloads: hours become seconds, jobs come when they came and end when they ended.

Too few of them for a rate: what counts here is how long jobs wait and how well the cluster is used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from bench.live import network
from bench.live.network import GPU, GPUS
from bench.live.objects import POOL, Gang, Json, node
from bench.live.workload import Arrival, Workload
from bench.traces import Role, TraceJob, serving, training

PHILLY_FIRST, PHILLY_JOBS = 50_000, 1_000  # a day on which jobs of up to 32 GPUs were submitted
PHILLY_SECONDS = 60.0  # that all of them are submitted in
PHILLY_LONGEST_S = 12 * 3600.0  # of the trace: days would be minutes of waiting for one job
SHORTEST_SECONDS = 0.2
LOAD = 1.1  # of what was asked for, the cluster has this much less: jobs have to wait
LEAF, LEAVES = 4, 4

ALIBABA_EVERY = 6  # of its applications, one in so many
ALIBABA_SECONDS = 1.0  # between two: most of them say no time of their creation
CPU_NODE_M, CPU_NODE_MIB = 192_000, 1_048_576
LARGEST = 2  # of a node, no pod asks for more than one in so many; with so many times the room, each fits somewhere


def philly(directory: Path) -> Workload:
    """Training jobs of a day, on a network with a tenth less GPUs than they need."""
    trace = training(directory)
    jobs = trace.jobs[PHILLY_FIRST : PHILLY_FIRST + PHILLY_JOBS]
    first = jobs[0].submitted_s
    factor = (jobs[-1].submitted_s - first) / PHILLY_SECONDS
    gangs = tuple(_training_gang(job, (job.submitted_s - first) / factor, _lasts(job) / factor) for job in jobs)
    demand = sum(gang.size * int(gang.requests[GPU]) * gang.lasts for gang in gangs) / PHILLY_SECONDS
    spines = max(1, round(demand / LOAD / GPUS / LEAF / LEAVES))
    return Workload(
        "trace-philly",
        network.nodes(1, spines, LEAVES, LEAF),
        gangs,
        Arrival.STREAM,
        f"{trace.source}, 1 s for {factor:,.0f} s",
        objects=(("clusternetworktopologies", network.TOPOLOGY),),
        only_for_gangs=True,
    )


def alibaba(directory: Path) -> Workload:
    """Applications of pods with GPUs and pods without, which start together: a gang for each size of pods."""
    trace = serving(directory)
    jobs = [job for job in trace.jobs[::ALIBABA_EVERY] if all(map(_fits_half_a_node, job.roles))]
    gangs = tuple(gang for number, job in enumerate(jobs) for gang in _serving_gangs(job, number * ALIBABA_SECONDS))
    return Workload(
        "trace-alibaba",
        _serving_nodes(jobs),
        gangs,
        Arrival.STREAM,
        f"{trace.source}, one application in {ALIBABA_EVERY}, one every {ALIBABA_SECONDS:g} s",
        only_for_gangs=True,
    )


def _lasts(job: TraceJob) -> float:
    return min(job.duration_s, PHILLY_LONGEST_S)


def _training_gang(job: TraceJob, at: float, lasts: float) -> Gang:
    (role,) = job.roles
    return Gang(
        job.name,
        role.pods,
        requests=_requests(role),
        gather=network.LAYERS,
        at=at,
        lasts=max(lasts, SHORTEST_SECONDS),
    )


def _serving_gangs(job: TraceJob, at: float) -> list[Gang]:
    names = tuple(f"{job.name}-{number}-{role.name}" for number, role in enumerate(job.roles))
    pairs = zip(names, job.roles, strict=True)
    return [
        Gang(name, role.pods, requests=_requests(role), group=names, pool=_pool(role), at=at) for name, role in pairs
    ]


def _requests(role: Role) -> dict[str, str]:
    """What a container asks for; `nvidia.com/gpu: 0` would be asking for a kind of node."""
    gpus = {GPU: str(role.gpus)} if role.gpus else {}
    return {"cpu": f"{role.cpu_m}m", "memory": f"{role.memory_mib}Mi", **gpus}


def _pool(role: Role) -> str:
    return "gpu" if role.gpus else "cpu"


def _fits_half_a_node(role: Role) -> bool:
    return role.gpus == 1 or (role.cpu_m * LARGEST <= CPU_NODE_M and role.memory_mib * LARGEST <= CPU_NODE_MIB)


def _serving_nodes(jobs: Sequence[TraceJob]) -> tuple[Json, ...]:
    """A pool with GPUs and one without, so large that everything fits however it is spread."""
    roles = [role for job in jobs for role in job.roles]
    cpu = sum(role.pods * role.cpu_m for role in roles if not role.gpus) / CPU_NODE_M
    memory = sum(role.pods * role.memory_mib for role in roles if not role.gpus) / CPU_NODE_MIB
    accelerated = math.ceil(sum(role.pods * role.gpus for role in roles) / GPUS)
    plain = math.ceil(LARGEST * (cpu + memory))
    with_gpus = {"cpu": "128", "memory": "1024Gi", GPU: str(GPUS)}
    without = {"cpu": f"{CPU_NODE_M}m", "memory": "1024Gi"}
    return (
        *(node(f"gpu-{number:05d}", {POOL: "gpu"}, with_gpus) for number in range(accelerated)),
        *(node(f"cpu-{number:05d}", {POOL: "cpu"}, without) for number in range(plain)),
    )
