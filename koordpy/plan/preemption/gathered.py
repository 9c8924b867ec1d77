"""Victims for a job that is to be gathered: in the deepest domain, the tightest of its level, and nowhere else.

Domains are asked as for a plan (`topology/gather.py`), with everybody of lower priority gone in a trial. In the first
that holds the job, victims are sought as anywhere (`search.py`); of domains that are equally tight, the one is taken
whose victims cost least. The members are nominated in the order in which they would be laid out there.
"""

from __future__ import annotations

from dataclasses import replace

from koordpy.plan.framework.answers import Plan, Refusal
from koordpy.plan.framework.budget import Budget
from koordpy.plan.framework.job import Job
from koordpy.plan.placement.absence import take_off
from koordpy.plan.placement.gangs import Profiles
from koordpy.plan.preemption.futile import why_not
from koordpy.plan.preemption.removal import take_off_all
from koordpy.plan.preemption.search import Preemption, fewest, is_whole, search
from koordpy.plan.topology.gather import Gathering, needed_only
from koordpy.plan.topology.siblings import Rules, nearest_first
from koordpy.state.cluster import Cluster
from koordpy.state.pods import PodRecord
from koordpy.state.trial import Trial

# Domains whose victims are compared: in a cluster of equal blocks, all full, there are as many as blocks.
_MOST_COMPARED = 32
_DRY_RUNS = 4000  # for all domains together


def search_gathered(job: Job, cluster: Cluster, profiles: Profiles, rules: Rules) -> Preemption | str:
    """For gangs; the members beyond the minimum are not nominated."""
    return _Search(needed_only(job), cluster, profiles, rules).run()


def search_beside(job: Job, cluster: Cluster, profiles: Profiles, rules: Rules) -> Preemption | str:
    """For a later member of a gang that runs: victims as near to its siblings as there are any."""
    found: Preemption | str = ""
    for within in nearest_first(job, cluster, rules):
        found = search(job, cluster, {name: profile.only(within) for name, profile in profiles.items()})
        if isinstance(found, Preemption):
            break
    return found


class _Search:
    """One job that is to be gathered."""

    def __init__(self, job: Job, cluster: Cluster, profiles: Profiles, rules: Rules) -> None:
        self._job, self._cluster, self._profiles, self._rules = job, cluster, profiles, rules
        self._reach = cluster.evictions.reach(job.preemptor).of_gangs(job.gangs)
        self._budget = Budget(_DRY_RUNS)

    def run(self) -> Preemption | str:
        if not self._reach:
            return why_not(self._job, self._cluster, self._profiles)
        now = Gathering(self._job, self._cluster, self._profiles, self._rules)
        with Trial(self._cluster.occupancy) as trial:
            take_off_all(self._reach, self._cluster, trial)
            without = Gathering(self._job, self._cluster, self._profiles, self._rules)
            rooms = list(without.rooms())
        for level, domains in rooms:
            # Where most is free already, fewest have to leave: if not all can be compared, these are.
            domains.sort(key=lambda domain: -now.offers(level, domain))
            asked = (self._in_domain(level, domain) for domain in domains[:_MOST_COMPARED])
            found = [each for each in asked if each is not None]
            if found:
                return min(found, key=lambda each: each.cost)
        return why_not(self._job, self._cluster, self._profiles, None if rooms else without.refusal())

    def _in_domain(self, level: int, domain: int) -> Preemption | None:
        inside = self._cluster.topology.levels[level].nodes_of(domain)
        there = {name: profile.only(inside) for name, profile in self._profiles.items()}
        found = search(self._job, self._cluster, there, self._budget)
        if isinstance(found, Preemption):
            layout = self._layout(there, found.victims)
            if is_whole(layout):
                return replace(found, nominations=layout.placements)
        return self._cleared_for_layout(there)

    def _layout(self, profiles: Profiles, gone: tuple[PodRecord, ...]) -> Plan | Refusal:
        """As it would be with these pods gone."""
        with Trial(self._cluster.occupancy) as trial:
            take_off(gone, self._cluster, trial)
            return Gathering(self._job, self._cluster, profiles, self._rules).plan()

    def _cleared_for_layout(self, profiles: Profiles) -> Preemption | None:
        """Where members have to come in multiples, the cheapest slots need not do: the layout decides who leaves."""
        with Trial(self._cluster.occupancy) as trial:
            take_off_all(self._reach, self._cluster, trial)
            layout = Gathering(self._job, self._cluster, profiles, self._rules).plan()
        if not is_whole(layout):
            return None
        return fewest(
            list(layout.placements), self._job, self._cluster, profiles, reach=self._reach, budget=self._budget
        )
