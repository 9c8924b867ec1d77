"""Keeps the status of every PodGroup what it should be: looks at one gang at a time, and writes what differs.

What is written is made from the roster at that moment, so nothing has to be remembered of what failed but to look
again. Who is asked to look, and when, is the agenda's business.
"""

from __future__ import annotations

import structlog

from koordpy import metrics
from koordpy.controllers.agenda import Agenda
from koordpy.controllers.podgroupapi import PodGroupApi
from koordpy.controllers.podgroupstatus import status_of
from koordpy.controllers.roster import Gang, Roster
from koordpy.kube.backoff import Backoff
from koordpy.kube.client import Client, NotLeading
from koordpy.kube.errors import ApiError, Conflict, Forbidden, Invalid, NotFound

_PAUSE_S = 0.2  # between two looks at one gang
_PAUSE_PER_MEMBER_S = 0.001  # a gang of a thousand is written once a second: each look counts all of its members
_LONGEST_PAUSE_S = 2.0

log = structlog.get_logger()


class StatusKeeper:
    """One per process; `client` writes only while we lead."""

    def __init__(self, client: Client, roster: Roster, apis: dict[str, PodGroupApi], agenda: Agenda) -> None:
        self._client, self._roster, self._apis, self._agenda = client, roster, apis, agenda
        self._backoffs: dict[str, Backoff] = {}  # of gangs whose last write failed
        self._others: set[str] = set()  # schedulers whose gangs we have met
        self.trouble = ""  # why writes fail; empty while all is well

    async def look(self, key: str) -> float:
        """Write what differs in one gang; how long to leave it alone."""
        gang = self._roster.get(key)
        if gang is None:
            self._backoffs.pop(key, None)
            return _PAUSE_S
        if gang.is_foreign:
            self._leave_to_others(gang)
            return _PAUSE_S
        try:
            await self._write_what_differs(gang)
        except ApiError as error:
            return self._failed(key, error)
        self._backoffs.pop(key, None)
        return min(_PAUSE_S + _PAUSE_PER_MEMBER_S * len(gang.members), _LONGEST_PAUSE_S)

    async def _write_what_differs(self, gang: Gang) -> None:
        for api_group, pod_group in list(gang.pod_groups.items()):
            api = self._apis[api_group]
            wanted = status_of(gang.members.values(), gang.pod_group, pod_group.status)
            if not api.differ(wanted, pod_group.status):
                continue
            try:
                await api.write(self._client, pod_group, wanted)
            except NotFound as error:  # deleted a moment ago; if not, the next look at it says so again
                log.debug("podgroup_gone", problem=str(error))
                continue
            metrics.WRITES.labels("podgroup-status", "ok").inc()
            log.debug("podgroup_status", podgroup=gang.key, phase=wanted.phase, was=pod_group.status.phase)
            self._recovered()

    def _leave_to_others(self, gang: Gang) -> None:
        """Two who write one status, each by its own rules, would never come to rest. Said once for each scheduler."""
        for scheduler in set(gang.foreign.values()) - self._others:
            self._others.add(scheduler)
            log.info("podgroups_left_alone", scheduler=scheduler, first=gang.key, hint=_NOT_OURS)

    def _failed(self, key: str, error: ApiError) -> float:
        """Tried again later, with what is true then; a request that is wrong in itself only when there are news."""
        if isinstance(error, NotLeading):
            return _PAUSE_S
        metrics.WRITES.labels("podgroup-status", type(error).__name__.lower()).inc()
        if isinstance(error, Invalid):
            log.warning("podgroup_status_refused", podgroup=key, problem=str(error), hint=_REFUSED)
            return _LONGEST_PAUSE_S
        if not isinstance(error, Conflict):
            self._complain(error)
        self._agenda.note(key)
        return self._backoffs.setdefault(key, Backoff(first_s=0.5, most_s=60.0)).next_s(at_least_s=error.retry_after)

    def _complain(self, error: ApiError) -> None:
        """One line when trouble begins or changes its nature; not one per PodGroup."""
        if type(error).__name__ != self.trouble.partition(":")[0]:
            hint = "grant the permission to koordpy's account" if isinstance(error, Forbidden) else "trying again"
            log.warning("podgroup_status_failed", problem=str(error), hint=hint)
        self.trouble = f"{type(error).__name__}: {error}"

    def _recovered(self) -> None:
        if self.trouble:
            log.info("podgroup_status_recovered")
        self.trouble = ""


_NOT_OURS = "all pods of these PodGroups ask for that scheduler; if it is koordpy, give the controllers its --config"
_REFUSED = "the installed definition refuses what koordpy writes; `koordpy crds` prints one that does not"
