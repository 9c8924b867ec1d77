"""Koordinator's HTTP API for gangs: the same paths and field names, from our own picture.

Some of its fields have no meaning here and are kept for whoever reads them: there is no representative pod, since a
group of gangs has one ticket.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from koordpy.state.gangs.gang import Gang
from koordpy.state.gangs.table import GangTable
from koordpy.state.pods import PodRecord

_PATH = "/apis/v1/plugins/Coscheduling"


def add_gang_routes(app: web.Application, gangs: GangTable, leads: Callable[[], bool]) -> None:
    """Only the leader knows who waits, so only the leader answers."""

    async def one(request: web.Request) -> web.Response:
        if not leads():
            return _not_leader()
        gang_id = f"{request.match_info['namespace']}/{request.match_info['name']}"
        gang = gangs.get(gang_id)
        if gang is None:
            return web.json_response({"message": f"cannot find gang {gang_id}"}, status=404)
        return web.json_response(summary(gang, gangs))

    async def every(_: web.Request) -> web.Response:
        if not leads():
            return _not_leader()
        return web.json_response({gang.id: summary(gang, gangs) for gang in sorted(gangs, key=lambda gang: gang.id)})

    app.router.add_get(f"{_PATH}/gang/{{namespace}}/{{name}}", one)
    app.router.add_get(f"{_PATH}/gangs", every)


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
        "gangFrom": "GangFromPodGroupCrd" if gang.pod_groups else "GangFromPodAnnotation",
        "hasGangInit": gang.initialised,
    }


def _keys(records: Iterable[PodRecord]) -> dict[str, dict[str, str]]:
    """A set, as Go writes it."""
    return {key: {} for key in sorted(record.key for record in records)}


def _uids(gangs: Iterable[Gang]) -> dict[str, dict[str, str]]:
    """Members that were permitted and are on their way."""
    return {uid: {} for gang in gangs for uid in sorted(gang.assumed.keys() - gang.waiting)}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z") if seconds < 2**40 else ""


def _not_leader() -> web.Response:
    return web.json_response({"message": "the instance is not leader"}, status=503)
