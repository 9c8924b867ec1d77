"""Gathering: a job goes into the deepest domain of the network that holds all of it, and there into the tightest.

For each request the slots of all nodes are summed up the tree. From the nodes upwards the first level is taken at which
some domain has enough; among its domains the one with the fewest to spare, then the one whose parent has the fewest,
and so on; then the best scored, then by name. `MustGather` says how far up the search may go, and `podCountMultiple`
rounds what a domain offers. If not even the minimum fits, the refusal says for each domain how far it got.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from koordpy.api.errors import MalformedValue
from koordpy.api.gangs import Complaint
from koordpy.api.keys import NETWORK_TOPOLOGY_SPEC
from koordpy.api.topology import GatherRule, gather_rules
from koordpy.plan.framework.answers import Gathered, Placement, Plan, Refusal
from koordpy.plan.framework.job import Job
from koordpy.plan.framework.plugins import Score
from koordpy.plan.framework.profile import Profile
from koordpy.plan.placement import batch, fit
from koordpy.plan.placement.gangs import TIGHTLY, plan_gangs
from koordpy.plan.placement.pods import place, place_nominated
from koordpy.plan.topology.attraction import attraction_of
from koordpy.plan.topology.bounds import DomainBounds
from koordpy.plan.topology.layout import Tree, by_rank
from koordpy.plan.topology.siblings import ROOM_IN_DOMAINS, Rules, called, no_such_layer, siblings_of, top_of
from koordpy.state.arrays import Bools, Ints
from koordpy.state.cluster import Cluster
from koordpy.state.gangs.gang import Gang
from koordpy.state.natural import natural
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape
from koordpy.state.trial import Trial

Profiles = Mapping[str, Profile]

_MOST_SHOWN = 8
# Domains of a level in which members that mind each other are placed for a try: it takes milliseconds each time, and
# nothing else is scheduled meanwhile. What has not fitted in so many that looked right goes into a larger one.
_MOST_TRIES = 8
_MOST_TRIES_AT_TOP = 64
_MANY = 2**20  # slots of one node; so many of so many nodes still add up


def rules_of(job: Job, cluster: Cluster) -> Rules:
    """What the gangs of a job ask of the topology, together; none for a plain job."""
    merged: dict[str, GatherRule] = {}
    own = cluster.gangs.group_of(job.members[0].gang) if not job.demands and job.members[0].gang else ()
    for gang_id in (*(demand.gang for demand in job.demands), *own):
        gang = cluster.gangs.get(gang_id)
        for rule in gather_rules(gang.spec.topology) if gang is not None and gang.spec.topology else ():
            known = merged.get(rule.layer, GatherRule(rule.layer, must=False, multiple=1))
            merged[rule.layer] = GatherRule(rule.layer, known.must or rule.must, max(known.multiple, rule.multiple))
    return tuple(merged.values())


def complaints_about(gang: Gang, cluster: Cluster) -> list[Complaint]:
    """Layers that a gang asks for in vain, without requiring them."""
    rules = gather_rules(gang.spec.topology) if gang.spec.topology else ()
    unknown = [rule.layer for rule in rules if not rule.must and cluster.topology.level_of(rule.layer) is None]
    problem = "is no layer of the ClusterNetworkTopology named default"
    return [Complaint(NETWORK_TOPOLOGY_SPEC, layer, problem) for layer in unknown]


def plan_gathered(job: Job, cluster: Cluster, profiles: Profiles, rules: Rules) -> Plan | Refusal:
    """As `plan_gangs`, with all members as close together as can be."""
    refusal = no_such_layer(job, cluster, rules)
    if refusal is not None:
        return refusal
    if not cluster.topology.levels or not len(cluster.nodes):
        return plan_gangs(job, cluster, profiles)
    everybody = Gathering(job, cluster, profiles, rules)
    answer = everybody.plan()
    if isinstance(answer, Plan):
        return answer
    needed = needed_only(job)
    if len(needed.members) < len(job.members):
        fewer = Gathering(needed, cluster, profiles, rules).plan()
        if isinstance(fewer, Plan):
            return replace(fewer, left_over=answer)
        answer = fewer
    if all(demand.mode == "NonStrict" for demand in job.demands) and not any(rule.must for rule in rules):
        return plan_gangs(job, cluster, profiles)  # it may accumulate, and what it gathers is not required
    return answer


def needed_only(job: Job) -> Job:
    """The first members of each gang, in the order of rank, as many as it needs."""
    demands = tuple(replace(d, members=tuple(by_rank(d.members)[: d.needed])) for d in job.demands)
    return Job(job.key, tuple(member for demand in demands for member in demand.members), demands)


class Gathering:
    """One job and one tree, as the state is when it is made."""

    def __init__(self, job: Job, cluster: Cluster, profiles: Profiles, rules: Rules) -> None:
        self._job, self._cluster, self._profiles = _in_rank_order(job), cluster, profiles
        self._levels = cluster.topology.levels
        known = [(cluster.topology.level_of(rule.layer), rule) for rule in rules]
        self._multiples = {level: rule.multiple for level, rule in known if level is not None and rule.multiple > 1}
        self._top = top_of(rules, cluster)
        self._musts = [level for level, rule in known if level is not None and rule.must]
        self._attraction = attraction_of(self._job.members, cluster)
        self._batches = _batches(self._job)
        self._trees = [self._tree(shape, scheduler, m) for (shape, scheduler), m in self._batches.items()]
        self._together = self._several_kinds()
        self._near = siblings_of((demand.gang for demand in job.demands), cluster)
        self._tries_left = 0
        self._left_out: dict[tuple[int, int], int] = {}  # by level and domain that was tried: members without a place

    def plan(self) -> Plan | Refusal:
        for level in self._upwards():
            self._tries_left = _MOST_TRIES_AT_TOP if level == self._top else _MOST_TRIES
            for domain in self._best_first(level)[0].tolist():
                placements = self._place_in(level, domain)
                if placements is not None:
                    where = Gathered(self._levels[level].layer, self._levels[level].paths[domain], level, domain)
                    return Plan(tuple(placements), gathered=where)
        return self.refusal()

    def rooms(self) -> Iterator[tuple[int, list[int]]]:
        """Levels and domains that could hold the job, the best first; those that are equally tight come together."""
        for level in self._upwards():
            domains, tightness = self._best_first(level)
            changes = np.flatnonzero((tightness[:, 1:] != tightness[:, :-1]).any(axis=0)) + 1
            yield from ((level, same.tolist()) for same in np.split(domains, changes) if len(same))

    def offers(self, level: int, domain: int) -> int:
        """Slots, of whatever kind."""
        return sum(int(tree.sums[level][domain]) for tree in self._trees)

    def _tree(self, shape: Shape | None, scheduler: str, members: list[PodRecord]) -> Tree:
        multiples = self._multiples if len(self._batches) == 1 else {}
        return Tree(self._levels, self._slots(shape, self._profiles[scheduler], members), multiples, self._attraction)

    def _slots(self, shape: Shape | None, profile: Profile, members: list[PodRecord]) -> Ints:
        """`[N]`: what each node offers beside the pods nominated to it."""
        cluster = self._cluster
        if shape is None:
            return np.zeros(cluster.nodes.capacity, dtype=np.int64)
        offered = _offered(shape, cluster, profile, len(members))
        if len(cluster.nominations):
            with Trial(cluster.occupancy) as with_nominated:
                if place_nominated(members[0], self._job, cluster, with_nominated):
                    offered = np.minimum(offered, _offered(shape, cluster, profile, len(members)))
        return offered

    def _several_kinds(self) -> DomainBounds | None:
        if len(self._batches) == 1:
            return None
        wanted = [(shape, len(members)) for (shape, _), members in self._batches.items()]
        return DomainBounds(self._cluster.nodes, wanted, [tree.sums[-1] for tree in self._trees])

    # --- which domain ---

    def _upwards(self) -> Iterable[int]:
        """The levels of the domains that may be gathered in, the deepest first."""
        return range(len(self._levels) - 1, self._top - 1, -1)

    def _best_first(self, level: int) -> tuple[Ints, Ints]:
        """`[C]`: the domains of a level that could hold the job, the tightest first; then as scored, then by name.

        And `[K, C]`, how tight each of them is.
        """
        domains = np.flatnonzero(self._large_enough(level))
        tightness = self._tightness(level, domains)
        names = self._cluster.topology.order(level)[domains]
        scores = self._scores(level)[domains] if len(domains) > 1 else names
        best = np.lexsort((names, -scores, *tightness[::-1]))
        return domains[best], tightness[:, best]

    def _large_enough(self, level: int) -> Bools:
        """`[D]`, as far as slots go."""
        enough = self._allowed(level)
        for tree, members in zip(self._trees, self._batches.values(), strict=True):
            enough &= tree.sums[level] >= len(members)
        return enough & self._together.may_hold(self._levels[level]) if self._together is not None else enough

    def _allowed(self, level: int) -> Bools:
        """`[D]`: the domains of a level that may be gathered in: those with siblings, if there are any."""
        each = self._levels[level]
        inside = np.zeros(len(each.names), dtype=np.bool_)
        inside[each.codes[self._gathering_nodes()]] = True
        if self._near is not None:
            inside &= each.sums(self._near) > 0
        return inside & each.real

    def _tightness(self, level: int, domains: Ints) -> Ints:
        """`[K, C]`, the most important first: siblings, attracting pods (the more, the better), and slots offered.

        The latter two here and in every domain around it.
        """
        attracting, offered, at = [], [], domains
        for each in range(level, 0, -1):
            if self._attraction is not None:
                attracting.append(-self._attraction.sums[each][at])
            offered.append(sum(tree.sums[each][at] for tree in self._trees))
            at = self._levels[each].parents[at]
        near = [-self._levels[level].sums(self._near)[domains]] if self._near is not None else []
        found = [*near, *attracting, *offered]
        return np.array(found, dtype=np.int64).reshape(len(found), len(domains))

    def _scores(self, level: int) -> Ints:
        """`[D]`: what the profiles say of the nodes that offer slots, together."""
        total = np.zeros(self._cluster.nodes.capacity, dtype=np.int64)
        for (shape, scheduler), tree in zip(self._batches, self._trees, strict=True):
            rows = np.flatnonzero(tree.sums[-1])
            if shape is not None and len(rows):
                total[rows] += fit.scores(shape, self._cluster, self._profiles[scheduler], rows)
        return self._levels[level].sums(total)

    def _gathering_nodes(self) -> Bools:
        """`[N]`: the nodes that have a domain with a name in every layer that must hold the whole job."""
        nodes = self._cluster.nodes.live.copy()
        for level in self._musts:
            nodes &= self._levels[level].real[self._levels[level].codes]
        return nodes

    # --- and how in it ---

    def _place_in(self, level: int, domain: int) -> list[Placement] | None:
        if self._together is None:
            return self._fill(level, domain) if self._only_room_counts else self._one_by_one(level, domain)
        if self._together.looks_hopeless(self._levels[level], domain):
            return None
        found = self._one_by_one(level, domain)
        if found is None and self._only_room_counts and not self._multiples:
            self._together.failed_in(self._levels[level], domain)
        return found

    @cached_property
    def _only_room_counts(self) -> bool:
        """Nobody minds who else is there: slots say all that there is to say."""
        shapes = ((shape, self._profiles[scheduler]) for shape, scheduler in self._batches)
        return all(s is not None and batch.slots(s, self._cluster, profile) is not None for s, profile in shapes)

    def _one_by_one(self, level: int, domain: int) -> list[Placement] | None:
        if not self._tries_left:
            return None
        self._tries_left -= 1
        in_order = self._order(level, domain)
        found = self._first_fit(level, domain, self._job.members, in_order) or self._anyhow(level, domain, in_order)
        if found is None and self._together is not None:
            found = self._first_fit(level, domain, self._largest_first(level, domain), TIGHTLY)
        return found

    def _fill(self, level: int, domain: int) -> list[Placement] | None:
        members = self._job.members
        rows = self._trees[0].rows(level, domain, len(members))
        if len(rows) < len(members):
            self._left_out[level, domain] = len(members) - len(rows)
            return None
        names = self._cluster.nodes.names
        found = [Placement(member.uid, names[row]) for member, row in zip(members, rows, strict=True)]
        return found if self._multiples_hold(found) else None

    def _first_fit(self, level: int, domain: int, members: Sequence[PodRecord], by: Score) -> list[Placement] | None:
        """Members of several kinds one after another, each on the best node that takes it."""
        inside = self._levels[level].nodes_of(domain)
        found: list[Placement] = []
        with Trial(self._cluster.occupancy) as trial:
            for member in members:
                profile = self._profiles[member.scheduler].only(inside, ((by, 1),))
                placed = place(member, self._job, self._cluster, profile, trial)
                if isinstance(placed, Refusal):
                    return None
                found.append(placed)
        return found if self._multiples_hold(found) else None

    def _largest_first(self, level: int, domain: int) -> list[PodRecord]:
        """Those that find the fewest slots, whatever their rank: what is small fits beside them, and not before."""
        by_slots = sorted(
            zip(self._trees, self._batches.values(), strict=True), key=lambda each: each[0].sums[level][domain]
        )
        return [member for _, members in by_slots for member in members]

    def _anyhow(self, level: int, domain: int, order: Score) -> list[Placement] | None:
        """The scarcest first, whatever their rank."""
        inside = self._levels[level].nodes_of(domain)
        profiles = {name: profile.only(inside, ((order, 1),)) for name, profile in self._profiles.items()}
        answer = plan_gangs(self._job, self._cluster, profiles)
        if isinstance(answer, Refusal):
            self._left_out[level, domain] = max(answer.fit[1] - answer.fit[0], 1)
            return None
        if len(answer.placements) < len(self._job.members):
            self._left_out[level, domain] = len(self._job.members) - len(answer.placements)
            return None
        return list(answer.placements) if self._multiples_hold(answer.placements) else None

    def _order(self, level: int, domain: int) -> _InOrder:
        rows = self._trees[0].order(level, domain)
        scores = np.zeros(self._cluster.nodes.capacity, dtype=np.int64)
        scores[rows] = np.arange(len(rows), 0, -1)
        return _InOrder(scores)

    def _multiples_hold(self, placements: list[Placement] | tuple[Placement, ...]) -> bool:
        """Also in layers above the domain: three pods on one node are three in its block."""
        nodes = self._cluster.nodes
        rows = [row for each in placements if (row := nodes.row_of(each.node)) is not None]
        for level, multiple in self._multiples.items():
            used = np.bincount(self._levels[level].codes[rows])
            if (used % multiple).any():
                return False
        return True

    # --- why not ---

    def refusal(self) -> Refusal:
        """Why no domain holds the job: how many of its members each of them would take."""
        level, wanted = self._levels[self._top], len(self._job.members)
        domains = np.flatnonzero(self._allowed(self._top)).tolist()
        unsorted = [(self._fitting(domain), level.names[domain]) for domain in domains]
        offers = sorted(unsorted, key=lambda offer: (-offer[0], natural(offer[1])))
        shown = ", ".join(f"{called(level, name)}: {fit} of {wanted}" for fit, name in offers[:_MOST_SHOWN])
        more = f" and {len(offers) - _MOST_SHOWN} more" if len(offers) > _MOST_SHOWN else ""
        best, closest = offers[0] if offers else (0, "")
        lacks = f"; {called(level, closest)} is closest and lacks {wanted - best}" if closest and best < wanted else ""
        multiples = ", ".join(f"{self._levels[each].layer}={m}" for each, m in sorted(self._multiples.items()))
        ending = f" (podCountMultiple {multiples})" if multiples else ""
        nodes = len(self._cluster.nodes)
        text = f"0/{nodes} nodes are available: no domain holds the whole job: {shown}{more}{lacks}{ending}."
        gangs = ", ".join(demand.gang for demand in self._job.demands)
        return Refusal(
            f"{text} gang {gangs}: {best} of {wanted} members fit.",
            ROOM_IN_DOMAINS,
            self._job.members[0].uid,
            plugins=frozenset(("Coscheduling",)),
            fit=(best, wanted),
        )

    def _fitting(self, domain: int) -> int:
        """Members that a domain of the top level would take: as counted, or fewer if placing them has shown it."""
        sums = (int(tree.sums[self._top][domain]) for tree in self._trees)
        counted = sum(min(slots, len(each)) for slots, each in zip(sums, self._batches.values(), strict=True))
        return min(counted, len(self._job.members) - self._left_out.get((self._top, domain), 1))


class _InOrder(Score):
    """A score that fills nodes in a given order; the first that takes a pod is the best, however full it is."""

    name = "TreeOrder"

    def __init__(self, scores: Ints) -> None:
        self._scores = scores  # [N]

    def score(self, shape: Shape, cluster: Cluster, candidates: Ints) -> Ints:  # noqa: ARG002
        return self._scores[candidates]

    def steady(self, shape: Shape, cluster: Cluster) -> bool:  # noqa: ARG002
        return True


def _in_rank_order(job: Job) -> Job:
    """Whatever order its members came in, the same job gets the same plan."""
    demands = tuple(replace(demand, members=tuple(by_rank(demand.members))) for demand in job.demands)
    return Job(job.key, tuple(by_rank(job.members)), demands)


def _batches(job: Job) -> dict[tuple[Shape | None, str], list[PodRecord]]:
    found: dict[tuple[Shape | None, str], list[PodRecord]] = {}
    for member in job.members:
        found.setdefault((member.shape, member.scheduler), []).append(member)
    return found


def _offered(shape: Shape, cluster: Cluster, profile: Profile, wanted: int) -> Ints:
    offered = batch.slots(shape, cluster, profile)
    if offered is None:  # pods that mind each other: how many a node takes at most; placing them is the proof
        try:
            accepted = fit.feasible(shape, cluster, profile)
        except MalformedValue:
            return np.zeros(cluster.nodes.capacity, dtype=np.int64)
        offered = np.where(accepted, wanted, 0)
    return np.minimum(offered, _MANY)
