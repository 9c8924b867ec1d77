"""The replay of one file: a scheduler is built, hears what the recorded one heard, and has to decide the same.

Each effect of the recorded scheduler is expected in its place: a clock gives the recorded reading, a call the recorded
answer. The first effect that differs ends the replay.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from koordpy.app.build import BuiltScheduler, build_scheduler
from koordpy.app.journal.calls import CANCELLED, error_of
from koordpy.app.journal.deliveries import DECODERS, sink_of
from koordpy.app.journal.files import read_entries, read_head
from koordpy.app.journal.recorder import call_begun, raised
from koordpy.app.journal.replayloop import ReplayLoop
from koordpy.app.settings import Settings
from koordpy.kube.client import Client
from koordpy.scheduler.answers import advisor

_NOTHING = "nothing more"


class Differs(BaseException):
    """The replayed scheduler does something else. No `except Exception` of the scheduler's own may swallow it."""


@dataclass
class Outcome:
    """What a replay has found."""

    entries: int = 0
    decisions: Counter[str] = field(default_factory=Counter)
    difference: str = ""  # where it first differs; empty: nowhere
    last_line: int = 0


def replay(path: Path, settings: Settings) -> Outcome:
    """One file, with the settings that it was recorded with; raises BadJournal."""
    return Replay(path, settings).run()


class Replay:
    """A scheduler that hears what is in a file; afterwards it knows what the recorded one knew."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self._path = path
        self._effects: Iterator[Any] = iter(())
        self._next: Any = _NOTHING
        self._found = Outcome()
        self._loop = ReplayLoop()
        self._waiting: dict[asyncio.Task[Any] | None, asyncio.Future[None]] = {}  # for an answer
        self._differs: Differs | None = None
        self._is_over = False
        instance = read_head(path).instance
        self.built: BuiltScheduler = build_scheduler(
            settings, _Answers(self), instance=instance, clock=self.clock, wall=self.clock, decided=self.decided
        )
        self._again = self._handlers()

    def run(self) -> Outcome:
        """Once."""
        _run_within(self._loop)
        try:
            for line, entry in read_entries(self._path):
                self._found.last_line = line
                with self._expecting(entry[-1]):
                    self._go(entry[0], entry[1:-1])
                self._found.entries += 1
        except Differs as differs:
            self._found.difference = f"{self._path.name}, line {self._found.last_line}: {differs}"
        finally:
            self._is_over = True
            self._loop.cut()
            _run_within(None)
        return self._found

    @contextmanager
    def _expecting(self, effects: list[Any]) -> Iterator[None]:
        self._effects = iter(effects)
        self._next = next(self._effects, _NOTHING)
        try:
            yield
        except Exception as error:  # noqa: BLE001 - the recorded one may have raised it, too
            self._expect(raised(error))
        if self._differs is not None:
            raise self._differs
        if self._next != _NOTHING:
            raise Differs(f"then it was {_told(self._next)}, and in the replay nothing more happens")

    # --- what set the scheduler in motion ---

    def _go(self, kind: str, given: list[Any]) -> None:
        again = self._again.get(kind)
        if again is None:
            raise Differs(f"this koordpy knows no entry {kind!r}")
        again(*given)

    def _handlers(self) -> dict[str, Callable[..., Any]]:
        sinks, parts = self.built.sinks, self.built.parts
        return {
            "upsert": lambda name, obj: sink_of(sinks, name).upsert(DECODERS[name](msgspec.json.encode(obj))),
            "remove": lambda name, key, uid: sink_of(sinks, name).remove(key, uid),
            "settle": lambda name: getattr(sinks, f"settle_{name}")(),
            "served": sinks.gang_objects_served,
            "run_times": parts.learnt.restore,
            "give_advice": parts.advice.give,
            "renew_refusal": partial(advisor.renew, parts),
            "tell_advice": partial(advisor.tell, parts),
            "forget_advice": parts.advice.forget,
            "start_over": self._start_over,
            "pause": lambda paused: self.built.scheduler.pause(paused=paused),
            "timer": self._fire,
            "step": self._step,
        }

    def _start_over(self) -> None:
        self.built.scheduler.start_over()
        self._loop.create_task(self.built.scheduler.run())

    def _fire(self, number: int) -> None:
        self._must(self._loop.fire(number), f"timer {number} ended, and in the replay there is none")

    def _step(self, number: int) -> None:
        answered = self._waiting.get(self._loop.task(number))
        if answered is not None and not answered.done():
            answered.set_result(None)
        self._must(self._loop.step(number), f"task {number} went on, and in the replay it waits")

    def _must(self, is_so: bool, otherwise: str) -> None:
        if self._differs is not None:
            raise self._differs
        if not is_so:
            raise Differs(otherwise)

    # --- effects ---

    def _take(self) -> Any:
        taken, self._next = self._next, next(self._effects, _NOTHING)
        return taken

    def _expect(self, effect: Any) -> Any:
        recorded = self._take()
        if recorded != effect:
            self._differ(f"it was {_told(recorded)}, and in the replay {_told(effect)}")
        return recorded

    def _differ(self, text: str) -> None:
        self._differs = self._differs or Differs(text)
        raise self._differs

    def clock(self) -> float:
        if self._is_over:
            return 0.0
        recorded = self._take()
        if not isinstance(recorded, int | float):
            self._differ(f"it was {_told(recorded)}, and in the replay a clock is read")
        return float(recorded)

    def decided(self, decision: tuple[object, ...]) -> None:
        if self._is_over:
            return
        self._expect(_plain(["decided", *decision]))
        self._found.decisions[str(decision[0])] += 1

    async def call(self, method: str, path: str, body: Any) -> bytes:
        if self._is_over:
            raise asyncio.CancelledError
        self._expect(_plain(call_begun(method, path, body)))
        if not _is_answer(self._next):
            task = asyncio.current_task()
            answered = self._waiting[task] = self._loop.create_future()
            try:
                await answered
            except asyncio.CancelledError:
                pass  # which is what was recorded, too
            finally:
                del self._waiting[task]
        if self._is_over:
            raise asyncio.CancelledError
        recorded = self._take()
        if not _is_answer(recorded):
            self._differ(f"it was {_told(recorded)}, and in the replay a call is answered")
        return _answer_of(*recorded[1:])


class _Answers(Client):
    """The client of a replayed scheduler."""

    def __init__(self, replay: Replay) -> None:
        self._replay = replay

    async def write(self, method: str, path: str, body: Any, **_: Any) -> bytes:
        return await self._replay.call(method, path, body)

    async def get_patiently(self, path: str) -> bytes:
        return await self._replay.call("GET", path, None)


def _run_within(loop: ReplayLoop | None) -> None:
    """Tasks and locks look for the loop that runs, which is otherwise set by the loop itself."""
    asyncio._set_running_loop(loop)  # noqa: SLF001 - documented for loops of one's own


def _is_answer(effect: Any) -> bool:
    return isinstance(effect, list) and effect[0] == "answered"


def _answer_of(name: str, *rest: Any) -> bytes:
    if not name:
        return msgspec.json.encode(rest[0])
    if name == CANCELLED:
        raise asyncio.CancelledError
    raise error_of(name, *rest)


def _plain(value: Any) -> Any:
    """As it comes back from JSON."""
    return msgspec.json.decode(msgspec.json.encode(value))


def _told(effect: Any) -> str:
    """For people."""
    if isinstance(effect, int | float):
        return "a reading of a clock"
    return str(effect) if isinstance(effect, str) else msgspec.json.encode(effect).decode()
