"""Keeps the status of every PodGroup what it should be: looks at one gang at a time, and writes what differs.

What is written is made from the roster at that moment, so nothing has to be remembered of what failed but to look
again. Who is asked to look, and when, is the agenda's business.
"""

from __future__ import annotations

import structlog

from koordpy.controllers.podgroup.api import PodGroupApi
from koordpy.controllers.podgroup.gangs import Gang, Roster
from koordpy.controllers.podgroup.status import status_of
from koordpy.controllers.runtime.retries import Setbacks
from koordpy.controllers.runtime.workqueue import Agenda
from koordpy.kube.client import Client
from koordpy.kube.errors import ApiError, NotFound

_PAUSE_S = 0.2  # between two looks at one gang
_PAUSE_PER_MEMBER_S = 0.001  # a gang of a thousand is written once a second: each look counts all of its members
_LONGEST_PAUSE_S = 2.0

log = structlog.get_logger()


class StatusKeeper:
    """One per process; `client` writes only while we lead."""

    def __init__(self, client: Client, roster: Roster, apis: dict[str, PodGroupApi], agenda: Agenda) -> None:
        self._client, self._roster, self._apis = client, roster, apis
        self._setbacks = Setbacks("podgroup", agenda)
        self._others: set[str] = set()  # schedulers whose gangs we have met

    @property
    def trouble(self) -> str:
        return self._setbacks.trouble

    async def look(self, key: str) -> float:
        """Write what differs in one gang; how long to leave it alone."""
        gang = self._roster.get(key)
        if gang is None:
            self._setbacks.settled(key)
            return _PAUSE_S
        if gang.is_foreign:
            self._leave_to_others(gang)
            return _PAUSE_S
        try:
            await self._write_what_differs(gang)
        except ApiError as error:
            return self._setbacks.failed(key, error)
        self._setbacks.settled(key)
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
            self._setbacks.wrote()
            log.debug("podgroup_status", podgroup=gang.key, phase=wanted.phase, was=pod_group.status.phase)

    def _leave_to_others(self, gang: Gang) -> None:
        """Two who write one status, each by its own rules, would never come to rest. Said once for each scheduler."""
        for scheduler in set(gang.foreign.values()) - self._others:
            self._others.add(scheduler)
            log.info("podgroups_left_alone", scheduler=scheduler, first=gang.key, hint=_NOT_OURS)


_NOT_OURS = "all pods of these PodGroups ask for that scheduler; if it is koordpy, give the controllers its --config"
