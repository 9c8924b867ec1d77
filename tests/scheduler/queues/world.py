"""Random worlds with queues: jobs come, end and are evicted, queues change, leadership is lost, and all of it slowly.

`QueueWorld(seed).run()` lives through one. After each step it asks whether a queue is above its limit, or work that is
not preemptible above its quota; at the end, whether everything has come to rest as it should.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from random import Random
from typing import Any

from koordpy.api.pod import Pod
from koordpy.api.times import instant_of_seconds
from koordpy.plan.preemption.search import is_whole
from koordpy.quota.amounts import CPU
from koordpy.quota.reclaim import Basis, Claim
from koordpy.scheduler.cycles import Hold
from koordpy.scheduler.queue.ticket import State
from koordpy.scheduler.queues.admission import needed_members
from koordpy.state.pods import PodRecord
from tests.builders import typed
from tests.scheduler.frontends.rig import of_kai
from tests.scheduler.gangs.rig import member_json
from tests.scheduler.queues.rig import LABEL, QueueRig
from tests.scheduler.wakeups.rig import uid

_STEPS = (3, 30)
_MOST_ROUNDS = 60  # of evictions, with no new jobs, until there are none
_NONE = -1


@dataclass
class Spec:
    """A Queue, in CPUs."""

    parent: str = ""
    quota: int = 0
    limit: int = _NONE
    weight: int = 1
    priority: int = 100
    run_time_s: int = 0


@dataclass
class Submitted:
    """A job as its controller knows it."""

    name: str
    queue: str
    cpu: int = 1
    priority: int = 0
    size: int = 0  # of a gang; 0: a single pod
    minimum: int = 0
    pods: dict[str, str] = field(default_factory=dict)  # name -> UID's name, of those that are there


class HandHolds:
    """The timers of holds, on the clock that is turned by hand."""

    def __init__(self, world: QueueWorld) -> None:
        self._world = world
        self.until: dict[str, float] = {}

    def begin(self, key: str, hold: Hold) -> None:
        self.until[key] = max(hold.until, self.until.get(key, 0.0))

    def act(self) -> None:
        now = self._world.rig.hand_clock.now
        for key in [key for key, until in self.until.items() if until <= now]:
            del self.until[key]
            self._world.rig.queue.activate(key)


class QueueWorld:
    """One world, from its seed. `simple`: single pods of one CPU on one node, so that shapes are never in the way."""

    def __init__(self, seed: int, *, simple: bool = False) -> None:
        self.rng, self.simple = Random(seed), simple
        self.rig = QueueRig()
        self.holds = HandHolds(self)
        self.rig.scheduler.attempts._holds = self.holds  # type: ignore[assignment]
        self.queues: dict[str, Spec] = {}
        self.jobs: dict[str, Submitted] = {}
        self.terminating: set[str] = set()
        self._number = 0
        self._above: dict[str, int] = {}  # queues that are above their limit because it was lowered, or pods returned
        self._above_quota: dict[str, int] = {}
        self.log: list[str] = []
        self._found()

    # --- how it begins ---

    def _found(self) -> None:
        if self.simple:
            self.rig.node("n0", cpu=self.rng.randint(4, 10))
        else:
            for number in range(self.rng.randint(1, 4)):
                self.rig.node(f"n{number}", cpu=self.rng.randint(2, 6))
        names = ["a", "b", "c", "d"][: self.rng.randint(2, 4)]
        if self.rng.random() < 0.5:
            for name in ("top", "side"):
                self.set_queue(name, self._spec(""))
            for name in names:
                self.set_queue(name, self._spec(self.rng.choice(("top", "side", "top"))))
            for name in ("top", "side"):
                if not any(each.parent == name for each in self.queues.values()):
                    del self.queues[name]
                    self.rig.no_queue(name)
        else:
            for name in names:
                self.set_queue(name, self._spec(""))
        self.leaves = names

    def _spec(self, parent: str) -> Spec:
        quota = self.rng.choice((0, 0, 1, 2, 3, 4))
        limit = self.rng.choice((_NONE, _NONE, _NONE, quota + 1, quota + 3, 8))
        run_time = 0 if self.simple else self.rng.choice((0, 0, 0, 30))
        return Spec(parent, quota, limit, self.rng.choice((1, 1, 2)), self.rng.choice((100, 100, 100, 200)), run_time)

    def set_queue(self, name: str, spec: Spec) -> None:
        self.queues[name] = spec
        more: dict[str, Any] = {"reclaimMinRuntime": f"{spec.run_time_s}s"} if spec.run_time_s else {}
        self.rig.has_queue(
            name, parent=spec.parent, cpu=(spec.quota, spec.limit), weight=spec.weight, priority=spec.priority, **more
        )

    # --- what happens ---

    def run(self) -> None:
        for step in range(self.rng.randint(*_STEPS)):
            happens = self.rng.choices(
                (self.submits, self.ends, self.withdraws, self.victims_leave, self.quota_changes, self.hands_over,
                 self.time_passes),
                (8, 4, 1, 6, 1, 1, 3),
            )[0]  # fmt: skip
            self.log.append(f"{step} {happens.__name__}")
            happens()
            self.settle()
        self.comes_to_rest()

    def submits(self) -> None:
        for _ in range(self.rng.randint(1, 3)):
            self._number += 1
            queue = self.rng.choice([*self.leaves, *([] if self.simple else [""])])
            priority = self.rng.choice((0, 0, 0, 5)) if self.simple else self.rng.choice((0, 0, 1, 5, 100, 200))
            job = Submitted(f"j{self._number}", queue, priority=priority)
            if not self.simple:
                job.cpu = self.rng.choice((1, 1, 1, 2, 3))
                if self.rng.random() < 0.4:
                    job.minimum = self.rng.randint(1, 3)
                    job.size = job.minimum + self.rng.choice((0, 0, 1, 2))
            self.jobs[job.name] = job
            self._make(job)

    def _make(self, job: Submitted) -> None:
        """Its controller makes what is missing."""
        if job.size:
            self.rig.kai(job.name, minMember=job.minimum, **({"queue": job.queue} if job.queue else {}))
        missing = (job.size or 1) - len(job.pods)
        for _ in range(missing):
            self._number += 1
            name = f"{job.name}-{self._number}"
            job.pods[name] = name
            self.rig.pods.upsert(typed(self._json(job, name), Pod))
        self.log.append(f"  {job.name} in {job.queue or 'none'}: {missing} of {job.size or 1} x {job.cpu}")

    def _json(self, job: Submitted, name: str, *, on: str = "", started: float = 0.0, terminating: bool = False) -> Any:
        labels = {LABEL: job.queue} if job.queue and not job.size else {}
        says = of_kai(job.name) if job.size else {}
        given: dict[str, Any] = {"on": on, "says": says, "cpu": job.cpu, "priority": job.priority}
        obj = member_json(name, labels=labels, terminating=terminating, **given)
        if on:
            obj["status"] = {"phase": "Running", "startTime": instant_of_seconds(started)}
        return obj

    def ends(self) -> None:
        running = [job for job in self.jobs.values() if any(self._node(name) for name in job.pods)]
        if running:
            self._end(self.rng.choice(running))

    def withdraws(self) -> None:
        pending = [job for job in self.jobs.values() if not any(self._node(name) for name in job.pods)]
        if pending:
            self._end(self.rng.choice(pending))

    def _end(self, job: Submitted) -> None:
        self.log.append(f"  {job.name} ends")
        for name in job.pods:
            self.terminating.discard(name)
            self.rig.gone(name)
        if job.size:
            self.rig.no_kai(job.name)
        del self.jobs[job.name]

    def _node(self, name: str) -> str:
        record = self.rig.cluster.pods.get(uid(name))
        return record.node if record is not None else ""

    def victims_leave(self) -> None:
        """Some are terminating by now, others are gone, and their controllers make them again."""
        for name in self.rig.evicted():
            if self.rng.random() < 0.7:
                self._terminates(name)
        for name in sorted(self.terminating):
            if self.rng.random() < 0.7:
                self._is_gone(name)

    def _terminates(self, name: str) -> None:
        job = self._job_of(name)
        if job is not None and name not in self.terminating:
            self.terminating.add(name)
            self.rig.pods.upsert(typed(self._json(job, name, on=self._node(name), terminating=True), Pod))

    def _is_gone(self, name: str) -> None:
        self.terminating.discard(name)
        job = self._job_of(name)
        self.rig.gone(name)
        if job is not None:
            del job.pods[name]
            self._make(job)

    def _job_of(self, name: str) -> Submitted | None:
        return next((job for job in self.jobs.values() if name in job.pods), None)

    def quota_changes(self) -> None:
        name = self.rng.choice(sorted(self.queues))
        spec = self._spec(self.queues[name].parent)
        self.log.append(f"  {name}: {spec}")
        self.set_queue(name, spec)
        self._note_above()

    def hands_over(self) -> None:
        self.rig.hand_over()

    def time_passes(self) -> None:
        self.rig.hand_clock.now += self.rng.choice((1, 10, 40, 1000))

    # --- progress ---

    def settle(self) -> None:
        """Schedule until nothing is active; limits are looked at after each attempt."""
        for _ in range(500):
            self.holds.act()
            ticket = self.rig.scheduler.next_ticket()
            if ticket is None:
                wait_s = self.rig.queue.seconds_to_next()
                if wait_s is None:
                    break
                self.rig.hand_clock.now += wait_s + 0.001
                continue
            self.rig.scheduler.attempts.schedule_one(ticket)
            self.check_limits()
        else:
            raise AssertionError("no rest\n" + self.story())
        self._bind()
        self.check_limits()
        if self.rig.queue.seconds_to_next() is not None or self.rig.cluster.changes:
            self.settle()

    def _bind(self) -> None:
        """What is assumed is seen bound."""
        for job in self.jobs.values():
            for name in job.pods:
                record = self.rig.cluster.pods[uid(name)]
                if record.node and not record.bound:
                    self.log.append(f"  {name} in {record.queue} runs on {record.node}")
                    obj = self._json(job, name, on=record.node, started=self.rig.hand_clock.now)
                    self.rig.pods.upsert(typed(obj, Pod))

    # --- what must be so at each step ---

    def check_limits(self) -> None:
        victims = set(self.rig.evicted())
        held, kept, fixed = Counter[str](), Counter[str](), Counter[str]()
        for pod in self.rig.cluster.pods.values():
            cpu = self._cpu(pod)
            for queue in self.path(pod.queue) if pod.node else ():
                held[queue] += cpu
                kept[queue] += 0 if pod.terminating or pod.name in victims else cpu
                fixed[queue] += 0 if pod.preemptible else cpu
        for pod in (each.pod for each in self.rig.cluster.nominations):
            # What is merely kept for a pod may be taken by a more important one of its queue.
            placed = (each for each in self.rig.cluster.pods.values() if each.node and each.queue == pod.queue)
            above = any(each.priority > pod.priority for each in placed)
            for queue in self.path(pod.queue) if not pod.node and not above else ():
                kept[queue] += self._cpu(pod)
        for name, spec in self.queues.items():
            limit = spec.limit if spec.limit != _NONE else 1 << 30
            self._check(name, "limit", max(held[name], 0), max(limit, self._above.get(name, 0)))
            self._check(name, "limit with nominations", kept[name], max(limit, self._above.get(name, 0)))
            self._check(name, "quota of non-preemptible", fixed[name], max(spec.quota, self._above_quota.get(name, 0)))

    def _check(self, queue: str, what: str, has: int, may: int) -> None:
        if has > may:
            raise AssertionError(f"queue {queue} has {has} above its {what} {may}\n" + self.story())

    def _note_above(self) -> None:
        """A limit was lowered: what is above it may stay, and not grow."""
        held, fixed = Counter[str](), Counter[str]()
        for pod in self.rig.cluster.pods.values():
            promised = bool(pod.node) or pod.uid in self.rig.cluster.nominations
            for queue in self.path(pod.queue) if promised else ():
                held[queue] += self._cpu(pod)
                fixed[queue] += 0 if pod.preemptible else self._cpu(pod)
        self._above, self._above_quota = dict(held), dict(fixed)

    def path(self, queue: str) -> list[str]:
        found = []
        while queue in self.queues:
            found.append(queue)
            queue = self.queues[queue].parent
        return found

    def _cpu(self, pod: PodRecord) -> int:
        return int(self.rig.built.parts.admission.amounts([pod])[CPU]) // 1000

    # --- what must be so at rest ---

    def comes_to_rest(self) -> None:
        """No new jobs: evictions stop, and then nobody waits who need not."""
        rounds = Counter[str]()
        for round_ in range(_MOST_ROUNDS):
            self.log.append(f"rest {round_}")
            self.rig.hand_clock.now += 1000
            self.settle()
            victims = [name for name in self.rig.evicted() if uid(name) in self.rig.cluster.pods]
            if not victims and not self.terminating:
                break
            for name in victims:
                job = self._job_of(name)
                rounds[job.name if job else name] += 1
                self.log.append(f"  {name} of {job.queue if job else ''} is evicted")
                self._terminates(name)
            self.settle()
            for name in sorted(self.terminating):
                self._is_gone(name)
        else:
            raise AssertionError(f"evictions do not stop: {rounds.most_common(5)}\n" + self.story())
        self.check_rest()

    def check_rest(self) -> None:
        parts = self.rig.built.parts
        for ticket in self.rig.queue:
            job = self.rig.jobs.job_of(ticket)
            if job is None or not job.members or ticket.state is not State.UNSCHEDULABLE:
                continue
            if parts.admission.refusal(job) is None and parts.admission.obstacle(job) is None:
                answer = parts.planning.plan(job)
                if is_whole(answer) and answer.placements:
                    raise AssertionError(f"{ticket.name} would fit, and sleeps\n" + self.story())
                if self.simple:
                    self.check_claims(job)

    def check_claims(self, job: Any) -> None:
        """One node and jobs of one CPU: whatever a claim allows to take has been taken."""
        book, reclaim = self.rig.built.parts.admission._book, self.rig.built.parts.planning.reclaim
        row = book.tree.rows.get(job.queue)
        assert reclaim is not None
        if row is None:
            return
        book.divide(self.rig.cluster.nodes, self.rig.cluster.resources)
        request = self.rig.built.parts.admission.amounts(needed_members(job))
        for basis in Basis:
            claim = Claim(book.usage, book.shares, row, request, basis=basis)
            reached = claim.order(range(len(book.tree))) if not claim.is_empty else []
            for unit in reclaim.running_units(set(reached)):
                taken = reclaim.taken(unit)
                if all(pod.preemptible for pod in unit.pods) and claim.reaches(taken) and not claim.objection([taken]):
                    due = f"{job.name} of {job.queue} is due {unit.key} of {unit.pods[0].queue} by {basis.name}"
                    raise AssertionError(f"{due}\n" + self.story())

    def story(self) -> str:
        by_queue: defaultdict[str, list[str]] = defaultdict(list)
        for pod in self.rig.cluster.pods.values():
            state = pod.node or f"({self.rig.message(pod.name)[:300]})"
            by_queue[pod.queue].append(f"    {pod.name} cpu={self._cpu(pod)} p={pod.priority} {state}")
        lines = [*self.log, *(f"{name}: {spec}" for name, spec in self.queues.items())]
        for queue, pods in sorted(by_queue.items()):
            lines += [f"{queue or 'none'}:", *pods]
        return "\n".join(lines)


class EqualWorld(QueueWorld):
    """Two equal queues, jobs of one size, and more of them in each queue than there is room for.

    Of three queues two may stay two jobs behind the third: one more job would be more than their fair share.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed, simple=True)

    def _found(self) -> None:
        self.size = self.rng.choice((1, 1, 2, 3))
        self.rig.node("n0", cpu=self.size * self.rng.randint(2, 9) + self.rng.choice((0, 0, self.size - 1)))
        self.leaves = ["a", "b"]
        for name in self.leaves:
            self.set_queue(name, Spec())

    def run(self) -> None:
        waiting = [queue for queue in self.leaves for _ in range(10)]
        if self.rng.random() < 0.5:
            self.rng.shuffle(waiting)  # else the first queue has everything before the next one comes
        for queue in waiting:
            self._number += 1
            job = Submitted(f"j{self._number}", queue, self.size)
            self.jobs[job.name] = job
            self._make(job)
            if self.rng.random() < 0.4:
                self.settle()
            if self.rng.random() < 0.3:
                self.victims_leave()
        self.comes_to_rest()

    def check_rest(self) -> None:
        super().check_rest()
        has = {queue: len(self.rig.in_queue(queue)) for queue in self.leaves}
        if max(has.values()) - min(has.values()) > 1:
            raise AssertionError(f"jobs by queue: {has}\n" + self.story())
