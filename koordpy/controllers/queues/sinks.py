"""The sinks of the watches that tell the index of queues about objects other than pods."""

from __future__ import annotations

from koordpy.api.podgroup.coscheduling import PodGroup
from koordpy.api.podgroup.kai import KaiPodGroup, KaiPodGroupSpec
from koordpy.api.policy import PriorityClass
from koordpy.api.queue import GROUP, Queue
from koordpy.controllers.queues.index import QueueIndex
from koordpy.controllers.queues.members import GANG, RUN_AI, JobKey


class QueueSink:
    """Of Queues."""

    def __init__(self, index: QueueIndex) -> None:
        self._index = index

    def upsert(self, obj: Queue) -> None:
        """A Queue was added or updated."""
        self._index.upsert_queue(obj)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - a sink gets both
        """A Queue was deleted."""
        self._index.remove_queue(key)


class GangSink:
    """Of PodGroups of one of the API groups whose PodGroups say nothing of queues; they may have the label."""

    def __init__(self, index: QueueIndex, api_group: str) -> None:
        self._index, self._api_group = index, api_group

    def upsert(self, obj: PodGroup) -> None:
        """A PodGroup was added or updated."""
        self._index.upsert_object(JobKey(GANG, obj.metadata.key), self._api_group, obj.metadata, KaiPodGroupSpec())

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - a sink gets both
        """A PodGroup was deleted."""
        self._index.remove_object(JobKey(GANG, key), self._api_group)


class RunAISink:
    """Of PodGroups of scheduling.run.ai."""

    def __init__(self, index: QueueIndex) -> None:
        self._index = index

    def upsert(self, obj: KaiPodGroup) -> None:
        """A PodGroup was added or updated."""
        self._index.upsert_object(JobKey(RUN_AI, obj.metadata.key), GROUP, obj.metadata, obj.spec)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - a sink gets both
        """A PodGroup was deleted."""
        self._index.remove_object(JobKey(RUN_AI, key), GROUP)


class PriorityClassSink:
    """Of PriorityClasses, which decide whether a PodGroup's pods are preemptible."""

    def __init__(self, index: QueueIndex) -> None:
        self._index = index

    def upsert(self, obj: PriorityClass) -> None:
        """A PriorityClass was added or updated."""
        self._index.set_class(obj.metadata.name, obj.value)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - a sink gets both
        """A PriorityClass was deleted."""
        self._index.set_class(key, None)
