"""Gathering: a job goes into the deepest domain of the network that holds all of it, and there into the tightest.

For each shape the slots of all nodes are summed up the tree. The search goes from the nodes upwards and stops at the
first level at which some domain has enough slots. Among the domains of that level it takes the tightest: the one with
the fewest slots, then the one whose parent has the fewest, and so on; then the best scored, then the first by name.
`MustGather` limits how far up the search goes, and `podCountMultiple` rounds the slots of a domain. If not even the
minimum fits, the refusal says for each domain how many members fit there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from koordpy.api.errors import MalformedValue
from koordpy.api.gangs import Complaint
from koordpy.api.keys import NETWORK_TOPOLOGY_SPEC
from koordpy.api.podgroup.frontends import name_of
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
from koordpy.plan.topology.treeorder import TreeOrder
from koordpy.state.arrays import Bools, Ints
from koordpy.state.cluster import Cluster
from koordpy.state.gangs.gang import Gang
from koordpy.state.natural import natural
from koordpy.state.pods import PodRecord
from koordpy.state.shapes import Shape
from koordpy.state.topology import Level
from koordpy.state.trial import Trial

Profiles = Mapping[str, Profile]

_MOST_SHOWN = 8
# Domains of a level in which members that mind each other are placed in a trial: each takes milliseconds, and nothing
# else is scheduled meanwhile. A job that fits in none of so many domains with enough slots goes into a larger one.
_MOST_TRIES = 8
_MOST_TRIES_AT_TOP = 64
_MOST_SLOTS = 2**20  # of one node; the sum over all nodes stays within 64 bits


class _Offer(NamedTuple):
    """A domain, and how many members fit in it."""

    fit: int
    name: str
    domain: int
    is_labelled: bool  # False for a node that is a domain of its own because it lacks the label of the lowest layer


def rules_of(job: Job, cluster: Cluster) -> Rules:
    """The gather rules of all gangs of a job, merged per layer; empty for a job without any."""
    merged: dict[str, GatherRule] = {}
    own = cluster.gangs.group_of(job.members[0].gang) if not job.demands and job.members[0].gang else ()
    for gang_id in (*(demand.gang for demand in job.demands), *own):
        gang = cluster.gangs.get(gang_id)
        for rule in gather_rules(gang.spec.topology) if gang is not None and gang.spec.topology else ():
            name = rule.layer.lower()
            known = merged.get(name, GatherRule(rule.layer, must=False, multiple=1))
            must, multiple = known.must or rule.must, max(known.multiple, rule.multiple)
            merged[name] = GatherRule(known.layer, must, multiple, known.unknown or rule.unknown)
    return tuple(merged.values())


def complaints_about(gang: Gang, cluster: Cluster) -> list[Complaint]:
    """Layers that a gang prefers and that the topology does not have."""
    rules = gather_rules(gang.spec.topology) if gang.spec.topology else ()
    preferred = (rule.layer for rule in rules if not rule.must and not rule.unknown)  # for a misspelt wish it waits
    unknown = [layer for layer in preferred if cluster.topology.level_of(layer) is None]
    problem = "is no layer of the ClusterNetworkTopology named default"
    return [Complaint(NETWORK_TOPOLOGY_SPEC, layer, problem) for layer in unknown]


def plan_gathered(job: Job, cluster: Cluster, profiles: Profiles, rules: Rules) -> Plan | Refusal:
    """As `plan_gangs`, with all members in the deepest domain that holds them."""
    refusal = no_such_layer(job, cluster, rules)
    if refusal is not None:
        return refusal
    if not cluster.topology.levels or not len(cluster.nodes):
        return plan_gangs(job, cluster, profiles)
    whole_job = Gathering(job, cluster, profiles, rules)
    answer = whole_job.plan()
    if isinstance(answer, Plan):
        return answer
    needed = needed_only(job)
    if len(needed.members) < len(job.members):
        if needed.members:
            fewer = Gathering(needed, cluster, profiles, rules).plan()
        else:
            fewer = _some_surplus(job, cluster, profiles, rules, answer)
        if isinstance(fewer, Plan):
            return replace(fewer, left_over=answer)
        answer = fewer
    if all(demand.mode == "NonStrict" for demand in job.demands) and not any(rule.must for rule in rules):
        return plan_gangs(job, cluster, profiles)  # it may wait at Permit for the rest, and no layer must hold it
    return answer


def needed_only(job: Job) -> Job:
    """The first members of each gang, in the order of rank, as many as it needs."""
    demands = tuple(replace(d, members=tuple(by_rank(d.members)[: d.needed])) for d in job.demands)
    return Job(job.key, tuple(member for demand in demands for member in demand.members), demands)


def _some_surplus(job: Job, cluster: Cluster, profiles: Profiles, rules: Rules, refusal: Refusal) -> Plan | Refusal:
    """Nobody is needed, and not all fit: as many as do, the first by rank."""
    ranked = by_rank(job.members)
    found: Plan | Refusal = refusal
    few, many = 1, len(ranked) - 1
    while few <= many:
        count = (few + many) // 2
        chosen = {member.uid for member in ranked[:count]}
        demands = tuple(replace(d, members=tuple(m for m in d.members if m.uid in chosen)) for d in job.demands)
        answer = Gathering(Job(job.key, tuple(ranked[:count]), demands), cluster, profiles, rules).plan()
        if isinstance(answer, Plan):
            found, few = answer, count + 1
        else:
            many = count - 1
    return found


class Gathering:
    """The search for one job, on the state at the time of construction."""

    def __init__(self, job: Job, cluster: Cluster, profiles: Profiles, rules: Rules) -> None:
        self._job, self._cluster, self._profiles = _in_rank_order(job), cluster, profiles
        self._levels = cluster.topology.levels
        known = [(cluster.topology.level_of(rule.layer), rule) for rule in rules]
        self._multiples = {level: rule.multiple for level, rule in known if level is not None and rule.multiple > 1}
        self._top = top_of(rules, cluster)
        self._required_levels = [level for level, rule in known if level is not None and rule.must]
        self._attraction = attraction_of(self._job.members, cluster)
        self._batches = _batches(self._job)
        self._trees = [self._tree(shape, scheduler, m) for (shape, scheduler), m in self._batches.items()]
        self._bounds = self._domain_bounds()
        self._siblings = siblings_of((demand.gang for demand in job.demands), cluster)
        self._tries_left = 0
        self._unplaced: dict[tuple[int, int], int] = {}  # by level and domain that was tried: members that did not fit

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
        """Levels and their domains with enough slots for the job, the best first; equally tight domains in one list."""
        for level in self._upwards():
            domains, tightness = self._best_first(level)
            changes = np.flatnonzero((tightness[:, 1:] != tightness[:, :-1]).any(axis=0)) + 1
            yield from ((level, same.tolist()) for same in np.split(domains, changes) if len(same))

    def offers(self, level: int, domain: int) -> int:
        """The slots of a domain, summed over all shapes."""
        return sum(int(tree.sums[level][domain]) for tree in self._trees)

    def _tree(self, shape: Shape | None, scheduler: str, members: list[PodRecord]) -> Tree:
        multiples = self._multiples if len(self._batches) == 1 else {}
        return Tree(self._levels, self._slots(shape, self._profiles[scheduler], members), multiples, self._attraction)

    def _slots(self, shape: Shape | None, profile: Profile, members: list[PodRecord]) -> Ints:
        """`[N]`: the slots of each node beside the pods nominated to it."""
        cluster = self._cluster
        if shape is None:
            return np.zeros(cluster.nodes.capacity, dtype=np.int64)
        offered = _offered(shape, cluster, profile, len(members))
        if len(cluster.nominations):
            with Trial(cluster.occupancy) as with_nominated:
                if place_nominated(members[0], self._job, cluster, with_nominated):
                    offered = np.minimum(offered, _offered(shape, cluster, profile, len(members)))
        return offered

    def _domain_bounds(self) -> DomainBounds | None:
        if len(self._batches) == 1:
            return None
        wanted = [(shape, len(members)) for (shape, _), members in self._batches.items()]
        return DomainBounds(self._cluster.nodes, wanted, [tree.sums[-1] for tree in self._trees])

    # --- choosing the domain ---

    def _upwards(self) -> Iterable[int]:
        """The levels at which the job may be gathered, the deepest first."""
        return range(len(self._levels) - 1, self._top - 1, -1)

    def _best_first(self, level: int) -> tuple[Ints, Ints]:
        """`[C]`: the domains of a level that have enough slots, the tightest first; then by score, then by name.

        And `[S, C]`, their tightness.
        """
        domains = np.flatnonzero(self._large_enough(level))
        tightness = self._tightness(level, domains)
        names = self._cluster.topology.order(level)[domains]
        scores = self._scores(level)[domains] if len(domains) > 1 else names
        best = np.lexsort((names, -scores, *tightness[::-1]))
        return domains[best], tightness[:, best]

    def _large_enough(self, level: int) -> Bools:
        """`[D]`: the domains that may be gathered in and have enough slots for each shape."""
        enough = self._allowed(level)
        for tree, members in zip(self._trees, self._batches.values(), strict=True):
            enough &= tree.sums[level] >= len(members)
        return enough & self._bounds.may_hold(self._levels[level]) if self._bounds is not None else enough

    def _allowed(self, level: int) -> Bools:
        """`[D]`: the domains of a level that may be gathered in; if the job has siblings, only those with siblings."""
        each = self._levels[level]
        inside = np.zeros(len(each.names), dtype=np.bool_)
        inside[each.codes[self._nodes_in_required_domains()]] = True
        if self._siblings is not None:
            inside &= each.sums(self._siblings) > 0
        return inside & each.real

    def _tightness(self, level: int, domains: Ints) -> Ints:
        """`[S, C]`: sort keys, `S` for each of the domains `[C]`, the most important first, the smallest best.

        The keys are siblings (negated), attracting pods (negated) and slots; the latter two of the domain and then of
        each of its ancestors.
        """
        attracting, offered, at = [], [], domains
        for each in range(level, 0, -1):
            if self._attraction is not None:
                attracting.append(-self._attraction.sums[each][at])
            offered.append(sum(tree.sums[each][at] for tree in self._trees))
            at = self._levels[each].parents[at]
        siblings = [-self._levels[level].sums(self._siblings)[domains]] if self._siblings is not None else []
        found = [*siblings, *attracting, *offered]
        return np.array(found, dtype=np.int64).reshape(len(found), len(domains))

    def _scores(self, level: int) -> Ints:
        """`[D]`: the scores of the nodes that have slots, summed over nodes and shapes."""
        total = np.zeros(self._cluster.nodes.capacity, dtype=np.int64)
        for (shape, scheduler), tree in zip(self._batches, self._trees, strict=True):
            rows = np.flatnonzero(tree.sums[-1])
            if shape is not None and len(rows):
                total[rows] += fit.scores(shape, self._cluster, self._profiles[scheduler], rows)
        return self._levels[level].sums(total)

    def _nodes_in_required_domains(self) -> Bools:
        """`[N]`: the nodes that lie in a named domain of every layer that must hold the whole job."""
        nodes = self._cluster.nodes.live.copy()
        for level in self._required_levels:
            nodes &= self._levels[level].real[self._levels[level].codes]
        return nodes

    # --- placing members inside it ---

    def _place_in(self, level: int, domain: int) -> list[Placement] | None:
        if self._bounds is None:
            return self._fill(level, domain) if self._slots_decide else self._try_one_by_one(level, domain)
        if self._bounds.equals_failed(self._levels[level], domain):
            return None
        found = self._try_one_by_one(level, domain)
        if found is None and self._slots_decide and not self._multiples:
            self._bounds.record_failure(self._levels[level], domain)
        return found

    @cached_property
    def _slots_decide(self) -> bool:
        """Whether enough slots are enough: no member minds another."""
        shapes = ((shape, self._profiles[scheduler]) for shape, scheduler in self._batches)
        return all(s is not None and batch.slots(s, self._cluster, profile) is not None for s, profile in shapes)

    def _try_one_by_one(self, level: int, domain: int) -> list[Placement] | None:
        if not self._tries_left:
            return None
        self._tries_left -= 1
        order = self._tree_order(level, domain)
        found = self._first_fit(level, domain, self._job.members, order) or self._scarcest_first(level, domain, order)
        if found is None and self._bounds is not None:
            found = self._first_fit(level, domain, self._largest_first(level, domain), TIGHTLY)
        return found

    def _fill(self, level: int, domain: int) -> list[Placement] | None:
        members = self._job.members
        rows = self._trees[0].rows(level, domain, len(members))
        if len(rows) < len(members):
            self._unplaced[level, domain] = len(members) - len(rows)
            return None
        names = self._cluster.nodes.names
        found = [Placement(member.uid, names[row]) for member, row in zip(members, rows, strict=True)]
        return found if self._multiples_hold(found) else None

    def _first_fit(self, level: int, domain: int, members: Sequence[PodRecord], by: Score) -> list[Placement] | None:
        """Place members one after another, each on the feasible node that scores best."""
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
        """Members whose shape has the fewest slots first, whatever their rank: small ones fit beside large ones."""
        by_slots = sorted(
            zip(self._trees, self._batches.values(), strict=True), key=lambda each: each[0].sums[level][domain]
        )
        return [member for _, members in by_slots for member in members]

    def _scarcest_first(self, level: int, domain: int, order: Score) -> list[Placement] | None:
        """Let `plan_gangs` place the members, whatever their rank: it places shapes with the fewest slots first."""
        inside = self._levels[level].nodes_of(domain)
        profiles = {name: profile.only(inside, ((order, 1),)) for name, profile in self._profiles.items()}
        answer = plan_gangs(self._job, self._cluster, profiles)
        if isinstance(answer, Refusal):
            self._unplaced[level, domain] = max(answer.fit[1] - answer.fit[0], 1)
            return None
        if len(answer.placements) < len(self._job.members):
            self._unplaced[level, domain] = len(self._job.members) - len(answer.placements)
            return None
        return list(answer.placements) if self._multiples_hold(answer.placements) else None

    def _tree_order(self, level: int, domain: int) -> TreeOrder:
        """Scores that follow the tree of the first shape."""
        rows = self._trees[0].order(level, domain)
        scores = np.zeros(self._cluster.nodes.capacity, dtype=np.int64)
        scores[rows] = np.arange(len(rows), 0, -1)
        return TreeOrder(scores)

    def _multiples_hold(self, placements: list[Placement] | tuple[Placement, ...]) -> bool:
        """Whether multiples hold in all layers, also above the domain: three pods on a node are three in its block."""
        nodes = self._cluster.nodes
        rows = [row for each in placements if (row := nodes.row_of(each.node)) is not None]
        for level, multiple in self._multiples.items():
            used = np.bincount(self._levels[level].codes[rows])
            if (used % multiple).any():
                return False
        return True

    # --- refusing ---

    def refusal(self) -> Refusal:
        """Why no domain holds the job, with the number of members that fit in each."""
        level, wanted = self._levels[self._top], len(self._job.members)
        offers = self._offers()
        labelled = [offer for offer in offers if offer.is_labelled]
        told = [f"{called(level, offer.name)}: {offer.fit} of {wanted}" for offer in labelled[:_MOST_SHOWN]]
        if bare := [offer for offer in offers if not offer.is_labelled]:
            nodes_are = f"{len(bare)} node{'s' * (len(bare) > 1)} without a label of {level.layer}"
            told.append(f"{nodes_are}: at most {bare[0].fit} of {wanted} on one")
        shown = ", ".join(told)
        more = f" and {len(labelled) - _MOST_SHOWN} more" if len(labelled) > _MOST_SHOWN else ""
        best = offers[0].fit if offers else 0
        counts = self._reasons_in(offers[0].domain) if offers else ()
        reasons = ": " + ", ".join(sorted(f"{count} {text}" for text, count in counts)) if counts else ""
        closest = called(level, offers[0].name) if offers and offers[0].is_labelled and offers[0].name else ""
        lacks = f"; {closest} is closest and lacks {wanted - best}" if closest and best < wanted else ""
        shown = shown or self._why_no_domain(level)
        multiples = ", ".join(f"{self._levels[each].layer}={m}" for each, m in sorted(self._multiples.items()))
        ending = f" (podCountMultiple {multiples})" if multiples else ""
        nodes = len(self._cluster.nodes)
        text = f"0/{nodes} nodes are available: no domain holds the whole job: {shown}{more}{lacks}{reasons}{ending}."
        gangs = ", ".join(dict.fromkeys(name_of(demand.gang) for demand in self._job.demands))
        return Refusal(
            f"{text} gang {gangs}: {best} of {wanted} members fit.",
            ROOM_IN_DOMAINS,
            self._job.members[0].uid,
            counts=counts,
            plugins=frozenset(("Coscheduling",)),
            fit=(best, wanted),
            kind="Topology",
        )

    def _offers(self) -> list[_Offer]:
        """The domains that the job may be gathered in, the one that holds most members first."""
        level, nodes, layers = self._levels[self._top], self._cluster.nodes, self._cluster.topology.layers
        # Neither the cluster nor the nodes have a label of their own: only between them can one be missing.
        keys = layers[self._top - 1].label_key if 0 < self._top < len(layers) else ()
        some_node = dict(zip(*(each.tolist() for each in np.unique(level.codes, return_index=True)), strict=True))
        found = []
        for domain in np.flatnonzero(self._allowed(self._top)).tolist():
            labels = nodes.labels.of(some_node[domain])
            is_labelled = not keys or any(labels.get(key) for key in keys)
            found.append(_Offer(self._fitting(domain), level.names[domain], domain, is_labelled))
        return sorted(found, key=lambda offer: (-offer.fit, not offer.is_labelled, natural(offer.name)))

    def _reasons_in(self, domain: int) -> tuple[tuple[str, int], ...]:
        """Why the nodes of a domain refuse the next member, beside those that fit there."""
        inside = self._levels[self._top].nodes_of(domain)
        answer = plan_gangs(
            self._job, self._cluster, {name: profile.only(inside) for name, profile in self._profiles.items()}
        )
        refusal = answer if isinstance(answer, Refusal) else answer.missing
        return refusal.counts if refusal is not None else ()

    def _why_no_domain(self, level: Level) -> str:
        """An empty list of domains needs a reason, too."""
        if self._siblings is not None:
            return f"its members that run are in no domain of {level.layer} that its nodes are in any more"
        return f"no node carries a label of {level.layer}"

    def _fitting(self, domain: int) -> int:
        """Members that fit in a domain of the top level: by slots, or fewer if a trial has shown it."""
        sums = (int(tree.sums[self._top][domain]) for tree in self._trees)
        counted = sum(min(slots, len(each)) for slots, each in zip(sums, self._batches.values(), strict=True))
        return min(counted, len(self._job.members) - self._unplaced.get((self._top, domain), 1))


def _in_rank_order(job: Job) -> Job:
    """The job with its members by rank: the same job gets the same plan, in whatever order its pods were created."""
    demands = tuple(replace(demand, members=tuple(by_rank(demand.members))) for demand in job.demands)
    return Job(job.key, tuple(by_rank(job.members)), demands)


def _batches(job: Job) -> dict[tuple[Shape | None, str], list[PodRecord]]:
    found: dict[tuple[Shape | None, str], list[PodRecord]] = {}
    for member in job.members:
        found.setdefault((member.shape, member.scheduler), []).append(member)
    return found


def _offered(shape: Shape, cluster: Cluster, profile: Profile, wanted: int) -> Ints:
    """`[N]`: the slots of each node; where members mind each other, an upper bound."""
    offered = batch.slots(shape, cluster, profile)
    if offered is None:  # only a trial proves that they fit
        try:
            accepted = fit.feasible(shape, cluster, profile)
        except MalformedValue:
            return np.zeros(cluster.nodes.capacity, dtype=np.int64)
        offered = np.where(accepted, wanted, 0)
    return np.minimum(offered, _MOST_SLOTS)
