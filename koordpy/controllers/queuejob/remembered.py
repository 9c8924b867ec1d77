"""What a QueueJob's status remembers of pods that may be gone: which ran in this incarnation, and which succeeded.

Without it a pod that was deleted could not be told from one that was never made, and work that is done would be done
again when somebody deletes the pod that did it. Nor could a pod that scaling has removed be told from a lost one, when
its place is wanted again before it is gone: both have the same name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from koordpy.api.queuejob import QueueJobSpec, QueueJobStatus, TaskStatus
from koordpy.controllers.queuejob.names import Slot, read_indexes, task_names, write_indexes
from koordpy.controllers.queuejob.pods import JobPod

_RAN = ("Running", "Succeeded", "Failed")


class Remembered(NamedTuple):
    started: frozenset[Slot] = frozenset()  # in this incarnation
    completed: frozenset[Slot] = frozenset()  # since the templates are what they are
    removed: frozenset[Slot] = frozenset()  # by scaling, and the pod is not gone yet

    @classmethod
    def of(cls, status: QueueJobStatus) -> Remembered:
        tasks = status.task_statuses
        return cls(
            frozenset(Slot(task.name, index) for task in tasks for index in read_indexes(task.started_indexes)),
            frozenset(Slot(task.name, index) for task in tasks for index in read_indexes(task.completed_indexes)),
            frozenset(Slot(task.name, index) for task in tasks for index in read_indexes(task.removed_indexes)),
        )

    def seen(self, pods: Iterable[JobPod], incarnation: int, wanted: Collection[Slot]) -> Remembered:
        """With the pods that exist, which are of the present templates, and the places that are wanted now.

        What scaling removes has not started, as far as later decisions go: its place may come back, and was not lost.
        A pod that is removed once stays so until it is gone. A pod that has succeeded does no harm, and stays.
        """
        pods = list(pods)
        current = [pod for pod in pods if pod.incarnation == incarnation]
        ran = {pod.slot for pod in current if pod.phase in _RAN}
        unwanted = {pod.slot for pod in current if pod.slot in self.removed or pod.slot not in wanted}
        removed = unwanted - {pod.slot for pod in current if pod.succeeded}
        return Remembered(
            (self.started | ran).intersection(wanted) - removed,
            self.completed | {pod.slot for pod in pods if pod.succeeded},
            frozenset(removed),
        )

    def begun_anew(self) -> Remembered:
        """At the beginning of the next incarnation nothing has started, and what was done is done."""
        return Remembered(completed=self.completed)

    def takes_back(self, earlier: Remembered) -> bool:
        """Whether places are given up, or free again: that has to be stored before pods of them go or come."""
        return self.removed != earlier.removed or not earlier.started <= self.started

    def as_statuses(self, spec: QueueJobSpec) -> tuple[TaskStatus, ...]:
        return tuple(
            TaskStatus(name, _written(self.started, name), _written(self.completed, name), _written(self.removed, name))
            for name in task_names(spec)
        )


def _written(slots: frozenset[Slot], task: str) -> str:
    return write_indexes(slot.index for slot in slots if slot.task == task)
