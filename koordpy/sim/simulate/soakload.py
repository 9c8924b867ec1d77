"""What users of a soak submit: as much as their nodes have, nearly, so that jobs wait, queue and preempt.

The rate follows from the nodes. Jobs are of all kinds that pods come from; now and then there is a wide one, which
needs an eighth of the cluster at once. Mostly they are of low priority, so that others can take their place.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

from koordpy.sim.simulate.objects import FRONT_ENDS

LOAD = 0.85  # of the CPUs, that jobs ask for on average
NODE_CPUS = 16

OWNERS = ("QueueJob", "Job", "PyTorchJob")
_KINDS = (*FRONT_ENDS, *OWNERS)
_MEMBERS = (1, 1, 2, 4, 8, 16)
_CPUS = (1, 2, 4)
_RUNS_S = (300, 900, 2700)  # the longest is shorter than an hour: after the first one nothing is the start any more
_PRIORITIES = ("low",) * 6 + ("mid",) * 3 + ("high",)
_WIDE_WORK = 0.15  # of all work is that of wide jobs
_WIDE = 8  # of them make up the cluster
_WIDE_CPU, _WIDE_RUN_S = 2, 900


class Submission(NamedTuple):
    """`kind` is a front-end, an owner, or empty for a pod by itself."""

    kind: str
    members: int
    ask: dict[str, Any]


class Submissions:
    """For so many nodes; `an_hour` of them make up the load."""

    def __init__(self, nodes: int, dice: random.Random) -> None:
        self._dice = dice
        self._wide_members = max(2, nodes * NODE_CPUS // _WIDE // _WIDE_CPU)
        work = nodes * NODE_CPUS * LOAD * 3600.0  # CPU-seconds an hour
        small = _mean(_MEMBERS) * _mean(_CPUS) * _mean(_RUNS_S)
        wide = self._wide_members * _WIDE_CPU * _WIDE_RUN_S
        small_an_hour, wide_an_hour = work * (1 - _WIDE_WORK) / small, work * _WIDE_WORK / wide
        self.an_hour = small_an_hour + wide_an_hour
        self._wide_chance = wide_an_hour / self.an_hour

    def pause_s(self) -> float:
        """Until the next one."""
        return self._dice.expovariate(self.an_hour / 3600.0)

    def draw(self) -> Submission:
        dice = self._dice
        wide = dice.random() < self._wide_chance
        members = self._wide_members if wide else dice.choice(_MEMBERS)
        ask: dict[str, Any] = {
            "cpu": _WIDE_CPU if wide else dice.choice(_CPUS),
            "run_s": _WIDE_RUN_S if wide else dice.choice(_RUNS_S),
            "priority": dice.choice(_PRIORITIES),
        }
        if members == 1:
            return Submission("", members, ask)
        kind = dice.choice(FRONT_ENDS if wide else _KINDS)
        gang = {"members": members, "minimum": members} | ({} if kind in OWNERS else {"frontend": kind})
        return Submission(kind, members, ask | gang)


def _mean(values: tuple[int, ...]) -> float:
    return sum(values) / len(values)
