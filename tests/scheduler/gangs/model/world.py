"""A random world with gangs: what is true, a scheduler that hears of it late, and an API server that loses things.

A world is a function of its seed: the same seed does the same things in the same order.
"""

from __future__ import annotations

import asyncio
import dataclasses
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from koordpy.kube.lane import Lane
from koordpy.plan.framework.answers import Placement
from koordpy.scheduler.queue.ticket import State
from tests.builders import Json
from tests.scheduler.gangs.loop import HandLoop
from tests.scheduler.gangs.model.admins import Admins
from tests.scheduler.gangs.model.api import Api
from tests.scheduler.gangs.model.ledger import Ledger
from tests.scheduler.gangs.model.mishaps import Mishaps, Stumble
from tests.scheduler.gangs.model.oracle import cpu_of, is_finished, is_ours, node_of, runs
from tests.scheduler.gangs.model.stranded import Strandings
from tests.scheduler.gangs.model.temper import Temper
from tests.scheduler.gangs.model.truth import PODS, Truth, Watches
from tests.scheduler.gangs.model.users import Users
from tests.scheduler.gangs.rig import GangRig
from tests.scheduler.wakeups.rig import HandClock

_TO_REST = 3_000
_FIRST_WITH_KAI = 700_000  # seeds before it mean what they meant
_FIRST_WITH_GRACES = 800_000
_LONGEST_GRACE_S = 60.0


class World:
    """Users, an API server, and one scheduler after another."""

    def __init__(self, seed: int, *, mishaps: float = 0.0) -> None:
        self.rng = random.Random(seed)
        self.mishaps = Mishaps(seed, mishaps)
        self.clock = HandClock()
        self.loop = HandLoop(self.clock)
        self.temper = Temper.choose(self.rng)
        if seed >= _FIRST_WITH_GRACES:
            self.temper = self.temper.of_short_graces(self.rng)
        elif seed >= _FIRST_WITH_KAI and seed % 5 == 4:
            self.temper = dataclasses.replace(self.temper, kai=self.rng.choice([0.3, 1.0]))
        self.truth = Truth(self.clock, has_kai=self.temper.kai > 0)
        self.strandings = Strandings(self) if self.temper.graces else None
        self.api = Api(self.truth, self.rng, self.temper, self._on_bind, self._may_be_deleted)
        self._users, self._admins = Users(self.truth, self.rng, self.temper), Admins(self.truth, self.rng)
        self.wrong: list[str] = []
        self._start()

    def close(self) -> None:
        self.loop.cut()
        self.loop.close()

    # --- schedulers ---

    def _start(self) -> None:
        """A scheduler that knows nothing: it lists everything, in any order, and leads."""
        self.rig = GangRig(
            client=self.api,
            clock=self.clock,
            on_timeout=self.temper.on_timeout,
            max_gap_percent=self.temper.max_gap_percent,
        )
        self.ledger = Ledger()
        self.watches = Watches(self.truth, self.rig, self.ledger.heard)
        self.ledger.seen = self.watches.seen
        for kind in self.rng.sample(self.truth.kinds, len(self.truth.kinds)):
            self.watches.relist(kind)
        self._lead()

    def _lead(self) -> None:
        self.rig.scheduler.start_over()
        self.ledger.term_begins()
        self._observe_releases()
        if self.strandings is not None:
            self.strandings.term_begins()
        if first := self.ledger.first_to_try():
            self._schedule(only=first)

    def _observe_releases(self) -> None:
        binder = self.rig.binder
        release = type(binder).release

        def observed(placements: Sequence[Placement], *args: Any, **kwargs: Any) -> None:
            self.wrong += self.ledger.release(placements)
            release(binder, placements, *args, **kwargs)

        binder.release = observed  # type: ignore[method-assign]

    def _cut(self) -> None:
        """What was sent may still take effect; nobody hears the answer."""
        while self.rng.random() < 0.5 and self.api.arrive():
            self.loop.turn()
        self.loop.cut()
        self.api.under_way.clear()

    def crash(self) -> None:
        self._cut()
        self._start()

    def hand_over(self) -> None:
        """Leadership is lost and won again by the same process, which lists pods before it leads."""
        self._cut()
        self.watches.relist(PODS)
        self._lead()

    def _may_be_deleted(self, uid: str) -> bool:
        return self.strandings is not None and self.strandings.may_be_deleted(uid)

    def _on_bind(self, pod: Json, node: str) -> None:
        meta = pod["metadata"]
        if self.ledger.released.get(meta["uid"], ("", ""))[1] != node:
            self.wrong.append(f"{meta['uid']} is bound to {node}, and was not released to be")
        ours = [each for each in self.truth.objects[PODS].values() if node_of(each) == node and is_ours(each)]
        used = cpu_of(pod) + sum(cpu_of(each) for each in ours if not is_finished(each))
        if used > self._admins.most_cpu[node]:
            self.wrong.append(f"{node} never had the {used} CPUs that our pods there ask for")

    # --- what happens ---

    def disturb(self) -> None:
        if self.rng.random() < self.temper.restless:
            self.rng.choice([self.crash, self.hand_over, self._relist])()
        elif self.temper.losing_nodes and self.rng.random() < self.temper.losing_nodes:
            self._users.lose_node()
        elif self.rng.random() < self.temper.changing_nodes:
            self._admins.disturb()
        else:
            self._users.disturb()

    def _relist(self) -> None:
        self.watches.relist(self.rng.choice(self.truth.kinds))

    def progress(self) -> None:
        """Some of what is under way goes on, in any order."""
        things = [self._deliver, self._deliver, self._schedule, self._send, self._send, self.api.arrive]
        things += [self._end_graces] if self.strandings is not None else []
        self._time_out()
        for _ in range(self.rng.randrange(8)):
            self.rng.choice(things)()
            self.loop.turn()
        self._hear()
        self.clock.now += self.rng.choice([0, 0, 0.1, 1, 3])
        if self.rng.random() < self.temper.passing:
            self.clock.now += 25  # some wait times end

    def _hear(self) -> None:
        """What has changed is heard of before any time passes; graces begin and end by that."""
        if self.strandings is not None:
            self.rig.scheduler._wakeups.deliver()
            self.strandings.observe()

    def _end_graces(self) -> bool:
        assert self.strandings is not None
        self.strandings.act()
        return False

    def let_graces_pass(self) -> None:
        """Until that has no effect any more."""
        assert self.strandings is not None
        for _ in range(_TO_REST):
            before = self._running()
            self._hear()
            self.clock.now += _LONGEST_GRACE_S + 1
            self._end_graces()
            self.come_to_rest()
            if self._running() == before:
                return
        raise AssertionError(f"gangs are evicted after {_TO_REST} graces")

    def _running(self) -> set[str]:
        return {uid for uid, pod in self.truth.pods().items() if runs(pod)}

    def come_to_rest(self) -> None:
        """Everything arrives, every call is answered, every back-off ends.

        Those that wait go on waiting: two gangs that never fit and try again after their wait times would take turns
        for ever.
        """
        self.api.is_calm = True
        for _ in range(_TO_REST):
            self.loop.turn()
            if self._deliver() or self.api.arrive() or self._send() or self._schedule():
                continue
            times = (self.rig.queue.seconds_to_next(), self.loop.seconds_to_next())
            wait_s = min((each for each in times if each is not None), default=None)
            if wait_s is None:
                self.api.is_calm = False
                return
            self._hear()
            self.clock.now += wait_s + 0.001
        raise AssertionError(f"no rest after {_TO_REST} steps")

    def _deliver(self) -> bool:
        late = [kind for kind in self.truth.kinds if self.truth.news[kind]]
        if late:
            kind = self.rng.choice(late)
            with self._dying_of_what_nobody_catches(), self.mishaps.possible():
                self.watches.deliver(kind)
        return bool(late)

    @contextmanager
    def _dying_of_what_nobody_catches(self) -> Iterator[None]:
        before = len(self.mishaps.happened)
        try:
            yield
        except Stumble:
            self.crash()
        if len(self.mishaps.happened) != before:
            self._note_what_was_dropped()

    def _note_what_was_dropped(self) -> None:
        """After a mistake of its own the scheduler may have given up binds that it had not sent."""
        pods = self.rig.cluster.pods
        self.ledger.drop(uid for uid in list(self.ledger.released) if uid not in pods or not pods[uid].node)

    def _send(self) -> bool:
        """The next call of a lane begins: binds, or reports."""
        all_lanes = (self.rig.lanes.binds, self.rig.lanes.reports, self.rig.lanes.evictions)
        lanes = [lane for lane in all_lanes if len(lane)]
        if lanes:
            lane = self.rng.choice(lanes)
            call: Any = lane._calls.get_nowait()()
            self.loop.start(call).add_done_callback(partial(self._ended, lane))
            with self._dying_of_what_nobody_catches(), self.mishaps.possible():
                self.loop.turn()
        return bool(lanes)

    def _ended(self, lane: Lane, task: asyncio.Task[None]) -> None:
        lane._done()  # those that go behind it wait for that
        bind = self.api.binds.pop(task, None)
        if task.cancelled():
            return
        if bind is not None:
            self.ledger.bind_ended(self.truth.objects[PODS].get(bind.key), bind.uid, accepted=bind.accepted)
        if isinstance(task.exception(), Stumble):
            self.rig.built.parts.recovery.run()  # as the lane does
        elif task.exception() is not None:
            self.wrong.append(f"a call failed: {task.exception()!r}")

    def _time_out(self) -> None:
        if self.strandings is not None:
            self._end_graces()
        room = self.rig.room
        for stay in room.overdue():
            self.rig.permit.time_out(stay)
        self.wrong += [f"the time of {stay.key} is up, and it goes on waiting" for stay in room.overdue()]

    def _schedule(self, only: set[str] | None = None) -> bool:
        """The next job is tried, which must be one of `only` if they are given."""
        self._hear()
        rig, ticket, before = self.rig, None, len(self.mishaps.happened)
        with self._dying_of_what_nobody_catches(), self.mishaps.possible():
            ticket = self.rig.scheduler.next_ticket()
        if only and not self.mishaps.happened and (ticket is None or ticket.key not in only):
            self.wrong.append(
                f"{sorted(only)} are half-bound, and {ticket.name if ticket else 'nobody'} is tried first"
            )
        if ticket is not None:
            with self._dying_of_what_nobody_catches(), self.mishaps.possible():
                self.rig.scheduler.attempts.run(ticket)
            assert rig is not self.rig or ticket.state is not State.IN_FLIGHT, (
                f"{ticket.name} was popped and never answered"
            )
        return ticket is not None or len(self.mishaps.happened) != before
