"""What a decision can ask for, as values. `hands.py` carries them out, and nothing else does."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from koordpy.api.queuejob import QueueJobStatus
from koordpy.controllers.queuejob.names import Slot
from koordpy.controllers.queuejob.pods import JobPod


class Telling(NamedTuple):
    """An event about the QueueJob."""

    kind: Literal["Normal", "Warning"]
    reason: str
    text: str


class DeletePod(NamedTuple):
    pod: JobPod


class WriteSpec(NamedTuple):
    """The SchedulingSpec of the same name: created, or changed to this."""

    spec: dict[str, Any]


class CreateService(NamedTuple):
    """The headless Service of the same name."""


class DeleteService(NamedTuple):
    """The QueueJob's own, of this UID: it asks for none any more."""

    uid: str


class DeleteJob(NamedTuple):
    """Its time after the end is over."""


Effect = DeletePod | WriteSpec | CreateService | DeleteService | DeleteJob


class Transition(NamedTuple):
    """A status that has to be stored before anything follows from it: whoever reads it later knows what was decided."""

    status: QueueJobStatus
    telling: Telling | None = None


class Steps(NamedTuple):
    """What follows from the stored status and the pods that exist."""

    status: QueueJobStatus  # counters and conditions as they are now
    effects: tuple[Effect, ...] = ()
    minimum: tuple[Slot, ...] = ()  # pods to create, of the minimum
    surplus: tuple[Slot, ...] = ()  # and beyond it
    surplus_made: int = 0
    look_again_at: float | None = None  # something follows from the time alone
    status_first: bool = False  # the status has to be stored before anything else is done

    @property
    def lacks_pods(self) -> bool:
        return bool(self.minimum or self.surplus)


Decision = Transition | Steps
