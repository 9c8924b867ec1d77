"""Writes PodGroups and tells pods: one write for a PodGroup, one for each pod, and none for what is true already.

A PodGroup is right before any of its pods hears of it: no pod is ever counted for a gang with the wrong minimum.
Whatever is written may be written again: a repetition finds it there. Pods are written by UID.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from koordpy import metrics
from koordpy.api.errors import MalformedObject, MalformedValue
from koordpy.api.grouping import WorkloadPod
from koordpy.api.keys import RUNAI_POD_GROUP_NAME, SKIP_PODGROUPER, SUBGROUP_NAME
from koordpy.controllers.grouping.podgroups import (
    GROUP,
    POD_GROUPS,
    VERSION,
    Dialect,
    PodGroupIndex,
    RunAiPodGroup,
    Wanted,
    body_of,
    own_fields,
    patch_of,
)
from koordpy.controllers.grouping.pods import PodIndex
from koordpy.kube.client import MERGE_PATCH, Client
from koordpy.kube.errors import AlreadyExists, Invalid, NotFound, Unavailable
from koordpy.kube.http.transport import JSON
from koordpy.kube.writes import PodRef

WIDTH = 16  # writes to pods in flight, of all workloads


class Writer:
    """Through `client`, which refuses to write unless this process leads."""

    def __init__(self, client: Client, pod_groups: PodGroupIndex, pods: PodIndex) -> None:
        self._client, self._pod_groups, self._pods = client, pod_groups, pods
        self._dialect = Dialect()
        self._width = asyncio.Semaphore(WIDTH)

    async def ensure(self, wanted: Wanted) -> None:
        """The PodGroup is as wanted; raises MalformedValue if one of the name belongs to somebody else."""
        found = self._pod_groups.get(wanted.key)
        if found is None:
            found = await self._create(wanted)
        _check_owner(wanted, found)
        path = f"{_collection(wanted)}/{quote(wanted.name)}"
        for _ in range(2):  # the answer to the first may show that the definition takes less
            if not patch_of(wanted, found, self._dialect):
                return
            before = found
            found = await self._write(wanted, "PATCH", path, lambda dialect: patch_of(wanted, before, dialect))  # noqa: B023

    async def join(self, pods: tuple[WorkloadPod, ...], name: str, subgroup_of: Mapping[str, str]) -> bool:
        """Tell the pods their PodGroup. Every pod is tried; the first error is raised in the end.

        Returns whether all were there to be told.
        """
        tasks = []
        for pod in pods:
            annotations = _missing({RUNAI_POD_GROUP_NAME: name}, pod.annotations)
            subgroup = subgroup_of.get(pod.uid)
            labels = _missing({SUBGROUP_NAME: subgroup}, pod.labels) if subgroup else {}
            if annotations or labels:
                tasks.append(self._tell(pod, annotations, labels))
        return _all_of(await asyncio.gather(*tasks, return_exceptions=True))

    async def leave_alone(self, pods: list[WorkloadPod]) -> bool:
        """Pods whose owner opted out say so themselves: the scheduler sees no owners, and must not wait for us."""
        told = {SKIP_PODGROUPER: "true"}
        return _all_of(await asyncio.gather(*(self._tell(pod, told, {}) for pod in pods), return_exceptions=True))

    async def _create(self, wanted: Wanted) -> RunAiPodGroup:
        collection = _collection(wanted)
        try:
            return await self._write(wanted, "POST", collection, lambda dialect: body_of(wanted, dialect))
        except AlreadyExists:  # the watch is late, or the answer to an earlier request was lost
            found = _decoded(await self._client.get(f"{collection}/{quote(wanted.name)}"))
            self._pod_groups.record(found)
            return found

    async def _write(
        self, wanted: Wanted, method: str, path: str, body: Callable[[Dialect], Mapping[str, Any]]
    ) -> RunAiPodGroup:
        """Send it; if it is refused, once more without minima of 0. Learns from the answer what is taken."""
        dialect = self._dialect
        try:
            found = await self._send(method, path, body(dialect))
        except Invalid:
            plainer = replace(dialect, zeros=False)
            if own_fields(wanted, plainer) == own_fields(wanted, dialect):
                raise
            found = await self._send(method, path, body(plainer))
            dialect = plainer
        if dialect.nested and _is_nested(own_fields(wanted, dialect)) and not _is_nested(found.spec):
            dialect = replace(dialect, nested=False)
        self._dialect = dialect
        self._pod_groups.record(found)
        return found

    async def _send(self, method: str, path: str, body: Mapping[str, Any]) -> RunAiPodGroup:
        content_type = MERGE_PATCH if method == "PATCH" else JSON
        found = _decoded(await self._client.write(method, path, body, content_type=content_type))
        metrics.writes("podgroup", "ok").inc()
        return found

    async def _tell(self, pod: WorkloadPod, annotations: dict[str, str], labels: dict[str, str]) -> bool:
        """Whether it was there."""
        meta = pod.meta
        said: dict[str, Any] = {"uid": meta.uid, "annotations": annotations}
        if labels:
            said["labels"] = labels
        path = PodRef(meta.namespace, meta.name, meta.uid).path
        async with self._width:
            try:
                await self._client.write("PATCH", path, {"metadata": said}, content_type=MERGE_PATCH)
            except NotFound:
                return False  # deleted; the watch event follows
        metrics.writes("pod-group-name", "ok").inc()
        self._pods.record_write(meta.uid, annotations, labels)
        return True


def _collection(wanted: Wanted) -> str:
    return f"/apis/{GROUP}/{VERSION}/namespaces/{quote(wanted.namespace)}/podgroups"


def _decoded(answer: bytes) -> RunAiPodGroup:
    try:
        return POD_GROUPS.decode(answer)
    except MalformedObject as error:  # such as a proxy's page, sent with 200
        raise Unavailable(str(error)) from None


def _check_owner(wanted: Wanted, found: RunAiPodGroup) -> None:
    """Pods of two owners never share a PodGroup, whoever made it."""
    owners = [reference.uid for reference in found.metadata.owner_references]
    if wanted.owner.uid not in owners:
        raise MalformedValue("PodGroup", wanted.key, f"belongs to somebody else and not to {wanted.owner}")


def _is_nested(spec: Mapping[str, Any]) -> bool:
    parts = (spec, *(spec.get("subGroups") or ()))
    return any(part.get("minSubGroup") is not None for part in parts)


def _missing(wanted: dict[str, str], found: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in wanted.items() if found.get(key) != value}


def _all_of(outcomes: list[BaseException | bool]) -> bool:
    """Whether all are true; raises the first that is an error."""
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return all(outcomes)
