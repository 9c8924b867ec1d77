"""Stranded gangs: what is left of a gang that lost members is evicted when it has waited for them long enough.

A node died, the members that were made again do not fit, and the others hold their nodes for nothing. Where the gang's
object or the configuration allows a time for that, they are evicted after it, so that their controller can bring the
gang back as a whole. Whether a gang lacks members is counted by the state; nothing is polled. The time begins anew with
a restart of the scheduler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import structlog

from koordpy import metrics
from koordpy.plan.framework.job import Job
from koordpy.plan.placement.gang_rules import demands_of_gang
from koordpy.plan.preemption.search import is_whole
from koordpy.scheduler.execute.evict import Evictor
from koordpy.scheduler.planning import Planning
from koordpy.scheduler.report.reporter import Reporter
from koordpy.state.gangs.gang import Gang
from koordpy.state.gangs.groups import GangGroup

log = structlog.get_logger()


class Staleness:
    """Which gangs lack members, and since when."""

    def __init__(self, planning: Planning, evictor: Evictor, reporter: Reporter, clock: Callable[[], float]) -> None:
        self._planning, self._cluster = planning, planning.cluster
        self._evictor, self._reporter, self._clock = evictor, reporter, clock
        self._since: dict[str, float] = {}  # by gang

    def look_at(self, groups: Iterable[GangGroup]) -> None:
        """Something happened to groups of gangs."""
        for gang_id in {gang_id for group in groups for gang_id in group}:
            gang = self._cluster.gangs.get(gang_id)
            if gang is not None and gang.spec.staleness_s and gang.lacks_members:
                self._since.setdefault(gang_id, self._clock())
            else:
                self._since.pop(gang_id, None)

    def clear(self) -> None:
        """Another term of leadership."""
        self._since.clear()

    def seconds_to_next(self) -> float | None:
        """Until the time of some gang is up; None when none lacks members."""
        first = min((due for _, due in self._due()), default=None)
        return max(0.0, first - self._clock()) if first is not None else None

    def act(self) -> None:
        """Evict what is left of the gangs whose time is up; those that could be completed now are left alone.

        What has changed in this very moment may not have been looked at yet.
        """
        now = self._clock()
        for gang in [gang for gang, due in self._due() if due <= now]:
            self._since[gang.id] = now  # whatever cannot be evicted is tried again after the same time
            if gang.lacks_members and not self._could_be_completed(gang):
                self._evict(gang)

    def _due(self) -> Iterable[tuple[Gang, float]]:
        for gang_id, since in self._since.items():
            gang = self._cluster.gangs.get(gang_id)
            if gang is not None:
                yield gang, since + gang.spec.staleness_s

    def _could_be_completed(self, gang: Gang) -> bool:
        """Its missing members are there and would fit: they are about to be tried."""
        if not gang.pending:
            return False
        there = len(gang.bound) + len(gang.assumed) + len(gang.succeeded)
        demands = tuple(demands_of_gang(gang))
        if gang.spec.subgroups is None:  # whatever the match policy says about those who run
            demands = (replace(demands[0], counted=there, mode="Strict"),)
        if any(len(demand.members) < demand.needed for demand in demands):
            return False  # some were not made again: planning takes for granted that they are there
        members = tuple(member for demand in demands for member in demand.members)
        return is_whole(self._planning.plan(Job(gang.id, members, demands)))

    def _evict(self, gang: Gang) -> None:
        """All that starts with it: a group of which one gang runs on would take the others back one by one."""
        gangs = self._cluster.gangs.own(self._cluster.gangs.group_of(gang.id))
        victims = [pod for each in gangs for pod in each.bound.values()]
        problem = f"gang {gang.name} has had {len(gang.bound)} of {gang.minimum} members for {gang.spec.staleness_s:g}s"
        problem += " and cannot be completed"
        protected = next((pod.key for pod in victims if not self._cluster.evictions.may_be_evicted(pod)), "")
        if protected:
            text = f"{problem}; it is left alone, as {protected} is protected from eviction"
            self._reporter.gang_event(gang, "Warning", "GangStale", text)
            return
        text = f"{problem}: all that runs of its job is evicted, so that it can start again as a whole"
        log.info("gang_stale", gang=gang.name, members=len(victims), minimum=gang.minimum)
        metrics.STALE_GANGS.inc()
        for each in gangs:
            self._reporter.gang_event(each, "Warning", "GangStale", text)
        self._evictor.evict_stale(victims, text)
