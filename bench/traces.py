"""Jobs of real clusters, as gangs: read from published traces, or drawn from the same shape where those are absent.

Owns the meaning of the columns, and of "a job of n GPUs is a gang of ceil(n/8) pods of min(n, 8)". It knows nothing of
clusters and schedulers: the replay decides how fast, and on what.
"""

from __future__ import annotations

import csv
import datetime as dt
import math
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from bench.figures import BenchError

DIRECTORY = Path("../shared/data/traces")
GPUS_PER_NODE = 8
_SEED = 2017
_MIB_PER_GIB = 1024


class Role(NamedTuple):
    """The pods of one gang: `pods` of them, each asking for this much."""

    name: str
    pods: int
    gpus: int
    cpu_m: int
    memory_mib: int


class TraceJob(NamedTuple):
    """What was submitted at once; of several roles, a GangGroup."""

    name: str
    submitted_s: float  # since the first of the trace
    duration_s: float
    roles: tuple[Role, ...]
    team: str = ""  # whose it is, where the trace says so

    @property
    def pods(self) -> int:
        return sum(role.pods for role in self.roles)

    @property
    def gpus(self) -> int:
        return sum(role.pods * role.gpus for role in self.roles)

    @property
    def cpu_m(self) -> int:
        return sum(role.pods * role.cpu_m for role in self.roles)


class Trace(NamedTuple):
    """`source` is for the report: a file, or that the jobs are made up."""

    source: str
    jobs: tuple[TraceJob, ...]  # in the order of their submission


def training(directory: Path = DIRECTORY) -> Trace:
    """Microsoft Philly, 2017: 82,247 training jobs in four months, of 1 to 128 GPUs."""
    path = directory / "philly_jobs.csv"
    if not path.exists():
        return Trace(f"made up, of the shape of Philly ({path} is not there)", _made_up_training(Random(_SEED)))
    jobs = [_training_job(number, row) for number, row in enumerate(_rows(path))]
    return Trace(path.name, _from_zero(jobs))


def serving(directory: Path = DIRECTORY) -> Trace:
    """Alibaba DLRM, 2025: 156 applications, each of pods with GPUs and pods without."""
    path = directory / "alibaba_dlrm_2025.csv"
    if not path.exists():
        return Trace(f"made up, of the shape of Alibaba DLRM ({path} is not there)", _made_up_serving(Random(_SEED)))
    instances: defaultdict[str, list[dict[str, str]]] = defaultdict(list)
    for row in _rows(path):
        instances[row["app_name"]].append(row)
    return Trace(path.name, _from_zero([_application(name, rows) for name, rows in instances.items()]))


# --- from files ---


def _rows(path: Path) -> Iterator[dict[str, str]]:
    try:
        with path.open(newline="") as lines:
            yield from csv.DictReader(lines)
    except OSError as error:
        raise BenchError(f"the trace {path} cannot be read: {error}") from None


def _training_job(number: int, row: dict[str, str]) -> TraceJob:
    submitted = dt.datetime.fromisoformat(row["timestamp"]).replace(tzinfo=dt.UTC)
    roles = _workers(int(row["num_gpus"]))
    return TraceJob(f"job-{number}", submitted.timestamp(), float(row["duration"]), roles, row["cluster"])


def _workers(gpus: int) -> tuple[Role, ...]:
    """Whole nodes where one does not do. Philly does not say how much CPU and memory: an eighth of a node per GPU."""
    each = min(gpus, GPUS_PER_NODE)
    return (Role("worker", math.ceil(gpus / GPUS_PER_NODE), each, each * 8_000, each * 64 * _MIB_PER_GIB),)


def _application(name: str, rows: list[dict[str, str]]) -> TraceJob:
    """A gang for each size of pods. Instances that were never stopped run on after the end of the trace."""
    sizes: defaultdict[tuple[str, int, int, int], int] = defaultdict(int)
    for row in rows:
        memory_mib = round(float(row["memory_request"]) * _MIB_PER_GIB)
        sizes[row["role"], int(row["gpu_request"]), int(row["cpu_request"]) * 1000, memory_mib] += 1
    named = enumerate(sorted(sizes.items()), start=1)
    roles = tuple(Role(f"{role.lower()}-{i}", n, gpus, cpu_m, mib) for i, ((role, gpus, cpu_m, mib), n) in named)
    started = min(float(row["creation_time"] or 0) for row in rows)
    ended = max(float(row["deletion_time"] or math.inf) for row in rows)
    return TraceJob(name.replace("_", "-"), started, ended - started, roles)


def _from_zero(jobs: list[TraceJob]) -> tuple[TraceJob, ...]:
    first = min(job.submitted_s for job in jobs)
    moved = (job._replace(submitted_s=job.submitted_s - first) for job in jobs)
    return tuple(sorted(moved, key=lambda job: job.submitted_s))


# --- made up, where there is no file ---

_GPUS = {1: 76_627, 2: 1_818, 4: 1_870, 8: 1_643, 12: 7, 16: 199, 24: 7, 32: 67, 64: 6, 128: 3}  # jobs of Philly
_MEDIAN_S = {1: 1_117, 2: 367, 4: 367, 8: 23_683, 12: 37_188, 16: 37_188}  # larger ones: an hour
_EVERY_S = 114.0
_JOBS = 82_247
_TEAMS = 15
_APPLICATIONS = 156


def _made_up_training(random: Random) -> tuple[TraceJob, ...]:
    now = 0.0
    jobs = []
    for number, gpus in enumerate(random.choices(list(_GPUS), list(_GPUS.values()), k=_JOBS)):
        now += random.expovariate(1 / _EVERY_S)
        duration = random.lognormvariate(math.log(_MEDIAN_S.get(gpus, 3_600)), 2.0)
        jobs.append(TraceJob(f"job-{number}", now, duration, _workers(gpus), f"team-{random.randrange(_TEAMS)}"))
    return tuple(jobs)


def _made_up_serving(random: Random) -> tuple[TraceJob, ...]:
    jobs = []
    for number in range(_APPLICATIONS):
        accelerated, plain = (math.ceil(random.lognormvariate(2.5, 1.2)) for _ in range(2))
        memory_mib = random.choice((16, 32, 40)) * _MIB_PER_GIB
        hn = Role("hn-2", accelerated, 1, 8_000, memory_mib)
        cn = Role("cn-1", plain, 0, 64_000, 320 * _MIB_PER_GIB)
        jobs.append(TraceJob(f"app-{number}", number * 600.0, math.inf, (cn, hn)))
    return tuple(jobs)
