"""What an eviction costs, over the whole set of victims and not node by node.

The order is the contract's: fewest PodDisruptionBudget violations, lowest highest priority, fewest jobs broken, fewest
jobs touched, smallest sum of priorities, fewest victims, latest start. A job is broken once: a gang that has fallen
below its minimum is not hurt more by losing further members, so these come before the first member of another gang.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from koordpy.state.budgets import Budget
from koordpy.state.cluster import Cluster
from koordpy.state.gangs.gang import Gang
from koordpy.state.pods import PodRecord

_LOWEST = -(2**31)  # kube-scheduler's offset: with it, two victims always weigh more than one
_NOT_YET = float("inf")  # who has not begun is the youngest of all


class Cost(NamedTuple):
    """Compared field by field; the smaller, the better."""

    violations: int = 0
    highest: int = _LOWEST - 1
    broken: int = 0
    touched: int = 0
    priorities: int = 0
    victims: int = 0
    earliest: float = 0.0  # start of the longest running victim of the highest priority, negated: the latest is best


class _Loss(NamedTuple):
    """What losing a pod means."""

    job: str
    whole: tuple[str, str]  # what is broken as one: a gang, or a job that is none
    surplus: int  # how many may be lost before it is broken; negative: it is broken already, and not by us
    gang: Gang | None
    expendable: int  # how many of the gang may go one by one
    budgets: list[Budget]


class Ledger:
    """A set of victims and what it costs."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._losses: dict[str, _Loss] = {}  # by UID
        self._taken: Counter[str] = Counter()  # by job
        self._lost: Counter[tuple[str, str]] = Counter()  # by what is broken as one
        self._against: Counter[str] = Counter()  # by budget
        self._victims: dict[str, PodRecord] = {}
        self._priorities: dict[str, int] = {}  # gang -> the highest of those who run
        self._budgeted: dict[str, bool] = {}  # by gang
        self._whole_gangs: dict[str, Cost] = {}  # gang -> what all of it costs, while none of its members goes yet

    # --- the set ---

    def add(self, victims: Iterable[PodRecord]) -> None:
        for victim in victims:
            if victim.uid not in self._victims:
                self._victims[victim.uid] = victim
                self._count(victim, 1)

    def remove(self, victims: Iterable[PodRecord]) -> None:
        for victim in victims:
            if self._victims.pop(victim.uid, None) is not None:
                self._count(victim, -1)

    @contextmanager
    def without(self, victims: Collection[PodRecord]) -> Iterator[None]:
        """As if these were not in the set."""
        self.remove(victims)
        yield
        self.add(victims)

    @property
    def victims(self) -> list[PodRecord]:
        return list(self._victims.values())

    # --- gangs that go as a whole ---

    def taken_along(self, more: list[PodRecord]) -> list[Gang]:
        """The gangs that go as a whole if these go too: they lose more members than may go one by one."""
        losses = [loss for loss in map(self._loss, more) if loss.gang is not None]
        if not losses:
            return []
        losing = Counter(loss.whole for loss in losses) if len(losses) > 1 else {losses[0].whole: 1}
        return [
            loss.gang
            for loss in {loss.whole: loss for loss in losses}.values()
            if loss.gang is not None and self._lost[loss.whole] + losing[loss.whole] > loss.expendable
        ]

    def with_their_gangs(self, more: list[PodRecord]) -> list[PodRecord]:
        """These, and the rest of each gang that goes as a whole with them."""
        gangs = self.taken_along(more)
        if not gangs:
            return more
        all_of_them = {pod.uid: pod for pod in more}
        for gang in gangs:
            all_of_them |= gang.bound
        return [pod for uid, pod in all_of_them.items() if uid not in self._victims]

    def overspent(self, victims: Iterable[PodRecord]) -> list[Gang]:
        """Of the gangs of these victims, those that lose more members than may go one by one."""
        losses = {loss.whole: loss for loss in map(self._loss, victims)}.values()
        return [each.gang for each in losses if each.gang is not None and self._lost[each.whole] > each.expendable]

    # --- what it costs ---

    def cost(self) -> Cost:
        """Of the whole set."""
        return Ledger(self._cluster).marginal(sorted(self._victims.values(), key=importance))

    def marginal(self, more: list[PodRecord]) -> Cost:
        """What further victims would cost, beside those that are in the set already."""
        if not more:
            return Cost()
        losses = [self._loss(victim) for victim in more]
        highest = max(victim.priority for victim in more)
        return Cost(
            violations=len(self.violators(more)),
            highest=highest,
            broken=self._broken_anew(losses),
            touched=len({loss.job for loss in losses if not self._taken[loss.job]}),
            priorities=sum([victim.priority for victim in more]) - _LOWEST * len(more),
            victims=len(more),
            earliest=-min(_begun(victim) for victim in more if victim.priority == highest),
        )

    def marginal_with_gangs(self, more: list[PodRecord]) -> Cost:
        """The same, with those who go because of them.

        On a cluster full of gangs of twenty, twenty nodes ask for the price of one gang. It is computed once.
        """
        gang = self._loss(more[0]).gang if more else None
        if gang is None or not self._is_whole_and_untouched(gang, more):
            return self.marginal(self.with_their_gangs(more))
        known = self._whole_gangs.get(gang.id)
        if known is None:
            known = self._whole_gangs[gang.id] = self.marginal(list(gang.bound.values()))
        return known

    def _is_whole_and_untouched(self, gang: Gang, more: list[PodRecord]) -> bool:
        if self._is_budgeted(gang) or self._lost["gang", gang.id] or len(more) <= gang.expendable:
            return False
        return not self._taken[gang.id] and all(pod.uid in gang.bound and pod.job == gang.id for pod in more)

    def marginal_of_lone(self, more: list[PodRecord]) -> Cost:
        """The same for pods that are each a job of their own and under no budget: no other victim matters to them."""
        if not more:
            return Cost()
        highest, number = max([victim.priority for victim in more]), len(more)
        return Cost(
            highest=highest,
            broken=number,
            touched=number,
            priorities=sum([victim.priority for victim in more]) - _LOWEST * number,
            victims=number,
            earliest=-min([_begun(victim) for victim in more if victim.priority == highest]),
        )

    def standing(self, victim: PodRecord) -> tuple[bool, bool]:
        """Whether the victim's job is touched and broken so far: when that changes, others of it become cheaper."""
        loss = self._loss(victim)
        return self._taken[loss.job] > 0, 0 <= loss.surplus < self._lost[loss.whole]

    def worth(self, victim: PodRecord) -> tuple[bool, int, bool, bool, float, str]:
        """How much a possible victim is worth reprieving, beside what is lost already; the highest first."""
        loss = self._loss(victim)
        breaks = loss.surplus == self._lost[loss.whole]
        violates, priority = self._violates(loss), victim.priority
        if loss.gang is not None and loss.expendable == self._lost[loss.whole]:  # with it, all of its gang go
            if self._is_budgeted(loss.gang):
                violates = any(self._violates(self._loss(pod)) for pod in loss.gang.bound.values())
            priority = self._highest(loss.gang)
        return violates, priority, breaks, not self._taken[loss.job], -_begun(victim), victim.key

    def _is_budgeted(self, gang: Gang) -> bool:
        """Whether some budget covers a member that runs."""
        if not len(self._cluster.budgets):
            return False
        if gang.id not in self._budgeted:
            self._budgeted[gang.id] = any(self._loss(pod).budgets for pod in gang.bound.values())
        return self._budgeted[gang.id]

    def _violates(self, loss: _Loss) -> bool:
        return any(self._against[budget.key] >= budget.allowed for budget in loss.budgets)

    def _highest(self, gang: Gang) -> int:
        if gang.id not in self._priorities:
            self._priorities[gang.id] = max(pod.priority for pod in gang.bound.values())
        return self._priorities[gang.id]

    def violators(self, victims: Iterable[PodRecord]) -> set[str]:
        """UIDs of those that their budgets have no room for, if they go in this order."""
        used: Counter[str] = Counter()
        found: set[str] = set()
        for victim in victims if len(self._cluster.budgets) else ():
            for budget in self._loss(victim).budgets:
                used[budget.key] += 1
                if self._against[budget.key] + used[budget.key] > budget.allowed:
                    found.add(victim.uid)
        return found

    # --- bookkeeping ---

    def _count(self, victim: PodRecord, times: int) -> None:
        loss = self._loss(victim)
        self._taken[loss.job] += times
        self._lost[loss.whole] += times
        for budget in loss.budgets:
            self._against[budget.key] += times

    def _broken_anew(self, more: list[_Loss]) -> int:
        lost = Counter(loss.whole for loss in more)
        surplus = {loss.whole: loss.surplus for loss in more}
        return sum(self._lost[whole] <= surplus[whole] < self._lost[whole] + number for whole, number in lost.items())

    def _loss(self, victim: PodRecord) -> _Loss:
        known = self._losses.get(victim.uid)
        if known is None:
            gang = gang_of(victim, self._cluster)
            whole = ("gang", gang.id) if gang is not None else ("job", victim.job)
            surplus = len(gang.bound) + len(gang.succeeded) - gang.minimum if gang is not None else 0
            expendable = gang.expendable if gang is not None else 0
            budgets = self._cluster.budgets.covering(victim)
            known = self._losses[victim.uid] = _Loss(victim.job, whole, surplus, gang, expendable, budgets)
        return known


def importance(victim: PodRecord) -> tuple[int, float, str]:
    """A sort key: the most important first, as kube-scheduler has it."""
    return -victim.priority, _begun(victim), victim.key


def gang_of(victim: PodRecord, cluster: Cluster) -> Gang | None:
    """Its gang, if that has a minimum and the pod counts there: pods of other schedulers do not."""
    gang = cluster.gangs.get(victim.gang) if victim.gang else None
    return gang if gang is not None and gang.initialised and victim.uid in gang.bound else None


def _begun(victim: PodRecord) -> float:
    return victim.started or _NOT_YET
