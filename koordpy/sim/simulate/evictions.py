"""Evictions: each victim was told for whom it goes, that job is more important, and it fits by it and not without it.

No gang is left with some of its members and without enough of them.

Victims leave one by one, so those of one preemptor are looked at together, some seconds after the last of them. What
nobody could foresee is not blamed on anybody: a node that changed, another leader, a member that its owner took away.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from koordpy.api.times import seconds_of_instant
from koordpy.sim.embedded.store import Change
from koordpy.sim.simulate.placing import fit_in, needed
from koordpy.sim.simulate.reading import BACKFILLED_UNTIL
from koordpy.sim.simulate.surprises import Surprises
from koordpy.sim.simulate.surroundings import EPOCH
from koordpy.sim.simulate.truth import (
    Amounts,
    Truth,
    asked,
    condition,
    is_anything_reserved,
    is_finished,
    is_ours,
    is_pending,
    is_terminating,
    key_of,
    node_of,
)

Json = dict[str, Any]

_TOLD = re.compile(r".*preemptor: (?P<job>\S+), triggerpod: (?P<pod>\S+)")
_SILENCE_S = 5.0  # after which no other victim of the same preemptor is expected
_LATE_S = 20.0  # what has become free since then may not be known


@dataclass
class _Batch:
    """The victims of one preemptor, and what was free without them when the first one left."""

    needs: list[Json]  # pods that have to start together
    name: str  # of the gang, or of the pod
    since: float
    free: dict[str, Amounts]
    known: dict[str, Amounts]  # the same, without what became free lately
    last: float = 0.0
    is_known: bool = True  # which pods have to start together
    victims: list[Json] = field(default_factory=list)


class Evictions:
    def __init__(self, truth: Truth, surprises: Surprises, tell: Callable[[str], None]) -> None:
        self._truth, self._surprises, self._tell = truth, surprises, tell
        self._batches: dict[str, _Batch] = {}  # by the preemptor
        self._freed: list[tuple[float, Json]] = []  # pods that ended, and when
        self._better_at = float("-inf")  # when a node came, or became larger
        self._refused: dict[str, float] = {}  # preemptor -> when the deletion of a victim of it failed

    def better(self) -> None:
        """There is more room, which a scheduler may not know of yet."""
        self._better_at = _now()

    def refused(self, victim: Json) -> None:
        """A deletion failed, or its answer was lost: it is told again later, and others have left already."""
        if (told := _TOLD.fullmatch(condition(victim, "DisruptionTarget").get("message", ""))) is not None:
            self._refused[told["job"]] = _now()

    def look(self, change: Change) -> None:
        """A pod has changed."""
        pod, old = change.new.obj, change.old.obj if change.old is not None else None
        if old is None or not node_of(pod):
            return
        ends = (change.kind == "DELETED" or is_finished(pod)) and not is_finished(old)
        if ends:
            self._freed = [each for each in self._freed if each[0] > _now() - _LATE_S]
            self._freed.append((_now(), old))
        if change.kind != "DELETED" and is_terminating(pod) and not is_terminating(old):
            self._look_at_victim(pod)

    def check(self) -> None:
        """Whose last victim has left some time ago."""
        for job, batch in list(self._batches.items()):
            if _now() - batch.last > _SILENCE_S:
                del self._batches[job]
                self._judge(job, batch)

    def _look_at_victim(self, pod: Json) -> None:
        why = condition(pod, "DisruptionTarget")
        told = _TOLD.fullmatch(why.get("message", "")) if why.get("reason") == "PreemptionByScheduler" else None
        if told is None:
            return  # its owner deleted it
        trigger = self._truth.find("pods", *told["pod"].split("/"))
        if trigger is None or not is_pending(trigger):
            return  # gone meanwhile
        if not self._is_allowed(trigger, pod):
            until = _backfilled_until(pod)
            if until is None:
                self._tell(f"{key_of(pod)} was evicted for {told['pod']}, which is not more important")
            elif until > _now() + EPOCH + 1:
                self._tell(f"{key_of(pod)} was backfilled, and evicted for {told['pod']} before its time")
        self._look_for_another(told["job"], told["pod"], pod)
        batch = self._batches.get(told["job"]) or self._begin(told["job"], trigger, pod)
        batch.victims.append(pod)
        batch.last = _now()

    def _look_for_another(self, job: str, trigger: str, victim: Json) -> None:
        """A member may become a job by itself meanwhile: nobody else has to leave for it then."""
        for other, batch in self._batches.items():
            if other != job and batch.needs and [key_of(pod) for pod in batch.needs] == [trigger]:
                excused = self._surprises.excuse(batch.name, batch.since) or other in self._refused
                if not excused and not self._is_complicated():
                    self._tell(f"{key_of(victim)} was evicted for {trigger}, for which others leave as {other}")

    def _is_allowed(self, trigger: Json, victim: Json) -> bool:
        """Between queues it is shares that count, and not priority."""
        by_right = bool(self._truth.all("queues.scheduling.run.ai"))
        return by_right or trigger["spec"].get("priority", 0) > victim["spec"].get("priority", 0)

    def _begin(self, job: str, trigger: Json, victim: Json) -> _Batch:
        gangs = self._truth.gangs()
        name = self._truth.gang_of(trigger) or ""
        gang = gangs.get(name)
        # Others may be on their way to nodes already: whoever was named is first.
        waiting = [trigger, *(pod for pod in gang.members if is_pending(pod) and pod is not trigger)] if gang else []
        needs = [trigger]
        if gang is not None and job != key_of(trigger):  # members of a gang that runs are planned one by one
            needs = needed(gang, waiting)
        leaving = {pod["metadata"]["uid"] for pod in self._truth.pods if is_terminating(pod)}
        leaving -= {victim["metadata"]["uid"]}
        free, known = self._truth.free(without=leaving), self._truth.free()
        for _, pod in self._freed:
            _take(known, pod)
        needs, is_known = needs or [trigger], bool(needs)
        batch = _Batch(needs, name or key_of(trigger), _now(), free, known, is_known=is_known)
        self._batches[job] = batch
        return batch

    def _judge(self, job: str, batch: _Batch) -> None:
        if self._surprises.excuse(batch.name, batch.since) or self._refused.get(job, 0.0) > batch.since - _SILENCE_S:
            return
        self._look_at_gangs(job, batch)
        names = [key_of(pod) for pod in batch.victims]
        room = {name: dict(has) for name, has in batch.free.items()}
        for pod in batch.victims:
            _take(room, pod, sign=-1)
        if not fit_in(self._truth, batch.needs, room):
            self._tell(f"{names} were evicted for {job}, which does not fit by that: {room}")
        own = {pod["metadata"]["uid"] for pod in batch.needs}
        for pod in self._truth.pods:  # binds that were under way, and promises
            bound_since = node_of(pod) and is_ours(pod) and pod["metadata"]["uid"] not in own
            _take(batch.known, pod, node=node_of(pod) if bound_since else pod["status"].get("nominatedNodeName", ""))
        is_news = self._better_at > batch.since - self._surprises.told_within_s(batch.since)
        if (
            batch.is_known
            and not is_news
            and not self._is_complicated()
            and fit_in(self._truth, batch.needs, batch.known)
        ):
            self._tell(f"{names} were evicted for {job}, which fitted without that: {batch.known}")

    def _look_at_gangs(self, job: str, batch: _Batch) -> None:
        """A gang that has lost too many members goes as a whole."""
        gangs = self._truth.gangs()
        for name in sorted({self._truth.gang_of(pod) or "" for pod in batch.victims} & set(gangs)):
            gang = gangs[name]
            there = [pod for pod in gang.members if node_of(pod) and pod["status"].get("phase") != "Failed"]
            stays = any(not is_finished(pod) for pod in there)
            if gang.spec.get("disruptionMode") == "Pod":
                continue  # what Kubernetes says of its own PodGroups where nobody says anything: members go singly
            if stays and len(there) < (gang.minimum or 0) and not self._surprises.excuse(name, batch.since):
                left = [pod["metadata"]["name"] for pod in there]
                self._tell(f"gang {name} had to leave for {job}, and {left} stay of the {gang.minimum} that it needs")

    def _is_complicated(self) -> bool:
        """Limits of queues may be what is in the way, or a reservation; what a NonStrict gang keeps nobody can see."""
        if self._truth.all("queues.scheduling.run.ai") or is_anything_reserved(self._truth):
            return True
        return any("NonStrict" in str(pod["metadata"].get("annotations")) for pod in self._truth.pods)


def _backfilled_until(pod: Json) -> float | None:
    said = (pod["metadata"].get("annotations") or {}).get(BACKFILLED_UNTIL)
    return seconds_of_instant(said) if said else None


def _take(room: dict[str, Amounts], pod: Json, *, sign: int = 1, node: str | None = None) -> None:
    has = room.get(node_of(pod) if node is None else node, {})  # of a node that is not there nothing is taken
    for key, amount in asked(pod).items():
        has[key] = has.get(key, 0) - sign * amount


def _now() -> float:
    return asyncio.get_running_loop().time()
