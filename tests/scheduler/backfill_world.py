"""Random worlds with declared run times: jobs end early, in time or late, or are deleted; nodes and leaders are lost.

`BackfillWorld(seed).run()` lives through one. A promise is followed from the moment it is made until its job starts. It
may move later only after a pod that was not backfilled has overrun, a node was lost, or more important work came.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from koordpy.api.pod import Pod
from koordpy.api.times import instant_of_seconds
from koordpy.plan.preemption.search import is_whole
from koordpy.scheduler.queue.ticket import State
from tests.builders import typed
from tests.scheduler.frontends.rig import of_kai
from tests.scheduler.gangs.rig import member_json
from tests.scheduler.queues.rig import QueueRig
from tests.scheduler.wakeups.rig import uid

RUN_TIME = "koordpy.io/run-time"
_STEPS = (8, 40)


@dataclass
class Work:
    """A job, what it declares, and how long it really runs once started."""

    name: str
    pods: list[str]
    declared: int | None
    real: int
    priority: int
    gang: bool
    cpu: int
    started: float | None = None
    deleted: float | None = None  # when its grace period ends


class BackfillWorld:
    """One world, from its seed."""

    def __init__(self, seed: int) -> None:
        self.rng, self.rig = Random(seed), QueueRig()
        self.nodes = {f"n{number}": self.rng.randint(1, 2) for number in range(self.rng.randint(2, 6))}
        for name, cpu in self.nodes.items():
            self.rig.node(name, cpu=cpu)
        self.work: dict[str, Work] = {}
        self.evicted: set[str] = set()
        self.promise: tuple[str, float] | None = None  # a job, and the latest start that it may have
        self._number, self._made = 0, 0.0
        self._void: object = None  # a reservation that somebody more important has overtaken
        self.log: list[str] = []

    @property
    def now(self) -> float:
        return self.rig.hand_clock.now

    def run(self) -> None:
        for _ in range(self.rng.randint(*_STEPS)):
            happens = self.rng.choices(
                (self.submits, self.time_passes, self.hands_over, self.loses_node, self.deletes), (8, 10, 1, 0.5, 1)
            )[0]
            self.log.append(f"{self.now:.0f} {happens.__name__}")
            happens()
            self.settle()
        self.comes_to_rest()

    # --- what happens ---

    def submits(self) -> None:
        self._number += 1
        name, declared = f"w{self._number:03}", self.rng.choice((None, 5, 10, 20, 40))
        size = self.rng.choice((1, 1, 2, 3, 4))
        real = self.rng.randint(1, 50) if declared is None else self.rng.choice((declared, declared // 2, declared * 2))
        pods = [f"{name}-{number}" for number in range(size)]
        work = Work(
            name, pods, declared, real, self.rng.choice((0, 0, 0, 0, 0, 5)), size > 1, self.rng.choice((1, 1, 2))
        )
        self.log.append(f"  {work}")
        self.work[name] = work
        if work.gang:
            self.rig.kai(name, minMember=size)
        for pod in pods:
            self.rig.pods.upsert(typed(self._json(work, pod), Pod))
        if self.promise is not None and work.priority > self.work[self.promise[0]].priority:
            self.promise = None

    def _json(self, work: Work, pod: str, on: str = "") -> object:
        says = of_kai(work.name) if work.gang else {}
        says |= {RUN_TIME: f"{work.declared}s"} if work.declared else {}
        obj = member_json(pod, on=on, says=says, priority=work.priority, cpu=work.cpu, created="2026-01-01T00:00:00Z")
        obj["spec"]["preemptionPolicy"] = "Never"
        if on:
            started = self.now if work.started is None else work.started
            obj["status"] = {"phase": "Running", "startTime": instant_of_seconds(started)}
        if work.deleted is not None:
            obj["metadata"]["deletionTimestamp"] = instant_of_seconds(work.deleted)
        return obj

    def time_passes(self) -> None:
        """Second by second: who has run long enough ends, and the reserved time comes."""
        for _ in range(self.rng.randint(1, 15)):
            self._second()

    def deletes(self) -> None:
        """Somebody deletes a job that runs; it ends within its grace period, or some time after it."""
        running = [work for work in self.work.values() if work.started is not None and work.deleted is None]
        if not running:
            return
        work = self.rng.choice(running)
        assert work.started is not None
        work.deleted = self.now + self.rng.choice((1, 10, 30))
        work.real = int(work.deleted - work.started) + self.rng.choice((-1, 0, 0, 5, 70))
        for pod in work.pods:
            record = self.rig.cluster.pods[uid(pod)]
            self.rig.pods.upsert(typed(self._json(work, pod, record.node), Pod))

    def _second(self) -> None:
        self.rig.hand_clock.now += 1
        for work in list(self.work.values()):
            if work.started is None:
                continue
            if work.declared is not None and self.now >= work.started + work.declared and work.real > work.declared:
                self._overruns(work)
            if self.now >= work.started + work.real:
                self._end(work)
        self.rig.scheduler.time_out()
        self.settle()

    def _overruns(self, work: Work) -> None:
        backfilled = self.rig.built.parts.backfill.backfilled
        pods = self.rig.cluster.pods
        if any(uid(pod) not in pods or backfilled.until(pods[uid(pod)]) is None for pod in work.pods):
            self.promise, self._void = None, self.rig.built.parts.backfill.reservation

    def _end(self, work: Work) -> None:
        self.log.append(f"{self.now:.0f} {work.name} ends")
        for pod in work.pods:
            self.rig.gone(pod)
        if work.gang:
            self.rig.no_kai(work.name)
        del self.work[work.name]

    def hands_over(self) -> None:
        """Annotations are kept by the rig's reporter alone: what was promised is forgotten here."""
        self.rig.hand_over()
        self.promise = None

    def loses_node(self) -> None:
        if len(self.nodes) > 1:
            name = self.rng.choice(sorted(self.nodes))
            del self.nodes[name]
            for work in list(self.work.values()):
                if any(self.rig.cluster.pods[uid(pod)].node == name for pod in work.pods):
                    self._end(work)
            self.rig.no_node(name)
            self.promise, self._void = None, self.rig.built.parts.backfill.reservation

    # --- progress ---

    def settle(self) -> None:
        for _ in range(500):
            ticket = self.rig.scheduler.next_ticket()
            if ticket is None:
                wait_s = self.rig.queue.seconds_to_next()
                if wait_s is None or wait_s > 0:
                    break
                continue
            self.rig.scheduler.attempts.schedule_one(ticket)
            self._follow_promise()
            self._bind()
            self._evict()
        else:
            raise AssertionError("no rest\n" + self.story())

    def _bind(self) -> None:
        for work in self.work.values():
            for pod in work.pods:
                record = self.rig.cluster.pods[uid(pod)]
                if record.node and not record.bound:
                    self.rig.pods.upsert(typed(self._json(work, pod, record.node), Pod))
                    if work.started is None:
                        self.log.append(f"{self.now:.0f} {work.name} starts")
                        if self.promise is not None and work.priority > self.work[self.promise[0]].priority:
                            self.promise = None
                            self._void = self.rig.built.parts.backfill.reservation
                    work.started = self.now

    def _evict(self) -> None:
        """Only who was backfilled and has outlived its declaration may be evicted."""
        for name in self.rig.evicted():
            work = next((each for each in self.work.values() if name in each.pods), None)
            if work is None:
                continue
            assert work.started is not None
            if work.declared is None or self.now < work.started + work.declared:
                raise AssertionError(f"{name} is evicted before its time\n" + self.story())
            self._end(work)

    def _follow_promise(self) -> None:
        """Compare what is promised now with what was promised before."""
        reservation = self.rig.built.parts.backfill.reservation
        if self._is_any_stuck():
            self.promise = None
            return
        before = self.promise if self.promise is not None and self._waits(self.promise[0]) else None
        if reservation is None or reservation is self._void:
            self.promise = before
            return
        name, at = _work_of(reservation.key), reservation.start.at
        if before is None or before[0] != name:
            self._check_takeover(name, before)
            self._made = self.now
            self.log.append(f"{self.now:.0f} {name} is promised {at:.0f}")
        elif at > before[1] + 0.01:
            raise AssertionError(f"{name} was promised {before[1]:.0f}, and now {at:.0f}\n" + self.story())
        self.promise = (name, at) if self._waits(name) else None

    def _waits(self, name: str) -> bool:
        return name in self.work and not any(self.rig.cluster.pods[uid(pod)].node for pod in self.work[name].pods)

    def _check_takeover(self, name: str, before: tuple[str, float] | None) -> None:
        """A promise goes to another job while nobody has heard of it, or if that is more important."""
        if before is None or self._made >= self.now - 1:
            return
        if self.work[name].priority <= self.work[before[0]].priority:
            raise AssertionError(f"{before[0]} loses its promise to {name}\n" + self.story())

    def _is_any_stuck(self) -> bool:
        """A pod was deleted, and is still there after its grace period or its declared end: nobody could know."""
        deleted = [work for work in self.work.values() if work.deleted is not None]
        return any(self.now >= min(work.deleted or 0, self._declared_end(work)) for work in deleted)

    def _declared_end(self, work: Work) -> float:
        return (work.started or 0) + (work.declared or 1e9)

    def check_promise(self) -> None:
        if self._is_any_stuck():
            self.promise = None
        if self.promise is not None and self.now > self.promise[1] + 1.5:
            raise AssertionError(f"{self.promise[0]} was promised {self.promise[1]:.0f}\n" + self.story())

    # --- at rest ---

    def comes_to_rest(self) -> None:
        for _ in range(600):
            if not any(work.started is not None for work in self.work.values()):
                break  # nothing runs: what waits still will wait for ever
            self._second()
            self.check_promise()
            self.check_awake()
        left = [work for work in self.work.values() if work.started is None]
        for work in left:
            ticket = self.rig.queue.get(f"default/{work.name}@kai" if work.gang else uid(work.pods[0]))
            job = self.rig.jobs.job_of(ticket) if ticket is not None else None
            if job is not None and self.rig.built.parts.planning.refusal_when_empty(job) is None:
                raise AssertionError(f"{work.name} never starts\n" + self.story())

    def check_awake(self) -> None:
        """Nobody sleeps who would fit: as far as the reservation lets it."""
        parts = self.rig.built.parts
        for ticket in self.rig.queue:
            job = self.rig.jobs.job_of(ticket)
            if job is None or ticket.state is not State.UNSCHEDULABLE:
                continue
            answer = parts.planning.plan(job)
            if is_whole(answer) and is_whole(parts.backfill.admit(job, ticket, answer)):
                raise AssertionError(f"{ticket.name} would fit, and sleeps\n" + self.story())

    def story(self) -> str:
        lines = [*self.log, f"{self.now:.0f} nodes {self.nodes} promise {self.promise}"]
        for pod in self.rig.cluster.pods.values():
            lines += [f"    {pod.name} p={pod.priority} {pod.node or self.rig.message(pod.name)[:200]}"]
        return "\n".join(lines)


def _work_of(key: str) -> str:
    """`default/w001@kai` and `u-w001-0` are of w001."""
    return key.removeprefix("default/").removesuffix("@kai").removeprefix("u-").split("-")[0]
