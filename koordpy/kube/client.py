"""Requests to the API server: typed answers, typed errors, and one policy for retries.

Every request has a timeout. Transient failures (429, 5xx, broken connections) are retried with jitter and the server's
own Retry-After. A retried write may have taken effect the first time, so callers check the object after "already
exists" and do not take it for a failure.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any
from urllib.parse import urlencode

import msgspec

from koordpy.api.decode import UNREADABLE, Page, decode_page
from koordpy.kube.backoff import Backoff
from koordpy.kube.errors import ApiError, NotFound, Transient, Unavailable, error_of
from koordpy.kube.http.transport import JSON, MaySend, Transport, always

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
# For objects of which only the metadata matters; a server that cannot do this sends whole objects.
_METADATA = f"{JSON};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,{JSON}"
_METADATA_LIST = f"{JSON};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,{JSON}"

_WRITE_TIMEOUT_S = 10.0
_LIST_TIMEOUT_S = 60.0  # a page of 500 large pods from a busy API server


class NotLeading(ApiError):
    """A write was not sent, because this process is not certain to be the leader."""


class Client:
    """The API server's REST API."""

    def __init__(self, transport: Transport, may_write: Callable[[], bool] = lambda: True) -> None:
        self._transport = transport
        self._may_write = may_write

    def guarded_by(self, may_write: Callable[[], bool]) -> Client:
        """A client that writes only while `may_write()`, which is asked before each attempt and on sending."""
        return Client(self._transport, may_write)

    async def get(self, path: str, *, metadata_only: bool = False) -> bytes:
        return await self._once("GET", path, timeout_s=_WRITE_TIMEOUT_S, accept=_METADATA if metadata_only else JSON)

    async def get_patiently(self, path: str) -> bytes:
        """GET, retried until the API server answers; raises NotFound."""
        backoff = Backoff(first_s=0.1, most_s=5.0)
        while True:
            try:
                return await self.get(path)
            except NotFound:
                raise
            except ApiError as error:
                await asyncio.sleep(backoff.next_s(at_least_s=error.retry_after))

    async def page(self, path: str, *, metadata_only: bool = False, **query: str | int) -> Page:
        """One page of a list."""
        accept = _METADATA_LIST if metadata_only else JSON
        answer = await self._once("GET", with_query(path, query), timeout_s=_LIST_TIMEOUT_S, accept=accept)
        try:
            return decode_page(answer)
        except UNREADABLE as error:  # such as a proxy's log-in page, sent with 200
            raise Unavailable(f"GET {path}: the answer is not a list of objects: {error}") from None

    def watch(
        self, path: str, *, metadata_only: bool = False, **query: str | int
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The bytes of a watch, in chunks as they arrive."""
        accept = _METADATA if metadata_only else JSON
        return self._transport.stream(with_query(path, {"watch": "true", **query}), accept=accept)

    async def write(
        self, method: str, path: str, body: Any, *, content_type: str = JSON, attempts: int = 5, timeout_s: float = 0.0
    ) -> bytes:
        """A write, retried up to `attempts` times on transient failures."""
        encoded = body if isinstance(body, bytes) else msgspec.json.encode(body)
        backoff: Backoff | None = None
        for attempt in range(1, attempts + 1):
            if not self._may_write():
                raise NotLeading(f"{method} {path}: not sent, this process is not certain to be the leader")
            try:
                return await self._once(
                    method,
                    path,
                    encoded,
                    content_type=content_type,
                    timeout_s=timeout_s or _WRITE_TIMEOUT_S,
                    may_send=self._may_write,
                )
            except Transient as error:
                if attempt == attempts:
                    raise
                backoff = backoff or Backoff(first_s=0.1, most_s=5.0)
                await asyncio.sleep(backoff.next_s(at_least_s=error.retry_after))
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _once(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        content_type: str = JSON,
        accept: str = JSON,
        timeout_s: float,
        may_send: MaySend = always,
    ) -> bytes:
        answer = await self._transport.send(
            method, path, body, content_type=content_type, accept=accept, timeout_s=timeout_s, may_send=may_send
        )
        if answer.status >= 300:
            raise error_of(method, path, answer.status, answer.body, answer.retry_after)
        return answer.body


def with_query(path: str, query: dict[str, str | int]) -> str:
    return f"{path}?{urlencode(query)}" if query else path
