"""The work queue: which keys have to be reconciled, and when.

The work queue is modelled on client-go's. It drops duplicates of a key, hands a key to one worker at a time, and delays
a key whose reconcile failed by a back-off of its own. Two more delays keep the number of status writes low:

- Watch events come in bursts: a gang of a thousand is bound within a second. The first event of a key starts a short
  batch period, and all events in it lead to one reconcile.
- After a reconcile the key is held back for as long as the reconciler asks. Events in that pause lead to one reconcile
  at its end.

The work queue never calls a reconciler and never judges an error. While it is shut down it keeps nothing: a controller
that starts to lead adds every key again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from typing import Generic, TypeVar

from koordpy.kube.backoff import Backoff

K = TypeVar("K", bound=Hashable)

_BATCH_S = 0.1  # too short to be noticed, long enough for the pods of a gang that is bound in one go
# A conflict passes at once, a missing permission does not: the first retry is quick, and at most one a minute is made
# for a key, however long the API server refuses.
_FIRST_RETRY_S = 0.5
_LONGEST_RETRY_S = 60.0


class WorkQueue(Generic[K]):
    """Keys to reconcile. Workers `get` a key, and hand it back with `done` or `retry`."""

    def __init__(self, batch_s: float = _BATCH_S) -> None:
        self._batch_s = batch_s
        self._ready: asyncio.Queue[K] | None = None  # None while the queue is shut down
        self._ready_keys: set[K] = set()
        self._held: set[K] = set()  # a worker has the key, or it is held back since
        self._dirty: set[K] = set()  # held keys that have to be reconciled again
        self._timers: dict[K, asyncio.TimerHandle] = {}  # end of the batch period, of the pause or of the back-off
        self._requeues: dict[K, asyncio.TimerHandle] = {}  # of keys that nothing else will hand out sooner
        self._backoffs: dict[K, Backoff] = {}  # of keys whose last reconcile failed

    def start(self) -> None:
        """Accept keys, until `shut_down`."""
        self._ready = asyncio.Queue()

    def shut_down(self) -> None:
        """Drop every key. Call it when no worker holds one any more."""
        self._ready = None
        for timer in (*self._timers.values(), *self._requeues.values()):
            timer.cancel()
        for kept in (self._ready_keys, self._held, self._dirty, self._timers, self._requeues, self._backoffs):
            kept.clear()

    def add(self, key: K) -> None:
        """Something about the key has changed: reconcile it. Ignored while the queue is shut down."""
        if self._ready is None:
            return
        if key in self._held:
            self._dirty.add(key)
        elif key not in self._ready_keys and key not in self._timers:
            if (later := self._requeues.pop(key, None)) is not None:
                later.cancel()
            self._timers[key] = asyncio.get_running_loop().call_later(self._batch_s, self._make_ready, key)

    async def get(self) -> K:
        """The next key; no other worker gets it before it is handed back."""
        assert self._ready is not None, "the queue has been started"
        key = await self._ready.get()
        self._ready_keys.discard(key)
        self._held.add(key)
        return key

    def done(self, key: K, *, pause_s: float, requeue_after_s: float | None = None) -> None:
        """The key was reconciled. Hold it back for a while, then reconcile it if it was added meanwhile.

        If nothing adds the key, it is reconciled again `requeue_after_s` after the pause, or never.
        """
        self._backoffs.pop(key, None)
        self._hold(key, pause_s, requeue_after_s)

    def retry(self, key: K, *, at_least_s: float | None = None) -> None:
        """The reconcile failed: repeat it after the back-off. Events of the key do not shorten the back-off."""
        self._dirty.add(key)
        backoff = self._backoffs.setdefault(key, Backoff(_FIRST_RETRY_S, _LONGEST_RETRY_S))
        self._hold(key, backoff.next_s(at_least_s))

    def _hold(self, key: K, seconds: float, requeue_after_s: float | None = None) -> None:
        self._timers[key] = asyncio.get_running_loop().call_later(seconds, self._release, key, requeue_after_s)

    def _release(self, key: K, requeue_after_s: float | None) -> None:
        del self._timers[key]
        self._held.discard(key)
        if key in self._dirty:
            self._dirty.discard(key)
            self._make_ready(key)
        elif requeue_after_s is not None:
            self._requeues[key] = asyncio.get_running_loop().call_later(requeue_after_s, self._make_ready, key)

    def _make_ready(self, key: K) -> None:
        assert self._ready is not None, "shutting down cancels the timers"
        self._timers.pop(key, None)
        self._requeues.pop(key, None)
        self._ready_keys.add(key)
        self._ready.put_nowait(key)
