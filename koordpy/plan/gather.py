"""Gathering: a job goes into the deepest domain of the network that holds all of it, and there into the tightest.

For each request the slots of all nodes are summed up the tree. From the nodes upwards the first level is taken at which
some domain has enough; among its domains the one with the fewest to spare, then the one whose parent has the fewest,
and so on; then by name. `MustGather` says how far up the search may go, and `podCountMultiple` rounds what a domain
offers. If not even the minimum fits, the refusal says for each domain how far it got.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from koordpy.api.errors import MalformedValue
from koordpy.api.topology import GatherRule, gather_rules
from koordpy.cluster.arrays import Bools, Ints
from koordpy.cluster.changes import Change
from koordpy.cluster.picture import Cluster
from koordpy.cluster.pods import PodRecord
from koordpy.cluster.shapes import Shape
from koordpy.cluster.topology import Level
from koordpy.cluster.trial import Trial
from koordpy.plan import batch, placement
from koordpy.plan.answer import Gathered, Placement, Plan, Refusal
from koordpy.plan.gangs import plan_gangs
from koordpy.plan.job import Demand, Job
from koordpy.plan.layout import Tree, by_rank, natural
from koordpy.plan.planner import place, place_nominated, plan
from koordpy.plan.profile import Profile

Profiles = Mapping[str, Profile]

_CURES = Change.NODE_ADDED | Change.NODE_GREW | Change.ROOM_FREED | Change.NODE_TAINTS | Change.DOMAINS
_MOST_SHOWN = 8
_MANY = 2**20  # slots of one node; so many of so many nodes still add up


def rules_of(job: Job, cluster: Cluster) -> tuple[GatherRule, ...]:
    """What the gangs of a job ask of the topology, together; none for a plain job."""
    merged: dict[str, GatherRule] = {}
    own = cluster.gangs.group_of(job.members[0].gang) if not job.demands and job.members[0].gang else ()
    for gang_id in (*(demand.gang for demand in job.demands), *own):
        gang = cluster.gangs.get(gang_id)
        for rule in gather_rules(gang.spec.topology) if gang is not None and gang.spec.topology else ():
            known = merged.get(rule.layer, GatherRule(rule.layer, must=False, multiple=1))
            merged[rule.layer] = GatherRule(rule.layer, known.must or rule.must, max(known.multiple, rule.multiple))
    return tuple(merged.values())


def plan_gathered(job: Job, cluster: Cluster, profiles: Profiles, rules: tuple[GatherRule, ...]) -> Plan | Refusal:
    """As `plan_gangs`, with all members as close together as can be."""
    unknown = [rule for rule in rules if cluster.topology.level_of(rule.layer) is None]
    if any(rule.must for rule in unknown):
        return _no_such_layer(job, cluster, next(rule for rule in unknown if rule.must))
    if not cluster.topology.levels or not len(cluster.nodes):
        return plan_gangs(job, cluster, profiles)
    everybody = _Gathering(job, cluster, profiles, rules)
    answer = everybody.plan()
    if isinstance(answer, Plan):
        return answer
    needed = _needed_only(job)
    if len(needed.members) < len(job.members):
        fewer = _Gathering(needed, cluster, profiles, rules).plan()
        if isinstance(fewer, Plan):
            return replace(fewer, left_over=answer)
        answer = fewer
    if all(demand.mode == "NonStrict" for demand in job.demands) and not any(rule.must for rule in rules):
        return plan_gangs(job, cluster, profiles)  # it may accumulate, and what it gathers is not required
    return answer


def plan_beside(job: Job, cluster: Cluster, profile: Profile, rules: tuple[GatherRule, ...]) -> Plan | Refusal:
    """A later member of a gang that runs: as near to its siblings as it can, and nowhere else if it must."""
    member, levels = job.members[0], cluster.topology.levels
    near = _siblings_of(cluster.gangs.group_of(member.gang), cluster)
    if near is None or not levels:
        return plan(job, cluster, profile)
    known = [(cluster.topology.level_of(rule.layer), rule) for rule in rules]
    top = max((level for level, rule in known if level is not None and rule.must), default=0)
    for level in range(len(levels) - 1, top - 1, -1):
        codes = levels[level].codes
        theirs = np.unique(codes[(near > 0) & (codes >= 0)])
        answer = plan(job, cluster, profile.only(np.isin(codes, theirs)))
        if isinstance(answer, Plan) or level == top:
            break
    if isinstance(answer, Plan) or top == 0:
        return answer
    where = ", ".join(_called(levels[top], levels[top].names[domain]) for domain in theirs.tolist())
    text = f"{answer.message} gang {member.gang} is gathered in {where}, and its later members have to be there too."
    return replace(answer, message=text, cures=answer.cures | _CURES)


def _needed_only(job: Job) -> Job:
    """The first members of each gang, in the order of rank, as many as it needs."""
    demands = tuple(replace(d, members=tuple(by_rank(d.members)[: d.needed])) for d in job.demands)
    return Job(job.key, tuple(member for demand in demands for member in demand.members), demands)


class _Gathering:
    """One job and one tree."""

    def __init__(self, job: Job, cluster: Cluster, profiles: Profiles, rules: tuple[GatherRule, ...]) -> None:
        self._job, self._cluster, self._profiles = job, cluster, profiles
        self._levels = cluster.topology.levels
        known = [(cluster.topology.level_of(rule.layer), rule) for rule in rules]
        self._multiples = {level: rule.multiple for level, rule in known if level is not None and rule.multiple > 1}
        self._top = max((level for level, rule in known if level is not None and rule.must), default=0)
        self._batches = _batches(job)
        self._trees = [self._tree(shape, scheduler, m) for (shape, scheduler), m in self._batches.items()]
        self._near = _siblings_of((demand.gang for demand in job.demands), cluster)

    def plan(self) -> Plan | Refusal:
        for level in range(len(self._levels) - 1, self._top - 1, -1):
            for domain in self._candidates(level):
                placements = self._place_in(level, domain)
                if placements is not None:
                    where = Gathered(self._levels[level].layer, self._levels[level].paths[domain], level, domain)
                    return Plan(tuple(placements), gathered=where)
        return self._refusal()

    def _tree(self, shape: Shape | None, scheduler: str, members: list[PodRecord]) -> Tree:
        multiples = self._multiples if len(self._batches) == 1 else {}
        return Tree(self._levels, self._slots(shape, self._profiles[scheduler], members), multiples)

    def _slots(self, shape: Shape | None, profile: Profile, members: list[PodRecord]) -> Ints:
        """`[N]`: what each node offers, beside those who were promised room there."""
        cluster = self._cluster
        if shape is None:
            return np.zeros(cluster.nodes.capacity, dtype=np.int64)
        offered = _offered(shape, cluster, profile, len(members))
        if cluster.nominated:
            with Trial(cluster.occupancy) as promised:
                if place_nominated(members[0], self._job, cluster, promised):
                    offered = np.minimum(offered, _offered(shape, cluster, profile, len(members)))
        return offered

    # --- which domain ---

    def _candidates(self, level: int) -> list[int]:
        """The domains of a level that could hold the job, the best first."""
        enough = self._levels[level].real.copy()
        for tree, members in zip(self._trees, self._batches.values(), strict=True):
            enough &= tree.sums[level] >= len(members)
        enough &= self._inside(level, self._gathering_nodes())
        return sorted(np.flatnonzero(enough).tolist(), key=lambda domain: self._tightness(level, domain))

    def _tightness(self, level: int, domain: int) -> tuple[object, ...]:
        """Slots offered, here and in every domain around it; then the name."""
        key: list[object] = [-self._company(level, domain)]
        at = domain
        for each in range(level, 0, -1):
            key.append(sum(int(tree.sums[each][at]) for tree in self._trees))
            at = int(self._levels[each].parents[at])
        return (*key, tuple(natural(name) for name in self._levels[level].paths[domain]))

    def _company(self, level: int, domain: int) -> int:
        """Siblings that are already there: a job that is being completed stays together."""
        if self._near is None:
            return 0
        return int(self._near[self._levels[level].codes == domain].sum())

    def _gathering_nodes(self) -> Bools:
        """`[N]`: the nodes of domains that may be gathered in: where siblings are, if there are any."""
        top = self._levels[self._top]
        allowed = top.real.copy()
        if self._near is not None:
            there = np.zeros_like(allowed)
            there[top.codes[(self._near > 0) & (top.codes >= 0)]] = True
            allowed &= there
        return (top.codes >= 0) & allowed[top.codes]

    def _inside(self, level: int, nodes: Bools) -> Bools:
        """`[D]`: the domains of a level that have some of these nodes."""
        inside = np.zeros(len(self._levels[level].names), dtype=np.bool_)
        inside[self._levels[level].codes[nodes]] = True
        return inside

    # --- and how in it ---

    def _place_in(self, level: int, domain: int) -> list[Placement] | None:
        if len(self._batches) == 1:
            ((shape, scheduler), members) = next(iter(self._batches.items()))
            if shape is not None and _is_simple(shape, self._cluster, self._profiles[scheduler]):
                return self._fill(level, domain, members)
        return self._first_fit(level, domain) or self._anyhow(level, domain)

    def _fill(self, level: int, domain: int, members: list[PodRecord]) -> list[Placement] | None:
        rows = self._trees[0].rows(level, domain, len(members))
        if len(rows) < len(members):
            return None
        names = self._cluster.nodes.names
        return [Placement(member.uid, names[row]) for member, row in zip(by_rank(members), rows, strict=True)]

    def _first_fit(self, level: int, domain: int) -> list[Placement] | None:
        """Members of several kinds in the order of rank, each on the first node of the tree that takes it."""
        order = self._order(level, domain)
        inside = self._levels[level].nodes_of(domain)
        found: list[Placement] = []
        with Trial(self._cluster.occupancy) as trial:
            for member in by_rank(self._job.members):
                profile = self._profiles[member.scheduler].only(inside, ((order, 1),))
                placed = place(member, self._job, self._cluster, profile, trial)
                if isinstance(placed, Refusal):
                    return None
                found.append(placed)
        return found if self._multiples_hold(found) else None

    def _anyhow(self, level: int, domain: int) -> list[Placement] | None:
        """The scarcest first, whatever their rank."""
        inside = self._levels[level].nodes_of(domain)
        order = self._order(level, domain)
        profiles = {name: profile.only(inside, ((order, 1),)) for name, profile in self._profiles.items()}
        answer = plan_gangs(self._job, self._cluster, profiles)
        if isinstance(answer, Refusal) or answer.missing is not None or len(answer.placements) < len(self._job.members):
            return None
        return list(answer.placements) if self._multiples_hold(answer.placements) else None

    def _order(self, level: int, domain: int) -> _InOrder:
        rows = self._trees[0].order(level, domain)
        scores = np.zeros(self._cluster.nodes.capacity, dtype=np.int64)
        scores[rows] = np.arange(len(rows), 0, -1)
        return _InOrder(scores)

    def _multiples_hold(self, placements: list[Placement] | tuple[Placement, ...]) -> bool:
        nodes = self._cluster.nodes
        rows = [row for each in placements if (row := nodes.row_of(each.node)) is not None]
        for level, multiple in self._multiples.items():
            used = np.bincount(self._levels[level].codes[rows])
            if (used % multiple).any():
                return False
        return True

    # --- why not ---

    def _refusal(self) -> Refusal:
        level = self._levels[self._top]
        tree = min(self._trees, key=lambda each: int(each.sums[0].sum()))
        wanted = len(next(m for t, m in zip(self._trees, self._batches.values(), strict=True) if t is tree))
        domains = np.flatnonzero(level.real).tolist()
        unsorted = [(int(tree.sums[self._top][d]), natural(level.names[d]), level.names[d]) for d in domains]
        offers = sorted(unsorted, key=lambda offer: (-offer[0], offer[1]))
        shown = ", ".join(f"{_called(level, name)}: {slots} of {wanted}" for slots, _, name in offers[:_MOST_SHOWN])
        more = f" and {len(offers) - _MOST_SHOWN} more" if len(offers) > _MOST_SHOWN else ""
        best = offers[0] if offers else (0, (), "")
        lacks = f"; {_called(level, best[2])} is closest and lacks {wanted - best[0]}" if best[0] < wanted else ""
        multiples = ", ".join(f"{self._levels[each].layer}={m}" for each, m in sorted(self._multiples.items()))
        ending = f" (podCountMultiple {multiples})" if multiples else ""
        nodes = len(self._cluster.nodes)
        text = f"0/{nodes} nodes are available: no domain holds the whole job: {shown}{more}{lacks}{ending}."
        culprit = self._job.members[0]
        demand = next((d for d in self._job.demands if culprit in d.members), self._job.demands[0])
        return Refusal(
            f"{text} gang {demand.gang}: {best[0]} of {wanted} members fit.",
            _CURES,
            culprit.uid,
            plugins=frozenset(("Coscheduling",)),
            fit=(best[0], wanted),
        )


class _InOrder:
    """A score that fills nodes in a given order; the first that takes a pod is the best, however full it is."""

    name = "TreeOrder"

    def __init__(self, scores: Ints) -> None:
        self._scores = scores  # [N]

    def score(self, shape: Shape, cluster: Cluster, candidates: Ints) -> Ints:  # noqa: ARG002
        return self._scores[candidates]

    def steady(self, shape: Shape, cluster: Cluster) -> bool:  # noqa: ARG002
        return True


def _batches(job: Job) -> dict[tuple[Shape | None, str], list[PodRecord]]:
    found: dict[tuple[Shape | None, str], list[PodRecord]] = {}
    for member in job.members:
        found.setdefault((member.shape, member.scheduler), []).append(member)
    return found


def _offered(shape: Shape, cluster: Cluster, profile: Profile, wanted: int) -> Ints:
    offered = batch.slots(shape, cluster, profile)
    if offered is None:  # pods that mind each other: how many a node takes at most; placing them is the proof
        try:
            accepted = placement.feasible(shape, cluster, profile)
        except MalformedValue:
            return np.zeros(cluster.nodes.capacity, dtype=np.int64)
        offered = np.where(accepted, wanted, 0)
    return np.minimum(offered, _MANY)


def _is_simple(shape: Shape, cluster: Cluster, profile: Profile) -> bool:
    return batch.slots(shape, cluster, profile) is not None


def _siblings_of(gangs: Iterable[str], cluster: Cluster) -> Ints | None:
    """`[N]`: members of gangs that are placed already; None when there are none."""
    counts = np.zeros(cluster.nodes.capacity, dtype=np.int64)
    for gang_id in gangs:
        gang = cluster.gangs.get(gang_id)
        for pod in (*gang.bound.values(), *gang.assumed.values()) if gang is not None else ():
            row = cluster.nodes.row_of(pod.node)
            if row is not None:
                counts[row] += 1
    return counts if counts.any() else None


def _called(level: Level, name: str) -> str:
    return f"{level.layer}/{name}" if name else level.layer


def _no_such_layer(job: Job, cluster: Cluster, rule: GatherRule) -> Refusal:
    layers = ", ".join(level.layer for level in cluster.topology.levels)
    there = f"the layers are {layers}" if layers else "there is no ClusterNetworkTopology named default yet"
    demand: Demand = job.demands[0]
    text = f"gang {demand.gang}: MustGather names the layer {rule.layer}, and {there}"
    return Refusal(text, Change.DOMAINS, job.members[0].uid, plugins=frozenset(("Coscheduling",)))
