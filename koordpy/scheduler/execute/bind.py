"""Binding what was permitted: volumes first, then all pods of the job, each through the `binding` subresource.

Whatever happens to a bind, the watch decides in the end what is true; here we make sure that nothing stays assumed for
a bind that did not happen, and that nothing is bound of a job whose volumes could not be.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import structlog

from koordpy import metrics
from koordpy.api.keys import SCHEDULER_ERROR
from koordpy.api.podgroup.frontends import name_of
from koordpy.kube.client import Client, NotLeading
from koordpy.kube.errors import ApiError
from koordpy.kube.writes import BindOutcome, bind
from koordpy.plan.framework.answers import Placement, Refusal
from koordpy.plan.placement.gang_rules import is_satisfied
from koordpy.scheduler.execute.inflight import InFlight
from koordpy.scheduler.execute.lanes import Lanes
from koordpy.scheduler.execute.volumes import VolumeBinder, VolumesNotBound
from koordpy.scheduler.jobs import Jobs
from koordpy.scheduler.queue.ticket import Ticket
from koordpy.scheduler.report.reporter import Reporter, ref
from koordpy.state.cluster import Cluster
from koordpy.state.events import EventKind
from koordpy.state.gangs.groups import GangGroup
from koordpy.state.pods import PodRecord

log = structlog.get_logger()


@dataclass(slots=True, eq=False)
class _Release:
    """The pods of one job whose binds are in flight."""

    ticket: Ticket
    placements: Sequence[Placement]
    volumes_left: int
    binds_left: int
    of_gangs: bool
    given_up: bool = False
    nodes: dict[str, list[str]] = field(default_factory=dict)  # gang -> nodes of those that were bound
    followers: list[_Release] = field(default_factory=list)  # surplus of its gangs, which starts after them


class Binder:
    """Carries out what was decided; one job's binds run concurrently."""

    def __init__(
        self,
        client: Client,
        cluster: Cluster,
        jobs: Jobs,
        *,
        reporter: Reporter,
        volumes: VolumeBinder,
        lanes: Lanes,
        in_flight: InFlight,
        annotations: Callable[[str], Mapping[str, str]],
    ) -> None:
        self._client, self._cluster, self._jobs = client, cluster, jobs
        self._annotations = annotations  # that the pod of a UID gets with its bind
        self._reporter, self._volumes, self._lanes, self._in_flight = reporter, volumes, lanes, in_flight
        self._waiting: list[_Release] = []  # for their volumes, oldest first

    def start_over(self) -> None:
        """Another term of leadership: nothing that was released before waits any more."""
        self._waiting.clear()

    def release(self, placements: Sequence[Placement], ticket: Ticket, *, of_gangs: bool) -> None:
        """All of these may be bound; or, if this raises, none of them is."""
        with_volumes = [placement for placement in placements if any(placement.volumes)]
        release = _Release(ticket, placements, len(with_volumes), len(placements), of_gangs)
        self._in_flight.add((placement.uid, placement.node) for placement in placements)
        try:
            if with_volumes:
                self._waiting.append(release)
            for placement in with_volumes:
                self._lanes.volume_binds.put(partial(self._bind_volumes, release, placement))
            if not with_volumes and not self._follows(release):
                self._bind_all(release)
        except BaseException:
            release.given_up = True
            self._waits_no_more(release)
            for placement in placements:
                self._in_flight.end(placement.uid)
            raise

    # --- volumes ---

    async def _bind_volumes(self, release: _Release, placement: Placement) -> None:
        """Volumes first: a pod bound before its volumes would be stuck on its node, and its gang half-started."""
        if release.given_up:
            return
        try:
            await self._volumes.bind(placement.volumes, placement.node)
            if self._cluster.nodes.row_of(placement.node) is None:
                raise VolumesNotBound(f"node {placement.node} is gone")  # noqa: TRY301
            release.volumes_left -= 1
            if not release.volumes_left and not release.given_up and not self._follows(release):
                self._go_on(release)
        except (VolumesNotBound, ApiError) as error:
            self._give_up(release, error)
        except Exception as error:
            log.exception("call_failed", hint="please report this; the job is tried again")
            self._give_up(release, error)

    def _follows(self, release: _Release) -> bool:
        """Members that are not free, of gangs that wait for volumes since before: if those go back, these do too."""
        groups = self._tied_groups(release) if self._waiting else set()
        for first in self._waiting:
            if first is release:
                break
            if not groups.isdisjoint(self._tied_groups(first)):
                first.followers.append(release)
                return True
        return False

    def _tied_groups(self, release: _Release) -> set[GangGroup]:
        gangs = self._cluster.gangs
        records = (self._cluster.pods.get(placement.uid) for placement in release.placements)
        return {gangs.group_of(each.gang) for each in records if each is not None and not gangs.is_free(each)}

    def _go_on(self, release: _Release) -> None:
        """All volumes are there, and so are those of the gangs that it follows, or these have gone back."""
        if gangs := self._broken_gangs(release):
            self._give_up(release, VolumesNotBound(f"{gangs} lost members while volumes were being bound"))
            return
        self._bind_all(release)
        self._waits_no_more(release)

    def _waits_no_more(self, release: _Release) -> None:
        """It is bound, or has gone back: those that follow it are asked about."""
        if release in self._waiting:
            self._waiting.remove(release)
        followers, release.followers = release.followers, []
        for each in followers:
            if not each.volumes_left and not each.given_up and not self._follows(each):
                self._go_on(each)

    def _broken_gangs(self, release: _Release) -> str:
        """The wait was long, and Permit is asked again: gangs that may not start any more, as messages name them.

        Members may have been deleted, or be terminating. A surplus pod may be all that is left of a gang that had
        started when it was released: it waits for the others again.
        """
        records = (self._cluster.pods.get(placement.uid) for placement in release.placements)
        of_gangs = {record.gang: record for record in records if record is not None and record.gang}
        broken = [gang for gang, record in of_gangs.items() if not is_satisfied(record, self._cluster)]
        return ", ".join(f"gang {name_of(gang)}" for gang in sorted(broken))

    def _give_up(self, release: _Release, problem: Exception) -> None:
        """Nothing of the job is bound yet, so all of it goes back."""
        if release.given_up:
            return
        release.given_up = True
        for placement in release.placements:
            record = self._cluster.pods.get(placement.uid)
            if record is not None:
                self._bind_failed(record, release.ticket, problem)
        self._waits_no_more(release)

    # --- pods ---

    def _bind_all(self, release: _Release) -> None:
        for placement in release.placements:
            record = self._cluster.pods.get(placement.uid)
            if record is None or record.node != placement.node:  # gone, terminating, or bound by somebody else
                release.binds_left -= 1
            else:
                self._lanes.binds.put(partial(self._bind, release, record, placement.node))

    async def _bind(self, release: _Release, pod: PodRecord, node: str) -> None:
        if release.given_up:
            return
        started = time.perf_counter()
        try:
            outcome = await bind(self._client, ref(pod), node, self._annotations(pod.uid))
        except ApiError as error:
            self._falls_back(pod, release.ticket, error)
        except Exception as error:
            # A mistake of ours. If the bind was made all the same, the watch says so; the pod must not be lost.
            log.exception("call_failed", hint="please report this; the pod is tried again")
            self._falls_back(pod, release.ticket, error)
        else:
            seconds = time.perf_counter() - started
            metrics.BIND_SECONDS.observe(seconds)
            metrics.stage_seconds("Bind", pod.scheduler).observe(seconds)
            metrics.writes("bind", outcome.value).inc()
            self._bound_or_not(release, pod, node, outcome)
        release.binds_left -= 1
        if not release.binds_left:
            self._tell_gangs(release)

    def _bound_or_not(self, release: _Release, pod: PodRecord, node: str, outcome: BindOutcome) -> None:
        if outcome is BindOutcome.BOUND:
            self._lanes.scheduled_events.put(self._reporter.scheduled(pod, node))
            self._note_begun(release, pod, node)
            metrics.SLI_SECONDS.observe(time.monotonic() - release.ticket.first_seen)
            metrics.POD_ATTEMPTS.observe(release.ticket.failures + 1)
        elif outcome is BindOutcome.REFUSED:
            self._falls_back(pod, release.ticket, ApiError("the API server did not take the binding"))
        elif outcome is BindOutcome.GONE:
            self._gone(pod, release.ticket)
        else:
            self._unreserve(pod)  # bound elsewhere: the watch brings what is true

    def _gone(self, pod: PodRecord, ticket: Ticket) -> None:
        """So says the API server, and the watch takes its ticket away. If the answer was wrong, it is tried again."""
        self._unreserve(pod)
        current = self._cluster.pods.get(pod.uid)
        if current is not None and current.schedulable:
            self._jobs.give_back(current, ticket)

    def _note_begun(self, release: _Release, pod: PodRecord, node: str) -> None:
        gang = self._cluster.gangs.get(pod.gang) if pod.gang else None
        if gang is None:
            return
        release.nodes.setdefault(gang.id, []).append(node)
        self._cluster.gangs.bind_accepted(pod)

    def _tell_gangs(self, release: _Release) -> None:
        if not release.of_gangs:
            return
        waited_s = time.monotonic() - release.ticket.first_seen
        for gang_id, nodes in release.nodes.items():
            log.info(
                "gang_started",
                gang=name_of(gang_id),
                members=len(nodes),
                nodes=len(set(nodes)),
                waited_s=round(waited_s, 3),
            )
            gang = self._cluster.gangs.get(gang_id)
            if gang is not None:
                self._reporter.gang_scheduled(gang, len(nodes), len(set(nodes)))
        if release.nodes:
            metrics.GANG_SECONDS.observe(waited_s)

    def _falls_back(self, pod: PodRecord, ticket: Ticket, problem: Exception) -> None:
        """The binds of the other members are in flight, whatever becomes of this one."""
        self._cluster.gangs.bind_failed(pod)
        self._bind_failed(pod, ticket, problem)

    def _bind_failed(self, pod: PodRecord, ticket: Ticket, problem: Exception) -> None:
        """Only this pod goes back; it is tried again after its back-off, unless the watch shows it bound after all."""
        self._unreserve(pod)
        current = self._cluster.pods.get(pod.uid)
        if current is None or not current.schedulable:
            return
        self._jobs.give_back(current, ticket)
        if isinstance(problem, NotLeading):
            return  # nothing was sent, and it is not ours to say
        log.warning("bind_failed", pod=pod.key, problem=str(problem))
        metrics.writes("bind", "failed").inc()
        refusal = Refusal(f"binding failed: {problem}", EventKind.NONE, pod.uid, reason=SCHEDULER_ERROR)
        self._reporter.refused(current, refusal)

    def _unreserve(self, pod: PodRecord) -> None:
        self._in_flight.end(pod.uid)
        self._cluster.forget(pod.uid)
