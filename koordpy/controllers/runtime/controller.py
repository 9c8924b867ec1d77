"""A controller: workers that take keys from the work queue and call a reconciler, as in controller-runtime.

The controller owns what happens to a key afterwards. A reconcile that raises is repeated with back-off, whatever it
raised: only the work queue remembers that the status is not up to date. The controller knows no kind of object and
never writes to the API server itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Hashable
from typing import Generic, Protocol, TypeVar

import structlog

from koordpy.controllers.runtime.workqueue import WorkQueue
from koordpy.controllers.runtime.writehealth import WriteHealth
from koordpy.kube.errors import ApiError, Invalid

K = TypeVar("K", bound=Hashable)
K_contra = TypeVar("K_contra", bound=Hashable, contravariant=True)

# A request that is wrong in itself is tried again when its object changes, but seldom: it is mostly refused again.
# Without a change it is tried after some minutes, as the definition may have been replaced.
_REFUSED_PAUSE_S = 2.0
_REQUEUE_REFUSED_S = 300.0

log = structlog.get_logger()


class Reconciler(Protocol[K_contra]):
    """Brings the status of one object up to date."""

    async def reconcile(self, key: K_contra) -> float:
        """Compute the status from the state of this moment, and write it if it differs.

        An object that was deleted needs nothing. Returns for how many seconds the work queue should hold the key back.
        Raises when the object is not up to date; the controller then tries again.
        """


class Controller(Generic[K]):
    """One kind of object, under the name that it has in logs, metrics and health checks; `what` of it is kept true.

    `synced` is set once everything that a status is computed from has been listed: half of the pods make half a gang.
    `all_keys` are those of the objects that are known when the controller starts to lead. The log is told that they are
    kept true, unless there can be none, as their definition is not installed. A request that was refused as invalid is
    repeated after `requeue_refused_s`, if nothing changes before.
    """

    def __init__(
        self,
        name: str,
        reconciler: Reconciler[K],
        queue: WorkQueue[K],
        *,
        synced: asyncio.Event,
        all_keys: Callable[[], Collection[K]],
        workers: int,
        what: str = "status",
        requeue_refused_s: float = _REQUEUE_REFUSED_S,
        is_installed: Callable[[], bool] = lambda: True,
    ) -> None:
        self.name, self.what = name, what
        self._reconciler, self._queue, self._health = reconciler, queue, WriteHealth(name, what)
        self._synced, self._all_keys, self._workers = synced, all_keys, workers
        self._requeue_refused_s, self._is_installed = requeue_refused_s, is_installed

    @property
    def trouble(self) -> str:
        """Why statuses cannot be written; empty while they can."""
        return self._health.trouble

    async def run(self) -> None:
        """Reconcile every object, then those that change, until cancelled; only while this process leads."""
        await self._synced.wait()
        keys = self._all_keys()
        if keys or self._is_installed():
            event = f"keeping_{self.name}_{self.what}"
            log.info(event, objects=len(keys))
        self._queue.start()
        try:
            for key in keys:
                self._queue.add(key)
            async with asyncio.TaskGroup() as tasks:
                for _ in range(self._workers):
                    tasks.create_task(self._work())
        finally:
            self._queue.shut_down()
            self._health.reset()

    async def _work(self) -> None:
        while True:
            await self._process(await self._queue.get())

    async def _process(self, key: K) -> None:
        try:
            pause_s = await self._reconciler.reconcile(key)
        except Invalid as error:
            self._queue.done(key, pause_s=_REFUSED_PAUSE_S, requeue_after_s=self._requeue_refused_s)
            self._health.refused(key, error)
        except ApiError as error:
            self._queue.retry(key, at_least_s=error.retry_after)
            self._health.failed(key, error)
        except Exception:
            self._queue.retry(key)
            log.exception("reconcile_failed", controller=self.name, object=str(key), hint=_OURS)
        else:
            self._queue.done(key, pause_s=pause_s)
            self._health.succeeded(key)


_OURS = "please report this; the object is tried again, and no other is affected"
