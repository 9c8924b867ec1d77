"""When the controllers look at an object: after it changed, after something that it controls changed, or at a time.

One task plays all controllers. What happens to an object while it waits to be looked at is looked at once. Time comes
from the running loop only, so that it works in virtual time.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

from koordpy.sim.embedded.errors import ApiError
from koordpy.sim.embedded.workloads.control import Control
from koordpy.sim.embedded.workloads.dependents import Dependents, Place, controller_of, place_of
from koordpy.sim.embedded.workloads.deployment import Deployments
from koordpy.sim.embedded.workloads.garbage import GarbageCollector
from koordpy.sim.embedded.workloads.job import Jobs
from koordpy.sim.embedded.workloads.operators.mpijob import MPIJobs
from koordpy.sim.embedded.workloads.operators.pytorchjob import PyTorchJobs
from koordpy.sim.embedded.workloads.operators.raycluster import RayClusters
from koordpy.sim.embedded.workloads.podgc import PodCollector
from koordpy.sim.embedded.workloads.replicaset import ReplicaSets
from koordpy.sim.embedded.workloads.statefulset import StatefulSets

if TYPE_CHECKING:
    from koordpy.sim.embedded.backend import Backend
    from koordpy.sim.embedded.store import Change, Stored

Obj = dict[str, Any]

# Of a large Job thousands of pods change one after the other, and each look at it goes over all of them. So it is
# looked at the more rarely the more it has: every second with 10,000 pods, as the real controller.
_GATHER_SECONDS, _GATHER_SECONDS_PER_DEPENDENT = 0.05, 0.0001
_RETRY_SECONDS = 5.0
_SOONEST_SECONDS = 0.01  # a rounding error before its time an object is not looked at over and over
_CONTROLLERS = (ReplicaSets, Deployments, StatefulSets, Jobs, PyTorchJobs, MPIJobs, RayClusters)
_KINDS = {
    ("apps/v1", "ReplicaSet"): "replicasets.apps",
    ("apps/v1", "Deployment"): "deployments.apps",
    ("apps/v1", "StatefulSet"): "statefulsets.apps",
    ("batch/v1", "Job"): "jobs.batch",
    ("kubeflow.org/v1", "PyTorchJob"): "pytorchjobs.kubeflow.org",
    ("kubeflow.org/v2beta1", "MPIJob"): "mpijobs.kubeflow.org",
    ("ray.io/v1", "RayCluster"): "rayclusters.ray.io",
}


class Controller(Protocol):
    """What each of them offers; `storage` is what it looks at, `component` what its events are said by."""

    storage: str
    component: str

    def sync(self, stored: Stored) -> float | None:
        """Bring the cluster closer to what the object asks for; returns the seconds until it wants to look again."""

    def gone(self, stored: Stored) -> None:
        """The object is deleted."""


class Workloads:
    """Hears the store from the moment it is made; `run` acts.

    Pods whose node does not exist are kept for `quarantine_s`, and for ever if that is None.
    """

    def __init__(self, backend: Backend, quarantine_s: float | None) -> None:
        self._store = backend.store
        self._dependents = Dependents(backend.store)
        self._controls = {kind.storage: Control(backend, self._dependents, kind.component) for kind in _CONTROLLERS}
        self._controllers: dict[str, Controller] = {
            kind.storage: kind(self._controls[kind.storage]) for kind in _CONTROLLERS
        }
        self._garbage = GarbageCollector(backend, self._dependents)
        self._pods = PodCollector(backend, self._dependents, quarantine_s)
        self._due: list[tuple[float, int, Place]] = []
        self._at: dict[Place, float] = {}  # the earliest time in `_due`; later entries of the same object are stale
        self._gone: deque[Stored] = deque()  # nothing is written while a change is heard: its author is still writing
        self._order = 0
        self._wake = asyncio.Event()
        backend.store.subscribe_all(self._hear)

    async def run(self) -> None:
        """Play the controllers until cancelled."""
        while True:
            now = await self._wait()
            self._wake.clear()
            while self._due and self._due[0][0] <= now:
                at, _, place = heapq.heappop(self._due)
                if self._at.get(place) == at:
                    del self._at[place]
                    self._look(place)
                    await asyncio.sleep(0)  # requests are answered between two objects
            while self._gone:
                gone = self._gone.popleft()
                self._controllers[gone.storage].gone(gone)
            self._garbage.collect()
            self._pods.collect(now)

    async def _wait(self) -> float:
        """Until something is due or new; returns the time it is."""
        dues = [at for at in (self._due[0][0] if self._due else None, self._pods.due) if at is not None]
        due = min(dues, default=None)
        try:
            async with asyncio.timeout_at(due):
                await self._wake.wait()
        except TimeoutError:  # the clock is not asked: it may be a hair early, and stand still in tests
            return due or 0.0
        return asyncio.get_running_loop().time()

    def _look(self, place: Place) -> None:
        stored = self._store.get(place.storage, *place.key)
        if stored is not None:
            try:
                again = self._controllers[place.storage].sync(stored)
            except ApiError as error:  # what it wanted to make was refused
                self._controls[place.storage].warn(stored.obj, "FailedCreate", f"Error creating: {error.message}")
                again = _RETRY_SECONDS
            if again is not None:
                self._plan(place, max(again, _SOONEST_SECONDS))

    def _hear(self, change: Change) -> None:
        self._dependents.hear(change)
        if self._garbage.hear(change):
            self._wake.set()
        if self._pods.hear(change):
            self._wake.set()
        new = change.new
        if new.storage in self._controllers:
            if change.kind == "DELETED":
                self._gone.append(new)
                self._wake.set()
            else:
                self._plan(place_of(new), 0.0)
        self._tell_controllers(change)

    def _tell_controllers(self, change: Change) -> None:
        """Who controls it looks again. A pod that is gone concerns the Deployment, too: it may have waited for that."""
        controller = controller_of(change.new.obj)
        while controller is not None:
            storage = _KINDS.get((controller["apiVersion"], controller["kind"]))
            if storage is None:
                return
            place = Place(storage, (change.new.key[0], controller["name"]))
            dependents = self._dependents.count(controller["uid"])
            self._plan(place, _GATHER_SECONDS + dependents * _GATHER_SECONDS_PER_DEPENDENT)
            above = self._store.get(place.storage, *place.key) if change.kind == "DELETED" else None
            controller = controller_of(above.obj) if above else None

    def _plan(self, place: Place, delay: float) -> None:
        at = asyncio.get_running_loop().time() + delay
        if at < self._at.get(place, float("inf")):
            self._order += 1
            self._at[place] = at
            heapq.heappush(self._due, (at, self._order, place))
            self._wake.set()
