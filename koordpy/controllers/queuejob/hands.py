"""Carries out what was decided: every write of the QueueJob controller, each as one call after which it may be killed.

Deletions have the UID as a precondition, status writes the resource version. Creations need none: names are a function
of what was decided, so that a second attempt finds the first. What the API server answers is recorded in the index.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote

import structlog

from koordpy import metrics
from koordpy.api.decode import Decoder
from koordpy.api.keys import QUEUEJOB
from koordpy.api.meta import ObjectMeta
from koordpy.api.pod import Pod
from koordpy.api.queuejob import API_VERSION, GROUP, KIND, VERSION, QueueJob, QueueJobStatus, SchedulingSpec
from koordpy.api.workload import Service
from koordpy.controllers.queuejob.companions import is_owned
from koordpy.controllers.queuejob.effects import (
    CreateService,
    DeleteJob,
    DeletePod,
    DeleteService,
    Effect,
    Telling,
    WriteSpec,
)
from koordpy.controllers.queuejob.index import QueueJobIndex
from koordpy.controllers.queuejob.names import Slot
from koordpy.controllers.queuejob.pods import JobPod, owned_by, pod_body
from koordpy.controllers.queuejob.quota import exceeded_by
from koordpy.controllers.runtime.statuswriter import StatusWriter
from koordpy.kube.client import MERGE_PATCH, Client
from koordpy.kube.errors import AlreadyExists, ApiError, Conflict, Forbidden, Invalid, NotFound, Transient
from koordpy.kube.events import EventRecorder, Note
from koordpy.kube.writes import ObjectRef

_CONTROLLER = "koordpy-queuejob"
_AT_ONCE = 8  # calls in flight; each has a connection
_decode_job, _decode_pod = Decoder(KIND, QueueJob), Decoder("Pod", Pod)
_decode_spec, _decode_service = Decoder("SchedulingSpec", SchedulingSpec), Decoder("Service", Service)
T = TypeVar("T", Pod, SchedulingSpec, Service)

log = structlog.get_logger()


class NameTaken(ApiError):
    """An object of the name that is needed belongs to somebody else."""


class CompanionRefused(ApiError):
    """The API server does not want a SchedulingSpec or a Service; `reason` is one word for it."""

    def __init__(self, kind: str, error: ApiError) -> None:
        super().__init__(str(error), status=error.status)
        self.reason, self.is_wrong_in_itself = f"{kind}Refused", isinstance(error, Invalid)
        if isinstance(error, NameTaken):
            self.reason = "NameTaken"
        elif isinstance(error, Forbidden) and exceeded_by(str(error)) is not None:
            self.reason = "QuotaExceeded"


class Hands:
    """Writes through `client`, which refuses to write unless this process leads."""

    def __init__(self, client: Client, index: QueueJobIndex, clock: Callable[[], float]) -> None:
        self._client, self._index, self._clock = client, index, clock
        self._status = StatusWriter(_decode_job, _job_path, probe="phase")
        self._events = EventRecorder(client, _CONTROLLER)
        self._accepted: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}  # UID -> what was written, and stored

    def stored_spec(self, job: QueueJob) -> dict[str, Any] | None:
        """Of its SchedulingSpec.

        Fields that an older definition drops count as stored: written again, they would be dropped again, for ever.
        """
        found = self._index.specs.of(job)
        stored = found.spec if found is not None else None
        wanted, answered = self._accepted.get(job.metadata.uid, (None, None))
        return wanted if stored is not None and stored == answered else stored

    def forget(self, uid: str) -> None:
        """The QueueJob is gone."""
        self._accepted.pop(uid, None)

    def reset(self) -> None:
        """Another process leads, or led: what was found once may be gone."""
        self._accepted.clear()

    async def write_status(self, job: QueueJob, status: QueueJobStatus, telling: Telling | None = None) -> bool:
        """False when there is nothing to write, or nothing that the definition keeps.

        Raises Conflict when the QueueJob was changed since: what was decided may not hold any more.
        """
        if not self._status.differs(status, job.status):
            return False
        self._index.upsert(await self._status.write(self._client, job.metadata, status))
        metrics.writes("queuejob-status", "ok").inc()
        if telling is not None:
            await self.tell(job, telling)
        return True

    async def carry_out(self, job: QueueJob, effects: tuple[Effect, ...]) -> None:
        """In the order given, but deletions of pods at once.

        Raises CompanionRefused when all else is done: pods that have to go do not wait for what a policy refuses.
        """
        deletions = [effect for effect in effects if isinstance(effect, DeletePod)]
        refused: CompanionRefused | None = None
        for effect in effects:
            try:
                await self._carry_out(job, effect)
            except CompanionRefused as error:
                refused = refused or error
        await in_parallel([partial(self._delete_pod, job, deletion.pod) for deletion in deletions])
        if refused is not None:
            raise refused

    async def _carry_out(self, job: QueueJob, effect: Effect) -> None:
        match effect:
            case WriteSpec(spec):
                with _refusable("SchedulingSpec"):
                    await self._write_spec(job, spec)
            case CreateService():
                with _refusable("Service"):
                    await self._create_service(job)
            case DeleteService(uid):
                await self._delete_service(job, uid)
            case DeleteJob():
                await self._delete_job(job)

    async def has_quota(self, namespace: str) -> bool:
        """Whether pods of this namespace are counted. It is assumed when nobody can say: that costs time alone."""
        path = f"/api/v1/namespaces/{quote(namespace)}/resourcequotas"
        try:
            return bool((await self._client.page(path, metadata_only=True, limit=1)).items)
        except ApiError:
            return True

    async def create_pod(self, job: QueueJob, slot: Slot) -> None:
        """Raises NameTaken, or why the API server does not want it. It is there when this returns."""
        body = pod_body(job, slot)
        path = f"/api/v1/namespaces/{quote(job.metadata.namespace)}/pods"
        made = await self._create(job, path, body, _decode_pod)
        self._index.pods.created(made)

    async def _delete_pod(self, job: QueueJob, pod: JobPod) -> None:
        path = f"/api/v1/namespaces/{quote(job.metadata.namespace)}/pods/{quote(pod.name)}"
        try:
            await self._client.write("DELETE", path, {"preconditions": {"uid": pod.uid}})
        except (NotFound, Conflict):  # gone, or another pod has its name by now
            self._index.pods.vanished(job.metadata.namespace, pod)
        else:
            self._index.pods.deleting(pod.uid)

    async def _delete_job(self, job: QueueJob) -> None:
        """Unless somebody has changed it since, for example its time to live."""
        meta = job.metadata
        conditions = {"uid": meta.uid, "resourceVersion": meta.resource_version}
        options = {"preconditions": conditions, "propagationPolicy": "Background"}
        with suppress(NotFound):
            await self._client.write("DELETE", _job_path(meta), options)
        self._index.remove(meta.key, meta.uid)
        log.info("queuejob_expired", queuejob=meta.key)

    async def _write_spec(self, job: QueueJob, spec: dict[str, Any]) -> None:
        collection = _collection(job.metadata, "schedulingspecs")
        stored = self._index.specs.of(job)
        if stored is None:
            body = _companion(job, "SchedulingSpec", API_VERSION, spec)
            stored = await self._create(job, collection, body, _decode_spec)
        if stored.spec != spec:
            patch = {
                "metadata": {"resourceVersion": stored.metadata.resource_version},
                "spec": _merge_patch(stored.spec, spec),
            }
            path = f"{collection}/{quote(job.metadata.name)}"
            try:
                stored = _decode_spec(await self._client.write("PATCH", path, patch, content_type=MERGE_PATCH))
            except NotFound:
                raise Conflict(f"SchedulingSpec {stored.metadata.key} was deleted: it is made again") from None
        self._accepted[job.metadata.uid] = spec, stored.spec
        self._index.specs.upsert(stored)

    async def _create_service(self, job: QueueJob) -> None:
        spec = {"clusterIP": "None", "selector": {QUEUEJOB: job.metadata.name}, "publishNotReadyAddresses": True}
        made = await self._create(job, _services(job), _companion(job, "Service", "v1", spec), _decode_service)
        if made.metadata.deletion_timestamp:
            raise Conflict(f"Service {made.metadata.key} is being deleted: it is made again when it is gone")
        self._index.services.upsert(made)

    async def _delete_service(self, job: QueueJob, uid: str) -> None:
        with suppress(NotFound, Conflict):  # gone, or another Service has its name by now
            path = f"{_services(job)}/{quote(job.metadata.name)}"
            await self._client.write("DELETE", path, {"preconditions": {"uid": uid}})
        self._index.services.remove(job.metadata.key, uid)

    async def _create(self, job: QueueJob, collection: str, body: dict[str, Any], decode: Decoder[T]) -> T:
        """Create what the QueueJob owns, or find it: an earlier attempt may have had no answer."""
        try:
            return decode(await self._client.write("POST", collection, body))
        except (AlreadyExists, Transient) as error:
            name = body["metadata"]["name"]
            try:
                found = decode(await self._client.get_patiently(f"{collection}/{quote(name)}"))
            except NotFound:
                raise error from None
            if not is_owned(found.metadata, job):
                raise NameTaken(
                    f"{body['kind']} {found.metadata.key} is not of this QueueJob: delete or rename it"
                ) from None
            return found

    async def tell(self, job: QueueJob, telling: Telling) -> None:
        """An event is worth no retry: the status says the same."""
        meta = job.metadata
        about = ObjectRef(API_VERSION, KIND, meta.namespace, meta.name, meta.uid)
        note = Note(about, telling.kind, telling.reason, telling.reason, telling.text, _CONTROLLER)
        try:
            await self._events.record(note, self._clock())
        except ApiError as error:
            log.debug("queuejob_event_failed", queuejob=meta.key, problem=str(error))


@contextmanager
def _refusable(kind: str) -> Iterator[None]:
    """What is not wanted is told to the user; what could not be done this time is only tried again."""
    try:
        yield
    except (NameTaken, Forbidden, Invalid, NotFound) as error:
        metrics.writes("queuejob-companions", type(error).__name__.lower()).inc()
        raise CompanionRefused(kind, error) from error


def _merge_patch(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What a merge patch has to say so that `before` becomes `after`: what is gone has to be named."""
    patch: dict[str, Any] = dict.fromkeys(before.keys() - after.keys())
    for key, value in after.items():
        old = before.get(key)
        patch[key] = _merge_patch(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return patch


def _collection(meta: ObjectMeta, plural: str) -> str:
    return f"/apis/{GROUP}/{VERSION}/namespaces/{quote(meta.namespace)}/{plural}"


def _job_path(meta: ObjectMeta) -> str:
    return f"{_collection(meta, 'queuejobs')}/{quote(meta.name)}"


def _services(job: QueueJob) -> str:
    return f"/api/v1/namespaces/{quote(job.metadata.namespace)}/services"


def _companion(job: QueueJob, kind: str, api_version: str, spec: dict[str, Any]) -> dict[str, Any]:
    meta = job.metadata
    labels = {QUEUEJOB: meta.name}
    owned = {"name": meta.name, "namespace": meta.namespace, "labels": labels, "ownerReferences": owned_by(job)}
    return {"apiVersion": api_version, "kind": kind, "metadata": owned, "spec": spec}


async def in_parallel(calls: Sequence[Callable[[], Awaitable[None]]]) -> None:
    """A few at once, and all of them whatever becomes of one; then raises what the first one raised."""
    limit = asyncio.Semaphore(_AT_ONCE)

    async def limited(call: Callable[[], Awaitable[None]]) -> None:
        async with limit:
            await call()

    for outcome in await asyncio.gather(*map(limited, calls), return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome
