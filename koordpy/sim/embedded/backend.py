"""What every verb of the API works on: the objects, the served resources, the clock and the uids."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from koordpy.sim.embedded.resources import Registry, builtin_resources
from koordpy.sim.embedded.store import Store


def _new_uid() -> str:
    return str(uuid.uuid4())


@dataclass(slots=True)
class Backend:
    """`clock` gives seconds since the epoch; tests in virtual time derive it from the loop's time."""

    store: Store = field(default_factory=Store)
    registry: Registry = field(default_factory=builtin_resources)
    clock: Callable[[], float] = time.time
    new_uid: Callable[[], str] = _new_uid

    def now(self) -> str:
        return timestamp(self.clock())


def timestamp(seconds: float) -> str:
    """RFC 3339 to the second, as `metav1.Time` is written."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
