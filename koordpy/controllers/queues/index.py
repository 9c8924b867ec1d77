"""The index of queues: which pods are in which queue, and what they have together, kept up to date by the watches.

Pods are counted by jobs, as all pods of a job are in one queue: that which `spec.queue` of its PodGroup names, else the
label of its PodGroup, else that of its oldest pod, else the default queue. Sums are kept per name of a queue, whether
there is such a Queue or not: it may be created later. A pod whose PodGroup is not there yet is in no default queue.
A pod that was seen to start stays in its queue, whatever is written on it or its PodGroup later.

The index never writes to the API server. It adds the name of a Queue to the work queue when its status may have to
change; a parent's contains those of its children.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from koordpy.api import keys
from koordpy.api.meta import ObjectMeta
from koordpy.api.pod import Pod
from koordpy.api.podgroup.kai import KaiPodGroupSpec
from koordpy.api.queue import Queue
from koordpy.controllers.queues.counts import Counts, add
from koordpy.controllers.queues.members import JobKey, Member, Standing, member_of
from koordpy.controllers.runtime.versions import is_newer
from koordpy.quota.membership import DEFAULT_QUEUE
from koordpy.quota.preemptible import is_preemptible
from koordpy.quota.tree import QueueTree, tree_of

UNNAMED = ""  # the name under which jobs are counted that are in the default queue
NOWHERE = "/"  # no Queue is called so: jobs whose PodGroup is missing


@dataclass(slots=True)
class Job:
    """Pods that are in one queue."""

    key: JobKey
    members: dict[str, Member] = field(default_factory=dict)  # by UID
    objects: dict[str, tuple[ObjectMeta, KaiPodGroupSpec]] = field(default_factory=dict)  # PodGroups by API group
    queue: str = NOWHERE

    @property
    def is_running(self) -> bool:
        return any(each.is_ours and each.standing is Standing.RUNNING for each in self.members.values())

    @property
    def is_waiting(self) -> bool:
        waits = any(each.is_ours and each.standing is Standing.WAITING for each in self.members.values())
        return waits and not self.is_running

    @property
    def spec(self) -> KaiPodGroupSpec:
        """Of its PodGroup; says nothing without one, or with one of another API group."""
        return self._object[1]

    @property
    def named_queue(self) -> str:
        """The queue that the job names, UNNAMED or NOWHERE."""
        meta, spec = self._object
        by_object = spec.queue or (meta.labels.get(keys.QUEUE, "") if meta is not None else "")
        if by_object or not self.members:
            return by_object or NOWHERE
        oldest = min(self.members.values(), key=lambda each: each.born)
        missing = meta is None and any(each.needs_object for each in self.members.values())
        return oldest.queue or (NOWHERE if missing else UNNAMED)

    @property
    def _object(self) -> tuple[ObjectMeta | None, KaiPodGroupSpec]:
        """The PodGroup that counts: Koordinator's, if both API groups that name gangs have one."""
        return next((self.objects[group] for group in sorted(self.objects)), (None, _SAYS_NOTHING))


_SAYS_NOTHING = KaiPodGroupSpec()


class QueueIndex:
    """The sink of the watch of pods; `sinks.py` has those of the other kinds."""

    def __init__(
        self, schedulers: Collection[str], on_change: Callable[[str], None], default: str = DEFAULT_QUEUE
    ) -> None:
        self._schedulers, self._on_change, self.default = frozenset(schedulers), on_change, default
        self._jobs: dict[JobKey, Job] = {}
        self._job_of: dict[str, Job] = {}  # by UID of the pod
        self._counts: dict[str, Counts] = {}  # of the jobs of each queue itself, by its name
        self._queues: dict[str, Queue] = {}
        self._classes: dict[str, int] = {}
        self._tree: QueueTree | None = None

    @property
    def tree(self) -> QueueTree:
        if self._tree is None:
            self._tree = tree_of(self._queues.values())
        return self._tree

    def queue(self, name: str) -> Queue | None:
        return self._queues.get(name)

    def names(self) -> list[str]:
        return list(self._queues)

    def jobs(self) -> Iterator[Job]:
        yield from self._jobs.values()

    def row_of(self, job: Job) -> int | None:
        """The row of the job's queue in the tree; None: it is outside of queues, or its queue does not exist."""
        return self.tree.rows.get(self.default if job.queue == UNNAMED else job.queue)

    def own(self, name: str) -> Counts:
        """What the jobs of a queue itself have."""
        found = Counts()
        for each in (name, UNNAMED) if name == self.default else (name,):
            found.include(self._counts.get(each, Counts()))
        return found

    def total(self, name: str) -> Counts:
        """What a queue has, with all queues below it."""
        row, found = self.tree.rows[name], Counts()
        for below in self.tree.below[row]:
            found.include(self.own(self.tree.names[below]))
        return found

    def is_preemptible(self, job: Job, member: Member) -> bool:
        """Whether a pod of a job can be taken away."""
        spec = job.spec
        priority = self._classes.get(spec.priority_class_name or "", member.priority)
        return is_preemptible(spec.preemptibility or "", dict(member.labels), priority)

    # --- pods ---

    def upsert(self, obj: Pod) -> None:
        """A pod was added or updated."""
        uid, is_ours = obj.metadata.uid, obj.spec.scheduler_name in self._schedulers
        member = member_of(obj, is_ours=is_ours)
        before = self._job_of.get(uid)
        if before is not None:
            member = _as_started(member, before.members[uid], before)
            if before.members[uid] == member:
                return
        if before is not None and before.key != member.job:
            self.remove(obj.metadata.key, uid)
        job = self._job_of[uid] = self._get_or_create(member.job)
        self._change(job, uid, member)

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - a sink gets both; the index knows pods by UID
        """A pod was deleted."""
        job = self._job_of.pop(uid, None)
        if job is not None:
            self._change(job, uid, None)

    # --- objects of gangs, and their classes ---

    def upsert_object(self, key: JobKey, api_group: str, meta: ObjectMeta, spec: KaiPodGroupSpec) -> None:
        """A PodGroup was added or updated."""
        job = self._get_or_create(key)
        self._uncount(job)
        job.objects[api_group] = meta, spec
        self._recount(job)

    def remove_object(self, key: JobKey, api_group: str) -> None:
        """A PodGroup was deleted."""
        job = self._jobs.get(key)
        if job is not None:
            self._uncount(job)
            job.objects.pop(api_group, None)
            self._recount(job)

    def set_class(self, name: str, value: int | None) -> None:
        """A PriorityClass was added, updated, or deleted (None)."""
        jobs = [job for job in self._jobs.values() if job.spec.priority_class_name == name]
        for job in jobs:
            self._uncount(job)
        self._classes.pop(name, None)
        if value is not None:
            self._classes[name] = value
        for job in jobs:
            self._recount(job)

    # --- queues ---

    def upsert_queue(self, queue: Queue) -> None:
        """The watch shows a Queue that was added or updated."""
        name = queue.metadata.name
        known = self._queues.get(name)
        if not is_newer(queue.metadata, known.metadata if known is not None else None):
            return
        self._queues[name] = queue
        same = known is not None and known.metadata.uid == queue.metadata.uid and known.spec == queue.spec
        if same:
            self._on_change(name)
        else:
            self._replant()

    def record_write(self, queue: Queue) -> None:
        """Our own write returned this version: it needs no reconcile, nor does the watch event that follows it."""
        known = self._queues.get(queue.metadata.name)
        if known is not None and known.metadata.uid == queue.metadata.uid and is_newer(queue.metadata, known.metadata):
            self._queues[queue.metadata.name] = queue
            if known.spec != queue.spec:
                self._replant()

    def remove_queue(self, name: str) -> None:
        """A Queue was deleted."""
        if self._queues.pop(name, None) is not None:
            self._replant()

    def _replant(self) -> None:
        """Any queue may have lost or found its parent, and parents what is below them."""
        self._tree = None
        for name in self._queues:
            self._on_change(name)

    # --- counting ---

    def _get_or_create(self, key: JobKey) -> Job:
        job = self._jobs.get(key)
        if job is None:
            job = self._jobs[key] = Job(key)
        return job

    def _change(self, job: Job, uid: str, member: Member | None) -> None:
        """One pod of the job is another one, or gone; only if that changes the queue are the others counted anew."""
        before = job.members.pop(uid, None)
        if before is not None:
            self._count(job, before, -1)
        moved = before is None or member is None or (before.queue, before.born) != (member.queue, member.born)
        others = list(job.members.values())
        if member is not None:
            job.members[uid] = member
        if moved and job.named_queue != job.queue:
            for each in others:
                self._count(job, each, -1)
            job.queue = job.named_queue
            for each in others:
                self._count(job, each, 1)
        if member is not None:
            self._count(job, member, 1)
        self._forget_if_empty(job)

    def _uncount(self, job: Job) -> None:
        for member in job.members.values():
            self._count(job, member, -1)

    def _recount(self, job: Job) -> None:
        job.queue = job.named_queue
        for member in job.members.values():
            self._count(job, member, 1)
        self._forget_if_empty(job)

    def _count(self, job: Job, member: Member, sign: int) -> None:
        queue = job.queue if member.started_in is None else member.started_in
        if not member.is_ours and queue in (UNNAMED, NOWHERE):
            return  # of other schedulers only those that name a queue are of interest
        counts = self._counts.setdefault(queue, Counts())
        if member.standing is not Standing.ABSENT:
            if member.is_ours:
                self._add(counts, job, member, sign)
            else:
                counts.foreign += sign
            self._touch(queue)
        if not (counts.pods or counts.foreign):
            del self._counts[queue]  # anybody can name a queue

    def _add(self, counts: Counts, job: Job, member: Member, sign: int) -> None:
        counts.pods += sign
        add(counts.requested, member.amounts, sign)
        if member.standing is Standing.RUNNING:
            add(counts.allocated, member.amounts, sign)
            if not self.is_preemptible(job, member):
                add(counts.fixed, member.amounts, sign)

    def _touch(self, queue: str) -> None:
        name = self.default if queue == UNNAMED else queue
        if name in self._queues:
            for row in self.tree.paths[self.tree.rows[name]].tolist():
                self._on_change(self.tree.names[row])

    def _forget_if_empty(self, job: Job) -> None:
        if not job.members and not job.objects:
            self._jobs.pop(job.key, None)


def _as_started(member: Member, before: Member, job: Job) -> Member:
    """The pod with the queue that it was started in, if it runs and was seen to wait."""
    if member.standing is not Standing.RUNNING:
        return member
    starts = before.standing is Standing.WAITING and job.queue != NOWHERE
    return member._replace(started_in=job.queue if starts else before.started_in)
