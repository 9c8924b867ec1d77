"""Koordinator's HTTP API for gangs: the same paths and field names, answered from the scheduler's gang table.

Clients of Koordinator find every field they know. `RepresentativePodKey` is always empty: a group of gangs has a place
of its own in the queue, and needs no pod to stand for it. This module reads the gang table and never changes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from koordpy.state.gangs.gang import Gang
from koordpy.state.gangs.table import GangTable
from koordpy.state.pods import PodRecord

PATH = "/apis/v1/plugins/Coscheduling"


def add_gang_routes(app: web.Application, table: Callable[[], GangTable], leads: Callable[[], bool]) -> None:
    """Only the leader knows which members wait at Permit, so every other process answers with 503.

    `table` is that of the scheduler of the moment.
    """

    async def one(request: web.Request) -> web.Response:
        if not leads():
            return _not_leader()
        gang_id = f"{request.match_info['namespace']}/{request.match_info['name']}"
        gangs = table()
        gang = gangs.get(gang_id)
        if gang is None:
            return web.json_response({"message": f"cannot find gang {gang_id}"}, status=404)
        return web.json_response(summary(gang, gangs))

    async def every(_: web.Request) -> web.Response:
        if not leads():
            return _not_leader()
        gangs = table()
        return web.json_response({gang.id: summary(gang, gangs) for gang in sorted(gangs, key=lambda gang: gang.id)})

    app.router.add_get(f"{PATH}/gang/{{namespace}}/{{name}}", one)
    app.router.add_get(f"{PATH}/gangs", every)


def summary(gang: Gang, gangs: GangTable) -> dict[str, Any]:
    """A gang as Koordinator shows it."""
    group = gangs.group_of(gang.id)
    others = [each for each in map(gangs.get, group) if each is not None]
    return {
        "name": gang.id,
        "waitTime": int(gang.spec.wait_s * 10**9),
        "createTime": _time(gang.created),
        "mode": gang.spec.mode,
        "gangMatchPolicy": gang.spec.match_policy,
        "minRequiredNumber": gang.minimum,
        "totalChildrenNum": gang.spec.total,
        "gangGroup": list(group),
        "children": _keys(gang.all_live()),
        "pendingChildren": _keys(gang.pending.values()),
        "waitingForBindChildren": _keys(gang.assumed.values()),
        "boundChildren": _keys(gang.bound.values()),
        "onceResourceSatisfied": gangs.has_started(group),
        "gangGroupInfo": {
            "Initialized": len(others) == len(group) and all(each.initialised for each in others),
            "GangGroupId": ",".join(group),
            "GangGroup": list(group),
            "OnceResourceSatisfied": gangs.has_started(group),
            "WaitingGangIDs": {each.id: {} for each in others if each.waiting},
            "RepresentativePodKey": "",
            "BindingMemberPods": _uids(others),
        },
        "gangFrom": "GangFromPodGroupCrd" if gang.objects else "GangFromPodAnnotation",
        "hasGangInit": gang.initialised,
    }


def _keys(records: Iterable[PodRecord]) -> dict[str, dict[str, str]]:
    """The pods by `namespace/name`, as Go's JSON has a set: an object with empty values."""
    return {key: {} for key in sorted(record.key for record in records)}


def _uids(gangs: Iterable[Gang]) -> dict[str, dict[str, str]]:
    """Members that passed Permit and are not bound yet."""
    return {uid: {} for gang in gangs for uid in sorted(gang.assumed.keys() - gang.waiting)}


def _time(seconds: float) -> str:
    """RFC 3339; empty for a gang of which no object has a time of creation."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z") if math.isfinite(seconds) else ""


def _not_leader() -> web.Response:
    return web.json_response({"message": "the instance is not leader"}, status=503)
