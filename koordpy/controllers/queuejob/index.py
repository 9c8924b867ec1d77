"""What the controller knows: QueueJobs, their pods, SchedulingSpecs and Services, and PriorityClasses, from watches.

Answers to our own writes are recorded here at once, because decisions must not wait for the watch to show them. The
index never decides and never writes. Whatever may change a decision is told, by the key of the QueueJob.
"""

from __future__ import annotations

from collections.abc import Callable

from koordpy.api.pod import Pod
from koordpy.api.policy import PriorityClass
from koordpy.api.queuejob import QueueJob, SchedulingSpec
from koordpy.api.workload import Service
from koordpy.controllers.queuejob.companions import Companions
from koordpy.controllers.queuejob.gone import Gone
from koordpy.controllers.queuejob.names import read_name
from koordpy.controllers.queuejob.pods import JobPod, cause_of, owner_of
from koordpy.controllers.runtime.versions import is_newer


class QueueJobIndex:
    """The sink of the watches of QueueJobs. `changed` is told keys, `freed` the namespace of a pod that ended."""

    def __init__(self, changed: Callable[[str], None], freed: Callable[[str], None]) -> None:
        self._changed, self._freed = changed, freed
        self._jobs: dict[str, QueueJob] = {}  # by namespace/name
        self._key_of: dict[str, str] = {}  # UID -> key
        self._gone = Gone()
        self.pods = _Pods(self)
        self.specs: Companions[SchedulingSpec] = Companions(self._tell_key)
        self.services: Companions[Service] = Companions(self._tell_key)
        self.classes = _Classes(self)

    def keys(self) -> list[str]:
        return list(self._jobs)

    def has_any_in(self, namespace: str) -> bool:
        return any(job.metadata.namespace == namespace for job in self._jobs.values())

    def get(self, key: str) -> QueueJob | None:
        return self._jobs.get(key)

    def key_of(self, uid: str) -> str | None:
        return self._key_of.get(uid)

    def priority_of(self, job: QueueJob) -> int:
        """By the class of the schedSpec, else its number, else the highest class among the templates."""
        scheduling = job.spec.scheduling
        value = self.classes.values.get(scheduling.priority_class_name)
        if value is not None:
            return value
        if scheduling.priority is not None:
            return scheduling.priority
        named = ((task.template.get("spec") or {}).get("priorityClassName") for task in job.spec.task_specs)
        return max((self.classes.values.get(name or "", 0) for name in named), default=0)

    def upsert(self, obj: QueueJob) -> None:
        """A QueueJob was added or updated, or we have written it."""
        key, known = obj.metadata.key, self._jobs.get(obj.metadata.key)
        if obj.metadata.uid in self._gone or not is_newer(obj.metadata, known.metadata if known else None):
            return
        if known is not None and known.metadata.uid != obj.metadata.uid:
            self._key_of.pop(known.metadata.uid, None)
        self._jobs[key] = obj
        self._key_of[obj.metadata.uid] = key
        self._changed(key)

    def remove(self, key: str, uid: str) -> None:
        """A QueueJob was deleted."""
        known = self._jobs.get(key)
        self._gone.add(uid)
        self._key_of.pop(uid, None)
        if known is not None and known.metadata.uid == uid:
            del self._jobs[key]
        self._changed(key)

    def tell(self, uid: str) -> None:
        if (key := self._key_of.get(uid)) is not None:
            self._changed(key)

    def tell_all(self) -> None:
        for key in self._jobs:
            self._changed(key)

    def _tell_key(self, key: str) -> None:
        if key in self._jobs:
            self._changed(key)

    def tell_freed(self, namespace: str) -> None:
        self._freed(namespace)


class _Pods:
    """The sink of the watch of pods; keeps those that a QueueJob controls."""

    def __init__(self, index: QueueJobIndex) -> None:
        self._index = index
        self._by_job: dict[str, dict[str, JobPod]] = {}  # UID of the QueueJob -> name -> pod
        self._job_of: dict[str, tuple[str, str]] = {}  # namespace/name of the pod -> UID of its QueueJob, its own UID
        self._going: set[str] = set()  # UIDs of pods whose deletion was accepted, and not seen yet
        self._gone = Gone()

    def of(self, job_uid: str) -> list[JobPod]:
        pods = self._by_job.get(job_uid, {}).values()
        return [pod._replace(terminating=True) if pod.uid in self._going else pod for pod in pods]

    def upsert(self, obj: Pod) -> None:
        """A pod was added or updated."""
        if obj.is_finished:
            self._index.tell_freed(obj.metadata.namespace)
        if (owner := owner_of(obj.metadata)) is not None:
            self._keep(obj, owner.name, owner.uid)
        else:
            self._forget(obj.metadata.key, obj.metadata.uid)  # orphaned: not ours any more

    def created(self, obj: Pod) -> None:
        """We have created it, or found it created. The watch may know it, and even its end, already."""
        known = self._job_of.get(obj.metadata.key)
        if obj.metadata.uid not in self._gone and (known is None or known[1] != obj.metadata.uid):
            self.upsert(obj)

    def deleting(self, uid: str) -> None:
        """The API server has accepted its deletion."""
        if uid not in self._gone:
            self._going.add(uid)

    def vanished(self, namespace: str, pod: JobPod) -> None:
        """The API server says that there is no such pod."""
        self.remove(f"{namespace}/{pod.name}", pod.uid)

    def remove(self, key: str, uid: str) -> None:
        """A pod was deleted."""
        self._index.tell_freed(key.partition("/")[0])
        self._forget(key, uid)

    def _keep(self, pod: Pod, job_name: str, job_uid: str) -> None:
        meta = pod.metadata
        name = read_name(job_name, meta.name)
        if name is None:  # somebody else's, in our name: nothing is known about its place
            return
        record = JobPod(
            meta.name,
            meta.uid,
            name.slot,
            name.incarnation,
            pod.status.phase,
            meta.deletion_timestamp is not None,
            cause_of(pod),
            meta.creation_timestamp or "",
        )
        known = self._by_job.setdefault(job_uid, {})
        before = known.get(meta.name)
        known[meta.name] = record
        self._job_of[meta.key] = job_uid, meta.uid
        if before != record:
            self._index.tell(job_uid)

    def _forget(self, key: str, uid: str) -> None:
        job_uid, known_uid = self._job_of.get(key, ("", ""))
        if known_uid != uid:
            return
        del self._job_of[key]
        pods = self._by_job[job_uid]
        del pods[key.partition("/")[2]]
        if not pods:
            del self._by_job[job_uid]
        self._going.discard(uid)
        self._gone.add(uid)
        self._index.tell(job_uid)


class _Classes:
    """The sink of the watch of PriorityClasses."""

    def __init__(self, index: QueueJobIndex) -> None:
        self._index = index
        self.values: dict[str, int] = {}

    def upsert(self, obj: PriorityClass) -> None:
        """A class was added or updated."""
        if self.values.get(obj.metadata.name) != obj.value:
            self.values[obj.metadata.name] = obj.value
            self._index.tell_all()

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - a sink gets both
        """A class was deleted; jobs that name it go on as without it."""
        if self.values.pop(key, None) is not None:
            self._index.tell_all()
