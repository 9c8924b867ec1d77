"""Users: jobs come at a steady rate, of all kinds and priorities; some are deleted early, all when they have ended.

The rate is such that running jobs ask for most of what the nodes have: some wait, and urgent ones evict others.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from koordpy.api.keys import BATCH_MIN_MEMBER
from koordpy.sim.simulate import objects
from koordpy.sim.simulate.truth import is_finished
from tests.controlplane.client import Client
from tests.soak.judge import GANG, MINIMUM, Json
from tests.soak.mirror import Mirror

CLASSES = {"low": 10, "mid": 50, "high": 90}
KINDS = ("annotations", "sigs", "kai", "QueueJob", "Job", "pod")
MEMBERS = (2, 4, 8, 16)
CPUS = (1, 2, 4)
RUN_S = (20, 60, 120)
PRIORITIES = ("low",) * 5 + ("mid",) * 4 + ("high",)
DELETED_EARLY = 0.05
TIDY_EVERY_S = 5.0
SEEN_WITHIN_S = 30.0  # by the watch
OWNERS = ("QueueJob", "Job")
_PLURALS = {
    "sigs": "apis/scheduling.sigs.k8s.io/v1alpha1/podgroups",
    "kai": "apis/scheduling.run.ai/v2alpha2/podgroups",
    "QueueJob": "apis/arbitrator.incubator.k8s.io/v1alpha1/queuejobs",
    "Job": "apis/batch/v1/jobs",
}


@dataclass(frozen=True)
class Submitted:
    name: str
    kind: str
    members: int
    at: float  # of the loop's clock


def seconds_between(cpus: int, load: float) -> float:
    """The pause between two jobs with which they ask for this part of the CPUs, on average."""
    sizes = [1 if kind == "pod" else members for kind in KINDS for members in MEMBERS]
    mean = sum(sizes) / len(sizes) * sum(CPUS) / len(CPUS) * sum(RUN_S) / len(RUN_S)
    return mean / (cpus * load)


class Load:
    """Writes through `client` what users would."""

    def __init__(self, client: Client, mirror: Mirror, group: asyncio.TaskGroup, seed: int) -> None:
        self._client, self._mirror, self._group = client, mirror, group
        self._dice = random.Random(seed)
        self._there: dict[str, Submitted] = {}
        self.submitted: Counter[str] = Counter()  # by kind
        self.pods = self.deleted_early = 0
        self.refused: list[str] = []

    async def submit_for(self, seconds: float, pause_s: float) -> None:
        loop = asyncio.get_running_loop()
        ends = loop.time() + seconds
        while loop.time() < ends:
            due = loop.time() + self._dice.expovariate(1 / pause_s)
            await self._submit()
            await asyncio.sleep(max(0.0, due - loop.time()))

    async def _submit(self) -> None:
        dice, kind = self._dice, self._dice.choice(KINDS)
        number = sum(self.submitted.values())
        members = 1 if kind == "pod" else dice.choice(MEMBERS)
        job = Submitted(f"job{number}", kind, members, asyncio.get_running_loop().time())
        ask = {
            "cpu": dice.choice(CPUS),
            "run_s": dice.choice(RUN_S),
            "priority": dice.choice(PRIORITIES),
            "members": members,
            "minimum": members,
            "frontend": kind,
        }
        self.submitted[kind] += 1
        self.pods += members
        self._there[job.name] = job
        await _MAKE.get(kind, Load._make_gang)(self, job, ask)
        if dice.random() < DELETED_EARLY:
            self._group.create_task(self._delete_early(job, dice.uniform(0.0, 40.0)))

    async def _make_pod(self, job: Submitted, ask: Json) -> None:
        await self._create("pods", _marked(objects.pod(job.name, ask), job))

    async def _make_gang(self, job: Submitted, ask: Json) -> None:
        if job.kind in _PLURALS:
            await self._create(_PLURALS[job.kind], objects.pod_group(job.name, ask))
        for number in range(job.members):
            await self._create("pods", _marked(objects.member(job.name, number, ask), job))

    async def _make_queue_job(self, job: Submitted, ask: Json) -> None:
        made = objects.queue_job(job.name, ask)
        made["spec"]["maxRestarts"] = 100  # an eviction costs one
        _marked(made["spec"]["taskSpecs"][0]["template"], job)
        await self._create(_PLURALS["QueueJob"], made)

    async def _make_job(self, job: Submitted, ask: Json) -> None:
        made = objects.job(job.name, ask)
        # Else kube-controller-manager waits ten minutes before it makes pods that were evicted anew.
        ignored = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
        made["spec"] |= {"backoffLimit": 100, "podFailurePolicy": {"rules": [ignored]}}
        made["metadata"]["annotations"] = {BATCH_MIN_MEMBER: str(job.members)}
        _marked(made["spec"]["template"], job)
        await self._create(_PLURALS["Job"], made)

    async def _create(self, resource: str, body: Json) -> None:
        reply = await self._client.create(resource, body)
        if reply.status >= 300:
            self.refused.append(f"{resource}: {reply.body.get('message')}")

    # --- ends ---

    async def tidy(self) -> None:
        """Until cancelled: what has ended is deleted, as its users would."""
        while True:
            await asyncio.sleep(TIDY_EVERY_S)
            ended: Counter[str] = Counter()
            living: Counter[str] = Counter()
            for pod in self._mirror.pods.values():
                counted = ended if is_finished(pod) else living
                counted[pod["metadata"].get("annotations", {}).get(GANG, "")] += 1
            for job in list(self._there.values()):
                if self._has_ended(job, ended[job.name], living[job.name]):
                    await self._delete(job)

    def _has_ended(self, job: Submitted, ended: int, living: int) -> bool:
        """Pods that were evicted are made again by an owner, and by nobody else."""
        if job.kind in OWNERS:
            return ended >= job.members
        return not living and asyncio.get_running_loop().time() > job.at + SEEN_WITHIN_S

    async def _delete_early(self, job: Submitted, after_s: float) -> None:
        await asyncio.sleep(after_s)
        if job.name in self._there:
            self.deleted_early += 1
            await self._delete(job)

    async def _delete(self, job: Submitted) -> None:
        self._there.pop(job.name, None)
        if job.kind in _PLURALS:
            await self._client.delete(_PLURALS[job.kind], job.name)
        if job.kind not in OWNERS:
            names = [job.name] if job.kind == "pod" else [f"{job.name}-{number}" for number in range(job.members)]
            for name in names:
                await self._client.delete("pods", name)

    @property
    def left(self) -> int:
        """Jobs that have not ended."""
        return len(self._there)

    @property
    def names_left(self) -> list[str]:
        return [f"{job.kind} {job.name}" for job in self._there.values()]


def _marked(made: Json, job: Submitted) -> Json:
    """For the judge: the gang of a pod, and how many of it start together."""
    made["metadata"].setdefault("annotations", {}).update({GANG: job.name, MINIMUM: str(job.members)})
    return made


_MAKE: dict[str, Callable[..., Any]] = {
    "pod": Load._make_pod,
    "QueueJob": Load._make_queue_job,
    "Job": Load._make_job,
}
