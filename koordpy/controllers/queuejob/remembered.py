"""What a QueueJob's status remembers of pods that may be gone: which ran in this incarnation, and which succeeded.

Without it a pod that was deleted could not be told from one that was never made, and work that is done would be done
again when somebody deletes the pod that did it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from koordpy.api.queuejob import QueueJobSpec, QueueJobStatus, TaskStatus
from koordpy.controllers.queuejob.names import Slot, read_indexes, task_names, write_indexes
from koordpy.controllers.queuejob.pods import JobPod

_RAN = ("Running", "Succeeded", "Failed")


class Remembered(NamedTuple):
    started: frozenset[Slot] = frozenset()  # in this incarnation
    completed: frozenset[Slot] = frozenset()  # since the templates are what they are

    @classmethod
    def of(cls, status: QueueJobStatus) -> Remembered:
        tasks = status.task_statuses
        return cls(
            frozenset(Slot(task.name, index) for task in tasks for index in read_indexes(task.started_indexes)),
            frozenset(Slot(task.name, index) for task in tasks for index in read_indexes(task.completed_indexes)),
        )

    def seen(self, pods: Iterable[JobPod], incarnation: int) -> Remembered:
        """With the pods that exist, which are of the present templates."""
        pods = list(pods)
        started = {pod.slot for pod in pods if pod.incarnation == incarnation and pod.phase in _RAN}
        return Remembered(self.started | started, self.completed | {pod.slot for pod in pods if pod.succeeded})

    def begun_anew(self) -> Remembered:
        """At the beginning of the next incarnation nothing has started, and what was done is done."""
        return Remembered(frozenset(), self.completed)

    def as_statuses(self, spec: QueueJobSpec) -> tuple[TaskStatus, ...]:
        return tuple(
            TaskStatus(name, _written(self.started, name), _written(self.completed, name)) for name in task_names(spec)
        )


def _written(slots: frozenset[Slot], task: str) -> str:
    return write_indexes(slot.index for slot in slots if slot.task == task)
