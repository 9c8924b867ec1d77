"""What a scheduler has decided and may decide, by what it was told: the rules of safety, kept beside it.

The ledger sees what goes in (news) and what comes out (releases, binds) and none of what is between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from koordpy.plan.framework.answers import Placement
from tests.builders import Json
from tests.scheduler.gangs.model.oracle import (
    APIS,
    KAI,
    KAI_API,
    Gangs,
    cpu_of,
    gang_of,
    has_succeeded,
    is_finished,
    is_ours,
    is_pending,
    is_terminating,
    node_of,
    runs,
    uid_of,
)
from tests.scheduler.gangs.model.truth import NODES, PODS, Objects


class Ledger:
    """One term of leadership of one process; a hand-over within it keeps what was seen."""

    def __init__(self) -> None:
        self.seen: Objects = {}
        self.released: dict[str, tuple[str, str]] = {}  # UID -> gang, node: may be bound, and is not seen bound yet
        self._released_with: dict[str, str] = {}  # UID -> gang; a pod may have changed its gang by now
        self._accepted: set[str] = set()  # of `released`: UIDs of those whose binds were accepted
        self.recovering: set[str] = set()  # found half-bound, or a bind of theirs failed
        self._minima: dict[str, tuple[object, ...]] = {}  # as they were when the last piece of news was heard
        self._gangs: Gangs | None = None  # of what was seen; none since the last piece of news

    def gangs(self) -> Gangs:
        if self._gangs is None:
            pod_groups = {(api, key): obj for api in APIS for key, obj in self.seen[api].items()}
            pod_groups |= {(KAI_API, f"{key}{KAI}"): obj for key, obj in self.seen.get(KAI_API, {}).items()}
            self._gangs = Gangs(self.seen[PODS].values(), pod_groups)
        return self._gangs

    # --- what happens ---

    def term_begins(self) -> None:
        """Whatever was under way is over; groups that are half-bound are finished first."""
        self.released.clear()
        self._accepted.clear()
        gangs = self.gangs()
        self.recovering = {
            gang for gang in gangs.members if self._has_begun(gang, gangs) and not _is_bound(gang, gangs)
        }

    def first_to_try(self) -> set[str]:
        """Tickets, of groups or of pods by themselves, that complete what was found half-bound."""
        gangs, first = self.gangs(), set[str]()
        for gang in self.recovering:
            pending = [uid_of(pod) for pod in gangs.members[gang] if is_pending(pod)]
            group = gangs.group_of(gang)
            if self.is_free(gang, gangs):
                first.update(pending)
            elif pending and all(self._has_come(each, group, gangs) for each in group):
                first.add(",".join(group))
        return first

    def _has_come(self, gang: str, group: tuple[str, ...], gangs: Gangs) -> bool:
        """It is there, with enough members; one that does not list the others back has to run."""
        if not gangs.is_initialised(gang):
            return False
        if gangs.group_of(gang) != group:
            return self.runs(gang, gangs)
        pending = filter(is_pending, gangs.members[gang])
        return self.is_free(gang, gangs) or not gangs.short_of(gang, [*self.counting(gang, gangs), *pending])

    def heard(self, kind: str, before: Json | None, now: Json | None) -> None:
        """A piece of news arrived."""
        self._gangs = None
        if kind == PODS:
            self._heard_of_pod(before, now)
        if kind != NODES:
            gangs = self.gangs()
            self.recovering &= gangs.members.keys()
            configs = {gang: gangs.config(gang) for gang in gangs.members}
            minima = {gang: (config.minimum or 0, *config.parts) for gang, config in configs.items()}
            changed = {gang for gang, each in minima.items() if self._minima.get(gang, (0,)) != each}
            self.recovering -= {gang for gang in changed if _is_bound(gang, gangs)}
            self._minima = minima
            self._settle()

    def _settle(self) -> None:
        """With nobody left who was started, and nobody on the way, the next members are a new start."""
        gangs, on_the_way = self.gangs(), {gang for gang, _ in self.released.values()}
        self.recovering = {gang for gang in self.recovering if gang in on_the_way or self._is_started(gang, gangs)}

    def _heard_of_pod(self, before: Json | None, now: Json | None) -> None:
        if before is not None and (now is None or now["metadata"]["uid"] != before["metadata"]["uid"]):
            self.released.pop(before["metadata"]["uid"], None)
        if now is None:
            return
        if node_of(now) or is_terminating(now) or is_finished(now):
            self.released.pop(now["metadata"]["uid"], None)
        if runs(now) or (is_ours(now) and has_succeeded(now)):
            self._complete(gang_of(now))

    def bind_ended(self, pod: Json | None, uid: str, *, accepted: bool) -> None:
        """The scheduler knows what became of a bind; `accepted` if it was told so, though the pod may be gone since."""
        bound = pod is not None and uid_of(pod) == uid and bool(node_of(pod))
        if (accepted or bound) and uid in self.released:
            self._accepted.add(uid)
        if pod is None or uid_of(pod) != uid:
            if not accepted or uid not in map(
                uid_of, self.seen[PODS].values()
            ):  # else nobody has said yet that it left
                self.released.pop(uid, None)
        elif not bound:
            self.released.pop(uid, None)
            self.recovering.add(self._released_with[uid])
        self._settle()

    def drop(self, uids: Iterable[str]) -> None:
        """These were released and will not be bound: the scheduler has made a mistake, and gave them up."""
        for uid in uids:
            gang, _ = self.released.pop(uid)
            self.recovering |= {gang} if gang else set()
        self._settle()

    def evict(self, uids: set[str]) -> None:
        """All that runs of some gangs is to go: what they were short of is given up, even if an eviction fails."""
        gangs, on_the_way = self.gangs(), {gang for gang, _ in self.released.values()}
        for gang in self.recovering - on_the_way:
            running = {uid_of(pod) for pod in gangs.members.get(gang, []) if runs(pod)}
            if running <= uids and not gangs.succeeded(gang):
                self.recovering = self.recovering - {gang}

    def _complete(self, gang: str) -> None:
        if gang and _is_bound(gang, self.gangs()):
            self.recovering.discard(gang)

    # --- what is decided ---

    def release(self, placements: Iterable[Placement]) -> list[str]:
        """These pods are to be bound; what is wrong with that."""
        pods = {pod["metadata"]["uid"]: pod for pod in self.seen[PODS].values()}
        chosen = {placement.uid: placement.node for placement in placements}
        if strangers := chosen.keys() - pods.keys():
            return [f"{sorted(strangers)} do not exist"]
        wrong = [f"{uid} may not be bound" for uid in chosen if not is_pending(pods[uid])]
        self.released |= {uid: (gang_of(pods[uid]), node) for uid, node in chosen.items()}
        self._released_with |= {uid: gang_of(pods[uid]) for uid in chosen}
        wrong += self._misplaced(pods, chosen)
        wrong += self._unsatisfied({gang_of(pods[uid]) for uid in chosen} - {""})
        return wrong

    def _misplaced(self, pods: dict[str, Json], chosen: dict[str, str]) -> Iterator[str]:
        for uid, name in chosen.items():
            node = self.seen[NODES].get(name)
            wanted = pods[uid]["spec"].get("nodeSelector") or {}
            if node is None or node["spec"].get("unschedulable"):
                yield f"{uid} may not go to {name}"
            elif wanted.items() - node["metadata"]["labels"].items():
                yield f"{uid} asks for {wanted}, and {name} is not that"
        for name in set(chosen.values()) & self.seen[NODES].keys():
            here = {uid for uid, (_, node) in self.released.items() if node == name and uid in pods}
            here |= {uid for uid, pod in pods.items() if node_of(pod) == name and not is_finished(pod)}
            used, has = sum(cpu_of(pods[uid]) for uid in here), self.seen[NODES][name]["status"]["allocatable"]["cpu"]
            if used > int(has):
                yield f"{name} is overcommitted: {used} of {has} CPUs by {sorted(here)}"

    def _unsatisfied(self, started: set[str]) -> Iterator[str]:
        """A gang whose members are released without all that must start with it."""
        gangs = self.gangs()
        for gang in started:
            if self.is_free(gang, gangs):
                continue
            group = gangs.group_of(gang)
            for each in group:
                if self.is_free(each, gangs) or (gangs.group_of(each) != group and self.runs(each, gangs)):
                    continue
                short = gangs.short_of(each, self.counting(each, gangs))
                if not gangs.is_initialised(each) or gangs.config(each).minimum is None or short:
                    minimum, there = gangs.config(each).minimum, self.counted(each, gangs)
                    yield f"gang {gang} starts, and {each} has {there} of {minimum} members, short: {short}"

    def runs(self, gang: str, gangs: Gangs) -> bool:
        """One that is listed and does not list back starts on its own; the other follows."""
        if gangs.config(gang).policy == "waiting-and-running":
            return _is_bound(gang, gangs)
        return self._has_begun(gang, gangs) or gangs.config(gang).minimum == 0

    def _has_begun(self, gang: str, gangs: Gangs) -> bool:
        group = gangs.group_of(gang)
        own = (each for each in group if each in gangs.members and gangs.group_of(each) == group)
        return any(self._is_started(each, gangs) for each in own)

    def _is_started(self, gang: str, gangs: Gangs) -> bool:
        """A member that was started is there: it runs, has succeeded, or its bind was accepted."""
        members = gangs.members.get(gang, [])
        accepted = (uid_of(pod) in self._accepted and uid_of(pod) in self.released for pod in members)
        return any(map(runs, members)) or bool(gangs.succeeded(gang)) or any(accepted)

    def is_free(self, gang: str, gangs: Gangs) -> bool:
        """It was complete once, and its members are ordinary pods since."""
        return gangs.config(gang).policy == "once-satisfied" and self._has_begun(gang, gangs)

    def counted(self, gang: str, gangs: Gangs) -> int:
        return len(self.counting(gang, gangs))

    def counting(self, gang: str, gangs: Gangs) -> list[Json]:
        """Members that count as there, under the match policy."""
        waiting = [pod for pod in gangs.members.get(gang, []) if pod["metadata"]["uid"] in self.released]
        if gangs.config(gang).policy == "only-waiting" and gang not in self.recovering:
            return waiting
        return waiting + _there(gang, gangs)


def _there(gang: str, gangs: Gangs) -> list[Json]:
    """Those that run, and those that have finished well."""
    return [*filter(runs, gangs.members.get(gang, [])), *gangs.succeeded(gang)]


def _is_bound(gang: str, gangs: Gangs) -> bool:
    return not gangs.short_of(gang, _there(gang, gangs))
