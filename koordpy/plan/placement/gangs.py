"""Planning gangs: every gang of a job gets its minimum placed on one view of the cluster, or the job is refused.

Members of one shape are placed as a batch. The batches that find the fewest slots go first, so that pods which could
run anywhere do not take the room of those that cannot; if that fails, a job of several shapes is tried again packed
tightly. What a gang has beyond its minimum starts along if it fits, and never at the expense of what is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from koordpy.plan.framework.answers import Placement, Plan, Refusal, no_node_fits
from koordpy.plan.framework.job import ANY, Demand, Job
from koordpy.plan.framework.profile import Profile
from koordpy.plan.placement import batch
from koordpy.plan.placement.packing import pack
from koordpy.plan.placement.pods import place, place_nominated, refused_without_asking
from koordpy.plan.scores.node_resources_fit import NodeResourcesFit, most_allocated
from koordpy.state.arrays import Ints
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape
from koordpy.state.trial import Trial

Profiles = Mapping[str, Profile]

_ALL = 1 << 30  # more slots than a node can have


@dataclass(slots=True)
class _Batch:
    """Members of one gang and one shape."""

    demand: Demand
    shape: Shape | None
    profile: Profile
    members: list[PodRecord]  # not yet placed
    stuck: bool = False  # the first of them was tried and did not fit


def plan_gangs(job: Job, cluster: Cluster, profiles: Profiles) -> Plan | Refusal:
    """A plan whose `missing` says why some NonStrict gang is not complete, or a refusal; the state is left as it was.

    All of the members that a plan names may be reserved; none may be bound while something is missing.
    """
    if not len(cluster.nodes):
        return _no_nodes(job)
    best: _Attempt | None = None
    for way, easiest_first in _ways(job, profiles, cluster):
        with Trial(cluster.occupancy) as trial:
            attempt = _Attempt(job, cluster, way, trial, easiest_first=easiest_first)
            attempt.run()
        if not attempt.short:
            return Plan(tuple(attempt.placements), left_over=attempt.left_over)
        if best is None or len(attempt.placements) > len(best.placements):
            best = attempt
    assert best is not None
    gave_up = False
    if len({member.shape for member in job.members}) > 1:
        packed, budget = pack(job, cluster, profiles)
        if packed is not None:
            return Plan(tuple(packed))
        gave_up = budget.gave_up
    short = {key: replace(refusal, gave_up=gave_up) for key, refusal in best.short.items()}
    strict = next((d for d in job.demands if d.mode == "Strict" and d.key in best.short), None)
    if strict is not None:
        return short[strict.key]
    return Plan(tuple(best.placements), missing=next(iter(short.values())))


def _ways(job: Job, profiles: Profiles, cluster: Cluster) -> Iterator[tuple[Profiles, bool]]:
    """As the profiles say; and, since different sizes can stand in each other's way, packed tightly.

    Where a gang has more members than it needs, the small ones may do: of 2, 1, 1 and 1 CPU, three on three CPUs. So
    those that find the most room are tried first, if nothing else helps.
    """
    yield profiles, False
    if len({member.shape for member in job.members}) > 1:
        packed = {name: _packing(profile, cluster) for name, profile in profiles.items()}
        yield packed, False
        if any(len(demand.members) > demand.needed for demand in job.demands):
            yield packed, True


TIGHTLY = NodeResourcesFit(most_allocated)  # one for all: what scores remember hangs on the object


def _packing(profile: Profile, cluster: Cluster) -> Profile:
    return profile.only(cluster.nodes.live if profile.within is None else profile.within, ((TIGHTLY, 1),))


class _Attempt:
    """One way of placing the members of a job, on a trial; afterwards it says how far it got."""

    def __init__(
        self, job: Job, cluster: Cluster, profiles: Profiles, trial: Trial, *, easiest_first: bool = False
    ) -> None:
        self._job, self._cluster, self._trial = job, cluster, trial
        self._easiest_first = easiest_first
        self._batches = _batches(job, profiles)
        self.placements: list[Placement] = []
        self.short: dict[str, Refusal] = {}  # by demand: why it falls short of its minimum
        self.left_over: Refusal | None = None
        self._wake_on = EventKind.NONE  # of everybody who found no room: any of them may be who is needed
        self._culprits: dict[str, tuple[_Batch, Refusal, PodRecord]] = {}  # by demand that falls short
        self._placed: Counter[str] = Counter()  # by demand

    def run(self) -> None:
        """First what each gang needs, the scarcest first; then what else fits."""
        if len(self._batches) == 1:
            self._place_only(self._batches[0])
        else:
            self._batches.sort(key=self._scarcity if self._easiest_first else self._slack)
            self._place_needed()
            if not self._culprits:
                self._place_surplus()
        for key, (each, refusal, culprit) in self._culprits.items():
            said = _said_for_gang(refusal, each.demand, self._placed[key], culprit)
            self.short[key] = replace(said, wake_on=self._wake_on)
        if self.left_over is not None:
            self.left_over = replace(self.left_over, wake_on=self._wake_on)

    def _place_needed(self) -> None:
        """A strict gang that falls short ends it; only its own other members are still tried, to be counted."""
        lost = ""
        for each in self._batches:
            if lost and each.demand.key != lost:
                continue
            refusal = self._place(each, each.demand.needed - self._placed[each.demand.key])
            if refusal is not None and self._falls_short(each.demand):
                self._give_up(each, refusal)
                lost = each.demand.key if each.demand.mode == "Strict" else lost

    def _place_surplus(self) -> None:
        for demand in {each.demand.key: each.demand for each in self._batches if each.demand.optional}.values():
            self._place_whole(demand)
        for each in self._batches:
            if not each.stuck:
                self.left_over = self._place(each, len(each.members)) or self.left_over

    def _place_whole(self, demand: Demand) -> None:
        """A part of a gang that it can do without starts whole or not at all."""
        batches = [each for each in self._batches if each.demand is demand]
        before = [list(each.members) for each in batches]
        mark, placed = self._trial.mark(), len(self.placements)
        for each in batches:
            self.left_over = self._place(each, demand.lacking - self._placed[demand.key]) or self.left_over
        if self._placed[demand.key] >= demand.lacking:
            return
        self._trial.undo(mark)
        del self.placements[placed:]
        self._placed[demand.key] = 0
        for each, members in zip(batches, before, strict=True):
            each.members, each.stuck = members, True

    def _place_only(self, only: _Batch) -> None:
        """The usual job: nobody else wants the room, so that what is needed and what is surplus go in one."""
        if only.demand.optional:
            self._place_surplus()
            return
        refusal = self._place(only, len(only.members))
        if self._placed[only.demand.key] >= only.demand.needed:
            self.left_over = refusal
        elif refusal is not None:
            self._give_up(only, refusal)

    def _give_up(self, each: _Batch, refusal: Refusal) -> None:
        self._culprits.setdefault(each.demand.key, (each, refusal, each.members[0]))

    def _falls_short(self, demand: Demand) -> bool:
        """The minimum cannot be reached any more with the members left."""
        left = sum(len(each.members) for each in self._batches if each.demand is demand and not each.stuck)
        return self._placed[demand.key] + left < demand.needed

    def _slack(self, each: _Batch) -> tuple[int, int]:
        """Slots that are offered beyond those wanted; the scarcest are negative. Of equals, who has fewer to choose."""
        slots = self._slots(each, len(each.members))
        return slots - len(each.members), slots

    def _scarcity(self, each: _Batch) -> tuple[int, int]:
        """The more slots there are, the lower."""
        return -self._slots(each, _ALL), 0

    def _slots(self, each: _Batch, most: int) -> int:
        """On all nodes, at most so many on each; one too few where nobody knows without asking one by one."""
        offered = batch.slots(each.shape, self._cluster, each.profile) if each.shape is not None else None
        return len(each.members) - 1 if offered is None else int(np.minimum(offered, most).sum())

    # --- one batch ---

    def _place(self, each: _Batch, wanted: int) -> Refusal | None:
        """Place up to `wanted` members of a batch; a refusal when fewer of them fit."""
        if wanted <= 0 or not each.members:
            return None
        before = len(self.placements)
        refusal = self._place_members(each, each.members[:wanted])
        placed = {placement.uid for placement in self.placements[before:]}
        self._placed[each.demand.key] += len(placed)
        each.members = [member for member in each.members if member.uid not in placed]
        each.stuck = refusal is not None
        if refusal is not None:
            self._wake_on |= refusal.wake_on
        return refusal

    def _place_members(self, each: _Batch, members: list[PodRecord]) -> Refusal | None:
        if len(members) > 1 and each.shape is not None:
            refusal = refused_without_asking(members[0], each.shape, self._cluster, each.profile)
            if refusal is not None:
                return refusal
            members = self._fill(each, each.shape, members)
        for member in members:
            placed = place(member, self._job, self._cluster, each.profile, self._trial)
            if isinstance(placed, Refusal):
                return placed
            self.placements.append(placed)
        return None

    def _fill(self, each: _Batch, shape: Shape, members: list[PodRecord]) -> list[PodRecord]:
        """Place what can be placed at once; returns the members to be asked about one by one."""
        offered = self._offered(each, shape)
        if offered is None:  # each nominated member tries its node first
            return sorted(members, key=lambda member: not member.nominated_node)
        members = self._place_nominated(shape, members, offered)
        rows = batch.fill(shape, len(members), offered, self._cluster, each.profile)
        names = self._cluster.nodes.names
        self.placements += [Placement(member.uid, names[row]) for member, row in zip(members, rows, strict=False)]
        if len(self._batches) > 1 or len(rows) < len(members):  # else nobody looks at what is left
            self._occupy(shape, rows)
        return members[len(rows) :]

    def _place_nominated(self, shape: Shape, members: list[PodRecord], offered: Ints) -> list[PodRecord]:
        """Members nominated to a node with a slot go there; returns the others. What is taken is not offered."""
        others: list[PodRecord] = []
        rows: list[int] = []
        for member in members:
            row = self._cluster.nodes.row_of(member.nominated_node) if member.nominated_node else None
            if row is None or offered[row] <= 0:
                others.append(member)
                continue
            offered[row] -= 1
            rows.append(row)
            self.placements.append(Placement(member.uid, member.nominated_node))
        if rows:
            self._occupy(shape, rows)
        return others

    def _occupy(self, shape: Shape, rows: list[int]) -> None:
        taken, counts = np.unique(np.array(rows, dtype=np.int64), return_counts=True)
        self._trial.place_all(taken, shape, counts)

    def _offered(self, each: _Batch, shape: Shape) -> Ints | None:
        """`[N]`: the slots of each node, with and without the pods nominated to it; None: ask one by one."""
        cluster, profile = self._cluster, each.profile
        offered = batch.slots(shape, cluster, profile)
        if offered is None or not batch.can_fill(shape, cluster, profile):
            return None
        if not len(cluster.nominations):
            return offered
        with Trial(cluster.occupancy) as with_nominated:
            if place_nominated(each.members[0], self._job, cluster, with_nominated):
                beside = batch.slots(shape, cluster, profile)
                return None if beside is None else np.minimum(offered, beside)
        return offered


def _batches(job: Job, profiles: Profiles) -> list[_Batch]:
    batches: dict[tuple[str, Shape | None, str], _Batch] = {}
    for demand in job.demands:
        for member in demand.members:
            key = (demand.key, member.shape, member.scheduler)
            if key not in batches:
                batches[key] = _Batch(demand, member.shape, profiles[member.scheduler], [])
            batches[key].members.append(member)
    return list(batches.values())


def _no_nodes(job: Job) -> Refusal:
    """The first node that comes gives another reason, if not a place: hence the job waits for it, room or no room."""
    refusal = no_node_fits(job.members[0].uid if job.members else "", 0, {})
    needed = [demand for demand in job.demands if not demand.optional] or job.demands
    gangs = ", ".join(f"{_title(demand)}: {demand.counted} of {demand.minimum} members fit" for demand in needed)
    return replace(refusal, message=f"{refusal.message}. {gangs}.", wake_on=refusal.wake_on | EventKind.DOMAINS)


def _said_for_gang(refusal: Refusal, demand: Demand, placed: int, culprit: PodRecord) -> Refusal:
    """The culprit's refusal, as every member tells it."""
    fit = demand.counted + placed
    beside = f" beside {'it' if fit == 1 else f'these {fit}'}" if fit else ""  # the nodes are counted so
    text = f"{refusal.message} {_title(demand)}: {fit} of {demand.minimum} members fit, "
    text += f"{culprit.key} does not{beside}."
    return replace(refusal, message=text, culprit=culprit.uid, fit=(fit, demand.minimum))


def _title(demand: Demand) -> str:
    """What a gang needs beyond its subgroups is not its minimum, and must not read like it."""
    return f"{demand.title}, beyond its subgroups" if demand.subgroup == ANY else demand.title
