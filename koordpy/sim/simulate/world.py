"""One world: a history played from its first second to the end, and what was wrong on the way.

First things happen and calls fail. Then the faults stop, every machine runs again, and within a bounded time everything
has to be as it should.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import hashlib
import random
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from koordpy.app.controllers import Controllers
from koordpy.app.crds import definitions
from koordpy.app.process import Process
from koordpy.app.settings import Settings
from koordpy.kube.client import Client
from koordpy.kube.watch.shared import SharedReflectors
from koordpy.sim.embedded.server import EmbeddedCluster
from koordpy.sim.embedded.workloads.operators.definitions import definitions as workload_definitions
from koordpy.sim.simulate.beliefs import believed, drift
from koordpy.sim.simulate.history import ACTIVE_S, MACHINES, SCHEDULERS, History, Step
from koordpy.sim.simulate.judge import Judge
from koordpy.sim.simulate.loop import Stuck, VirtualLoop
from koordpy.sim.simulate.machine import Machine, task_of_a_machine
from koordpy.sim.simulate.network import Network
from koordpy.sim.simulate.objects import CLASSES, NAMESPACE
from koordpy.sim.simulate.rest import untrue_statuses, wrong_at_rest
from koordpy.sim.simulate.surprises import Surprises
from koordpy.sim.simulate.surroundings import EPOCH, Surroundings
from koordpy.sim.simulate.users import Users
from koordpy.sim.simulate.weather import Weather

REST_S = 150.0  # in which everything has to come right; less than it takes until a lost wake-up is made good for
STATUS_REST_S = 330.0  # a status that was refused as invalid is written again after five minutes
_LOOK_EVERY_S = 1.0
_STEP_AT_REST_S = 5.0
_GRACE_S = 30.0  # what Kubernetes grants a pod by default
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@dataclass(frozen=True)
class Outcome:
    """`wrong` is empty if all went well; `record` is every write that reached the network, in order."""

    history: History
    wrong: tuple[str, ...]
    record: tuple[str, ...]
    beliefs: tuple[str, ...]
    binds: int
    rested_s: float  # after the faults, until everything was as it should

    @property
    def digest(self) -> str:
        return hashlib.sha256("\n".join(self.record).encode()).hexdigest()


def play(history: History) -> Outcome:
    """In a loop of its own."""
    loop = VirtualLoop()
    loop.set_task_factory(task_of_a_machine)  # type: ignore[arg-type]  # the protocol has changed between versions
    loop.set_exception_handler(lambda _loop, _context: None)  # killed machines leave tasks, which are cancelled
    collects = gc.isenabled()
    gc.disable()  # when a dead machine's objects are collected is no part of the history
    try:
        return loop.run_until_complete(_World(history, loop).run())
    except Stuck as error:
        return Outcome(history, (str(error),), (), (), 0, 0.0)
    finally:
        loop.close()
        if collects:
            gc.enable()


class _Wrong(Exception):
    pass


@dataclass
class _Armed:
    """A kill that waits for a call."""

    machine: str
    call: str
    left: int
    sent: bool
    fired: asyncio.Event


class _World:
    def __init__(self, history: History, loop: VirtualLoop) -> None:
        self._history, self._loop = history, loop
        self._weather = Weather(history.seed, list(history.windows))
        self._surroundings = Surroundings(history.seed, self._saw_mistake)
        self._machines: dict[str, Machine] = {}  # by role: the one that runs now
        self._all: list[Machine] = []
        self._record: list[str] = []
        self._binds = 0
        self._armed: list[_Armed] = []

    def _saw_mistake(self, told: str) -> None:
        self._judge.wrong.append(told)

    async def run(self) -> Outcome:
        wrong: tuple[str, ...] = ()
        beliefs: list[str] = []
        rested_s = 0.0
        with self._surroundings.in_place():
            # What was on a node that vanishes is deleted by the step that lets it vanish.
            cluster = EmbeddedCluster(clock=lambda: EPOCH + self._loop.time(), quarantine_s=None)
            chance = random.Random(f"uids {self._history.seed}")  # noqa: S311 - see Machine
            cluster.backend.new_uid = lambda: str(uuid.UUID(int=chance.getrandbits(128), version=4))
            async with cluster:
                await self._set_up(cluster)
                try:
                    rested_s = await self._play()
                except _Wrong as error:
                    wrong = error.args
                    beliefs = [line for machine in self._machines.values() for line in believed(machine)]
                except Exception as error:  # noqa: BLE001 - of the simulation itself: other worlds go on
                    wrong = (f"the world ended by {error!r}",)
                finally:
                    for machine in self._all:
                        await machine.dispose()
        return Outcome(self._history, wrong, tuple(self._record), tuple(beliefs), self._binds, rested_s)

    async def _set_up(self, cluster: EmbeddedCluster) -> None:
        self._cluster = cluster
        await prepare(cluster)
        self._surprises = Surprises(self._weather.is_calm)
        self._judge = Judge(cluster.store, self._surprises)
        self._users = Users(cluster)
        for role in MACHINES:
            self._start(role)

    # --- machines ---

    def _start(self, role: str) -> None:
        run = sum(machine.name.startswith(role) for machine in self._all)
        machine = Machine(f"{role}{run}", self._history.seed, self._loop)
        self._machines[role] = machine
        self._all.append(machine)
        network = Network(self._cluster, machine, self._weather, self._sent, self._answered)
        machine.start(functools.partial(run_scheduler if role in SCHEDULERS else run_controllers, machine, network))

    async def kill(self, machine: str, seconds: float) -> None:
        """And started anew after some seconds."""
        self._machines[machine].kill()
        await self._start_again(machine, seconds)

    def _mishap(self, machine: str) -> None:
        if machine in SCHEDULERS:
            self._surprises.mishap()

    async def end(self, machine: str, seconds: float) -> None:
        """Gracefully, as by an upgrade, and started anew after some seconds."""
        self._mishap(machine)
        ending, began = self._machines[machine], self._loop.time()
        if not await ending.end(_GRACE_S):
            self._judge.wrong.append(f"{ending.name} was asked to end, and has not after {_GRACE_S:.0f} seconds")
        if ending.has_ended and not ending.was_stopped and self._weather.is_calm(began, self._loop.time()):
            self._judge.look_at_end(ending)
        await self._start_again(machine, seconds)

    async def _start_again(self, machine: str, seconds: float) -> None:
        self._mishap(machine)
        await asyncio.sleep(seconds)
        if self._machines[machine].is_dead:
            self._start(machine)
            self._mishap(machine)

    async def kill_at(self, machine: str, call: str, nth: int, *, sent: bool, seconds: float) -> None:
        """Between two steps: at its nth call of a kind from now on, right before it is sent or is answered."""
        armed = _Armed(machine, call, nth, sent, asyncio.Event())
        self._armed.append(armed)
        try:
            async with asyncio.timeout(max(0.0, ACTIVE_S - self._loop.time())):
                await armed.fired.wait()
        except TimeoutError:
            return
        finally:
            self._armed.remove(armed)
        await self.kill(machine, seconds)

    def _perhaps_kill(self, machine: Machine, method: str, path: str, *, sent: bool) -> None:
        for armed in self._armed:
            if armed.sent == sent and machine.name.startswith(armed.machine) and not machine.is_dead:
                armed.left -= path.endswith(f"/{armed.call}") or method == armed.call
                if armed.left <= 0 and not armed.fired.is_set():
                    machine.kill()
                    armed.fired.set()

    async def pause(self, machine: str, seconds: float) -> None:
        paused = self._machines[machine]
        paused.stop()
        self._mishap(machine)
        await asyncio.sleep(seconds)
        paused.go_on()
        self._mishap(machine)

    async def jump(self, machine: str, seconds: float) -> None:
        """Of its wall clock."""
        self._machines[machine].wall_offset += seconds

    # --- the network ---

    def _sent(self, machine: Machine, method: str, path: str, body: bytes) -> None:
        self._perhaps_kill(machine, method, path, sent=False)
        if not machine.is_dead:
            self._judge.sent(machine, method, path, body)

    def _answered(self, machine: Machine, method: str, path: str, body: bytes, outcome: str) -> None:
        if method == "GET":
            return
        self._perhaps_kill(machine, method, path, sent=True)
        told = hashlib.sha256(body).hexdigest()[:12]
        self._record.append(f"{self._loop.time():.6f} {machine.name} {method} {path} {told}: {outcome}")
        if outcome in ("200", "201"):
            self._judge.answered(machine, method, path, body)
        if method == "DELETE" and "/pods/" in path and outcome != "200":
            self._judge.look_at_failed_deletion(path)
        if path.endswith("/binding"):
            self._binds += 1
            if outcome != "201":
                self._judge.look_at_failed_bind(path)

    # --- time ---

    async def _play(self) -> float:
        tasks: list[asyncio.Task[None]] = []
        try:
            for step in self._history.steps:
                await self._until(step.at)
                self._record.append(str(step))
                tasks.append(self._loop.create_task(self._do(step)))
            await self._until(max(ACTIVE_S, self._weather.ends))
            while not all(task.done() for task in tasks):
                await self._until(self._loop.time() + _LOOK_EVERY_S)
            for task in tasks:
                task.result()
            return await self._come_to_rest()
        finally:
            for task in tasks:
                task.cancel()

    async def _do(self, step: Step) -> None:
        verbs: dict[str, Callable[..., Coroutine[Any, Any, None]]] = {
            "kill": self.kill,
            "kill_at": self.kill_at,
            "end": self.end,
            "pause": self.pause,
            "jump": self.jump,
        }
        await (verbs.get(step.verb) or getattr(self._users, step.verb))(**step.arguments)

    async def _until(self, at: float) -> None:
        while (left := at - self._loop.time()) > 0:
            self._look()
            await asyncio.sleep(min(left, _LOOK_EVERY_S))
        self._look()

    def _look(self) -> None:
        self._judge.check()
        for machine in self._machines.values():
            if told := machine.ended_by:
                self._judge.wrong.append(f"{machine.name} ended by itself: {told}")
        if self._judge.wrong:
            raise _Wrong(*dict.fromkeys(self._judge.wrong))

    async def _come_to_rest(self) -> float:
        began = self._loop.time()
        while True:
            await self._until(self._loop.time() + _STEP_AT_REST_S)
            wrong = wrong_at_rest(self._judge.truth)
            wrong += drift(self._judge.truth, [self._machines[role] for role in SCHEDULERS])
            untrue = list(untrue_statuses(self._judge.truth))
            took = self._loop.time() - began
            if not wrong and not untrue:
                return took
            if took > STATUS_REST_S or (wrong and took > REST_S):
                raise _Wrong(*(f"after {took:.0f} seconds without faults: {told}" for told in (*wrong, *untrue)))


async def prepare(cluster: EmbeddedCluster) -> None:
    """What an administrator installs before the first user comes."""
    await cluster.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    for definition in _definitions():
        await cluster.create(_CRDS, definition)
    for name, value in CLASSES.items():
        await cluster.create("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": name}, "value": value})


async def run_scheduler(machine: Machine, network: Network) -> None:
    client = Client(network)
    # Advice is worked out in a budget of real time, and a seed must give the same history on any machine.
    machine.process = Process(client, Settings(advice=False), SharedReflectors(client))
    await machine.process.run()


async def run_controllers(machine: Machine, network: Network) -> None:
    client = Client(network)
    reflectors = SharedReflectors(client)
    machine.process = Controllers(client, Settings(), reflectors)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(reflectors.run())
        tasks.create_task(machine.process.run())


@functools.cache
def _definitions() -> list[dict[str, Any]]:
    return [*definitions(), *workload_definitions()]
