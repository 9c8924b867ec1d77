"""What an eviction costs, over the whole set of victims and not node by node.

The order is the contract's: fewest PodDisruptionBudget violations, lowest highest priority, fewest jobs broken, fewest
jobs touched, smallest sum of priorities, fewest victims, latest start. A job is broken once: a gang that has fallen
below its minimum is not hurt more by losing further members, so these come before the first member of another gang.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from koordpy.api.keys import DISRUPTION_MODE
from koordpy.cluster.budgets import Budget
from koordpy.cluster.gangs import Gang
from koordpy.cluster.picture import Cluster
from koordpy.cluster.pods import PodRecord

_LOWEST = -(2**31)  # kube-scheduler's offset: with it, two victims always weigh more than one


class Cost(NamedTuple):
    """Compared field by field; the smaller, the better."""

    violations: int = 0
    highest: int = _LOWEST - 1
    broken: int = 0
    touched: int = 0
    priorities: int = 0
    victims: int = 0
    earliest: float = 0.0  # start of the longest running victim of the highest priority, negated: the latest is best


class Ledger:
    """A set of victims and what it costs."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._covering: dict[str, list[Budget]] = {}
        self._taken: Counter[str] = Counter()  # by job
        self._against: Counter[str] = Counter()  # by budget
        self._victims: dict[str, PodRecord] = {}

    # --- the set ---

    def add(self, victims: Iterable[PodRecord]) -> None:
        for victim in victims:
            if victim.uid not in self._victims:
                self._victims[victim.uid] = victim
                self._taken[victim.job] += 1
                for budget in self.budgets(victim):
                    self._against[budget.key] += 1

    def remove(self, victims: Iterable[PodRecord]) -> None:
        for victim in victims:
            if self._victims.pop(victim.uid, None) is not None:
                self._taken[victim.job] -= 1
                for budget in self.budgets(victim):
                    self._against[budget.key] -= 1

    @property
    def victims(self) -> list[PodRecord]:
        return list(self._victims.values())

    def is_touched(self, job: str) -> bool:
        return self._taken[job] > 0

    # --- what it costs ---

    def cost(self) -> Cost:
        """Of the whole set."""
        victims = self._victims.values()
        if not victims:
            return Cost()
        jobs = {victim.job: victim for victim in victims}
        highest = max(victim.priority for victim in victims)
        return Cost(
            violations=self._violations(),
            highest=highest,
            broken=sum(self.breaks(victim, self._taken[job]) for job, victim in jobs.items()),
            touched=len(jobs),
            priorities=sum(victim.priority - _LOWEST for victim in victims),
            victims=len(victims),
            earliest=-min(victim.started for victim in victims if victim.priority == highest),
        )

    def marginal(self, more: list[PodRecord]) -> Cost:
        """What further victims would cost, beside those that are in the set already."""
        if not more:
            return Cost()
        per_job = Counter(victim.job for victim in more)
        some = {victim.job: victim for victim in more}
        highest = max(victim.priority for victim in more)
        return Cost(
            violations=sum(map(self.violates, more)),
            highest=highest,
            broken=sum(
                self.breaks(victim, self._taken[job] + per_job[job])
                and not (self._taken[job] and self.breaks(victim, self._taken[job]))
                for job, victim in some.items()
            ),
            touched=sum(not self._taken[job] for job in some),
            priorities=sum(victim.priority - _LOWEST for victim in more),
            victims=len(more),
            earliest=-min(victim.started for victim in more if victim.priority == highest),
        )

    def breaks(self, victim: PodRecord, taken: int) -> bool:
        """Whether losing so many members breaks the job of a victim."""
        gang = self._cluster.gangs.get(victim.gang) if victim.gang and victim.job == victim.gang else None
        if gang is None:
            return True
        surplus = len(gang.bound) + len(gang.succeeded) - gang.minimum
        return 0 <= surplus < taken

    def worth(self, victim: PodRecord) -> tuple[bool, int, bool, bool, float, str]:
        """How much a possible victim is worth sparing, beside what is lost already; the highest first."""
        taken = self._taken[victim.job]
        breaks_anew = self.breaks(victim, taken + 1) and not (taken and self.breaks(victim, taken))
        return (
            self.violates(victim),
            victim.priority,
            breaks_anew,
            not taken,
            -victim.started,
            victim.key,
        )

    def violates(self, victim: PodRecord) -> bool:
        """Whether evicting this one too would violate a budget."""
        return any(self._against[budget.key] >= budget.allowed for budget in self.budgets(victim))

    def budgets(self, victim: PodRecord) -> list[Budget]:
        if not len(self._cluster.budgets):
            return []
        found = self._covering.get(victim.uid)
        if found is None:
            found = self._covering[victim.uid] = self._cluster.budgets.covering(victim)
        return found

    def _violations(self) -> int:
        """Victims that no budget has room for; each budget serves the most important ones first."""
        served: Counter[str] = Counter()
        count = 0
        for victim in sorted(self._victims.values(), key=lambda each: (-each.priority, each.started, each.key)):
            violated = False
            for budget in self.budgets(victim):
                served[budget.key] += 1
                violated |= served[budget.key] > budget.allowed
            count += violated
        return count


def whole_gang(victim: PodRecord, cluster: Cluster) -> Gang | None:
    """The gang that a victim takes along, if its PodGroup asks for that."""
    gang = cluster.gangs.get(victim.gang) if victim.gang else None
    pod_group = gang.pod_group if gang is not None else None
    if pod_group is None or pod_group.metadata.annotations.get(DISRUPTION_MODE) != "All":
        return None
    return gang
