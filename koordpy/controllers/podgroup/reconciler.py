"""The reconciler of PodGroups: computes the status of one PodGroup and writes it if it differs.

The status is computed from the index of gangs at the moment of the reconcile, so a failed write needs no memory but its
place in the work queue. The reconciler writes nothing but `status`, and never that of a gang of another scheduler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import structlog

from koordpy import metrics
from koordpy.api.podgroup.frontends import name_of
from koordpy.api.times import instant_of_seconds
from koordpy.controllers.podgroup.api import PodGroupApi
from koordpy.controllers.podgroup.condition import nobody_was_seen
from koordpy.controllers.podgroup.gangs import Gang, GangIndex, PodGroupKey
from koordpy.controllers.podgroup.status import status_of
from koordpy.kube.client import Client

_PAUSE_S = 0.2  # between two reconciles of one PodGroup: five writes a second are more than anybody reads
_PAUSE_PER_MEMBER_S = 0.001  # a reconcile counts all members: with a thousand of them there is about one a second
_LONGEST_PAUSE_S = 2.0  # however large the gang is, its status is never further behind

log = structlog.get_logger()


class PodGroupReconciler:
    """Writes through `client`, which refuses to write unless this process leads. `apis` are by API version."""

    def __init__(
        self, client: Client, gangs: GangIndex, apis: Mapping[str, PodGroupApi], clock: Callable[[], float]
    ) -> None:
        self._client, self._gangs, self._apis, self._clock = client, gangs, apis, clock
        self._reported_schedulers: set[str] = set()

    async def reconcile(self, key: PodGroupKey) -> float:
        """Write the status of one PodGroup if it differs; returns how long to hold the key back."""
        gang = self._gangs.get(key.gang)
        if gang is None:
            return _PAUSE_S
        if gang.is_foreign:
            self._report_foreign(gang)
            return _PAUSE_S
        await self._update_status(gang, key)
        return min(_PAUSE_S + _PAUSE_PER_MEMBER_S * len(gang.members), _LONGEST_PAUSE_S)

    async def _update_status(self, gang: Gang, key: PodGroupKey) -> None:
        pod_group = gang.pod_groups.get(key.api_version)
        if pod_group is None:
            return
        api = self._apis[key.api_version]
        before, now = api.kind.common_form(pod_group.status), instant_of_seconds(self._clock())
        if gang.slips and not gang.members and not nobody_was_seen(before):
            return  # somebody else has seen members: there is a scheduler of that name, with a controller of its own
        status = status_of(gang.members.values(), gang.object, before, now, slips=gang.slips.values())
        pending = sum(
            each.bound_at is None and not each.terminating and not each.finished for each in gang.members.values()
        )
        wanted = api.kind.own_form(status, pending, pod_group)
        if not api.differs(wanted, pod_group.status):
            return
        await api.write(self._client, pod_group.metadata, wanted)
        metrics.writes("podgroup-status", "ok").inc()
        log.debug("podgroup_status", podgroup=str(key), phase=status.phase, was=before.phase)

    def _report_foreign(self, gang: Gang) -> None:
        """Log that a gang is left to the controller of another scheduler, once for each scheduler.

        Two controllers that wrote one status, each by its own rules, would overwrite each other for ever.
        """
        for scheduler in set(gang.foreign_schedulers.values()) - self._reported_schedulers:
            self._reported_schedulers.add(scheduler)
            log.info("podgroups_left_alone", scheduler=scheduler, first=name_of(gang.key), hint=_NOT_OURS)


_NOT_OURS = "all pods of these PodGroups ask for that scheduler; if it is koordpy, give the controllers its --config"
