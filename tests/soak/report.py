"""What a soak has seen, for people: how much happened, how long gangs were half bound, and memory by process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from statistics import median

from koordpy.sim.simulate.truth import condition, node_of
from tests.soak.judge import Json
from tests.soak.programs import Look, Program


class Tally:
    """How many pods there were, and what became of them."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._bound: set[str] = set()
        self._evicted: set[str] = set()
        self.most_at_once = 0

    def hear(self, pod: Json) -> None:
        uid = pod["metadata"]["uid"]
        self._seen.add(uid)
        if node_of(pod):
            self._bound.add(uid)
        if condition(pod, "DisruptionTarget").get("status") == "True":
            self._evicted.add(uid)

    def __str__(self) -> str:
        return f"{len(self._seen)} pods, {len(self._bound)} bound, {len(self._evicted)} evicted"


def memory_table(programs: Iterable[Program]) -> Iterator[str]:
    """Of each process the most in each third of the time: killed ones begin anew, so nothing grows for long."""
    yield "process | starts | memory after 10 s | most in the first, second, last third of the time, MB"
    yield "--- | --- | --- | ---"
    for program in programs:
        early = [look.memory_mb for look in program.looks if 5 <= look.age_s < 15]
        thirds = ", ".join(f"{max(each.memory_mb for each in part):.0f}" for part in _thirds(program.looks))
        yield f"{program.name} | {program.starts} | {median(early) if early else 0:.0f} MB | {thirds}"


def _thirds(looks: list[Look]) -> Iterator[list[Look]]:
    began, each = looks[0].at, (looks[-1].at - looks[0].at) / 3 or 1.0
    for third in range(3):
        found = [look for look in looks if third <= (look.at - began) / each <= third + 1]
        if found:
            yield found
