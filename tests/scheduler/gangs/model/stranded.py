"""Gangs that lack members for long: how long by what the scheduler was told, and whether it may evict what is left.

The rules are written down a second time, from the contract. What the scheduler has placed is asked of it; who lacks
members since when, and whether those that wait would fit, is worked out here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from koordpy.scheduler.staleness import Staleness
from tests.builders import Json
from tests.scheduler.gangs.model.oracle import (
    Gangs,
    cpu_of,
    is_finished,
    is_pending,
    is_protected,
    node_of,
    runs,
    shown,
    uid_of,
)
from tests.scheduler.gangs.model.search import Need, can_place
from tests.scheduler.gangs.model.truth import NODES, PODS

if TYPE_CHECKING:
    from tests.scheduler.gangs.model.world import World

_NAMED = re.compile(r"gang (\S+) has had ")


class Strandings:
    """Looks at a world's gangs whenever its scheduler does, and judges its evictions."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._since: dict[str, float] = {}  # when a gang was first seen to lack members
        self._succeeded: set[str] = set()  # gangs of which some member ever succeeded: they may be finishing
        self._decided: set[str] = set()  # UIDs of those that it has decided to evict

    # --- what happens ---

    def term_begins(self) -> None:
        """Times begin anew, and nobody is to be evicted any more."""
        self._since.clear()
        self._decided.clear()
        evictor = self._world.rig.built.parts.evictor
        evict = type(evictor).evict_stale

        def observed(victims: list[Any], text: str) -> None:
            self._world.wrong += self._judge([victim.uid for victim in victims], text)
            self._decided |= {victim.uid for victim in victims}
            evict(evictor, victims, text)
            table = self._world.rig.cluster.gangs
            self._world.ledger.evict({uid for uid in self._decided if table.is_evicting(uid)})

        evictor.evict_stale = observed  # type: ignore[method-assign]
        self.observe()

    def observe(self) -> None:
        """The scheduler hears of all that has changed.

        Members that it has placed and that are not bound yet end no time: a bind that fails was no completion.
        """
        gangs, now = self._gangs, self._world.clock()
        self._succeeded |= {gang for gang in gangs.members if gangs.succeeded(gang)}
        lacking = {gang for gang in gangs.members if gangs.grace_s(gang) and self._lacks(gang, self._running(gang))}
        self._since = {gang: self._since.get(gang, now) for gang in lacking}

    def act(self) -> None:
        """Some times are up."""
        timers = self._world.rig.built.parts.timers
        next(timer for timer in timers if isinstance(timer, Staleness)).act()

    # --- what is right ---

    def may_be_deleted(self, uid: str) -> bool:
        return uid in self._decided

    def _judge(self, victims: list[str], text: str) -> Iterator[str]:
        named = _NAMED.match(text)
        gangs = self._gangs
        found = [gang for gang in gangs.members if named is not None and shown(gang) == named[1]]
        if not found:
            yield f"{victims} are evicted for no gang: {text}"
        for gang in found[:1]:
            yield from (f"gang {gang} is evicted, and {why}" for why in self._wrong_with(gang, victims))

    def _wrong_with(self, gang: str, victims: list[str]) -> Iterator[str]:
        gangs, pods = self._gangs, self._pods
        if not self._lacks_members(gang):
            yield "lacks nobody"
            return
        if self._world.clock() - self._since.get(gang, self._world.clock()) < gangs.grace_s(gang):
            yield f"its time of {gangs.grace_s(gang)}s is not up since {self._since.get(gang)}"
        if self.can_be_completed(gang):
            yield "its missing members would fit"
        running = {uid_of(pod) for pod in self._running_with(gang)}
        if running != set(victims):
            yield f"{sorted(victims)} go, of {sorted(running)}"
        if protected := [uid for uid in victims if uid in pods and is_protected(pods[uid])]:
            yield f"{protected} are protected"

    def left_behind(self) -> Iterator[str]:
        """Gangs whose time is up long since, and which nothing keeps from being evicted."""
        for gang in self._since:
            if self.can_be_completed(gang) or gang in self._succeeded:
                continue
            if not any(is_protected(pod) for pod in self._running_with(gang)):
                yield gang

    # --- one gang ---

    @property
    def _gangs(self) -> Gangs:
        return self._world.ledger.gangs()

    @property
    def _pods(self) -> dict[str, Json]:
        return {uid_of(pod): pod for pod in self._world.ledger.seen[PODS].values()}

    def _running(self, gang: str) -> list[Json]:
        """But for those that are on their way out already."""
        table = self._world.rig.cluster.gangs
        return [pod for pod in self._gangs.members.get(gang, []) if runs(pod) and not table.is_evicting(uid_of(pod))]

    def _running_with(self, gang: str) -> list[Json]:
        """All that runs of those that start together."""
        gangs = self._gangs
        group = [each for each in gangs.group_of(gang) if gangs.group_of(each) == gangs.group_of(gang)]
        return [pod for each in group for pod in self._running(each)]

    def _there(self, gang: str) -> list[Json]:
        """Running, on the way, or finished well."""
        placed = [pod for pod in self._gangs.members[gang] if is_pending(pod) and self._place_of(pod)]
        return [*self._running(gang), *placed, *self._gangs.succeeded(gang)]

    def _place_of(self, pod: Json) -> str:
        """Its node; of one that the scheduler has just placed, that one."""
        record = self._world.rig.cluster.pods.get(uid_of(pod))
        return node_of(pod) or (record.node if record is not None else "")

    def _lacks_members(self, gang: str) -> bool:
        return self._lacks(gang, self._there(gang))

    def _lacks(self, gang: str, there: list[Json]) -> bool:
        gangs = self._gangs
        return bool(self._running(gang) and not gangs.succeeded(gang) and gangs.short_of(gang, there))

    def can_be_completed(self, gang: str) -> bool:
        """Those that wait would fit beside all that is there."""
        waiting = [pod for pod in self._gangs.members[gang] if is_pending(pod) and not self._place_of(pod)]
        missing = max((self._gangs.config(gang).minimum or 0) - len(self._there(gang)), 0)
        nodes = self._world.ledger.seen[NODES]
        free = {name: int(node["status"]["allocatable"]["cpu"]) for name, node in nodes.items()}
        for pod in self._pods.values():
            if not is_finished(pod) and self._place_of(pod) in free:
                free[self._place_of(pod)] -= cpu_of(pod)
        return can_place([Need(missing, tuple(waiting))], free, nodes)


def nobody_is_left_stranded(world: World) -> Iterator[str]:
    """When nothing happens but that time passes, gangs that cannot be completed are evicted."""
    if world.strandings is not None:
        world.let_graces_pass()
        yield from (f"gang {gang} is stranded, and left alone" for gang in world.strandings.left_behind())
