"""Requests to an API server as bytes in, bytes out.

The `Transport` protocol is all the rest of the room knows; over the network it is `HttpTransport`, in tests on virtual
time it is the embedded API itself, without a socket between.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import NamedTuple, Protocol, Self

import aiohttp
from aiohttp.abc import AbstractStreamWriter

from koordpy import __version__
from koordpy.kube.credentials import Credentials
from koordpy.kube.errors import Unavailable, error_of

_CONNECT_S = 5.0


MaySend = Callable[[], bool]


def always() -> bool:
    return True


class Response(NamedTuple):
    status: int
    body: bytes
    retry_after: str | None = None


class Transport(Protocol):
    """Sends requests; raises `Unavailable` when no answer came."""

    async def send(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        content_type: str,
        timeout_s: float,
        may_send: MaySend = always,
    ) -> Response:
        """One request and its whole answer. `path` includes the query.

        `may_send` is asked as the bytes leave us: a connection may take seconds, and planning keeps the loop busy, so
        that a process stopped between the question and the write would otherwise write when it goes on.
        """

    def stream(self, path: str) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """A GET whose answer arrives in pieces, for as long as the server cares to send; the caller limits the wait."""


class HttpTransport:
    """The network. Use as an async context manager."""

    def __init__(self, credentials: Credentials, connections: int) -> None:
        self._credentials = credentials
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                # Without an upper limit on connections a burst of binds would open thousands; watches come on top.
                limit=self._connections + 32,
                ssl=self._credentials.ssl_context,
                keepalive_timeout=75,
            ),
            # netrc and proxy look-ups happen in a thread for each request: a quarter of the throughput.
            trust_env=False,
            headers={"User-Agent": f"koordpy/{__version__}"},  # and so the field manager in managedFields
            read_bufsize=2**20,
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def send(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        content_type: str,
        timeout_s: float,
        may_send: MaySend = always,
    ) -> Response:
        data = _Guarded(body, may_send) if body else None
        headers = {"Content-Type": content_type, "Accept": "application/json"}
        identity = await self._credentials.headers()
        answer = await self._send_once(method, path, data, headers | identity, timeout_s)
        if answer.status == 401 and await self._credentials.renew(refused=identity):
            identity = await self._credentials.headers()
            answer = await self._send_once(method, path, data, headers | identity, timeout_s)
        return answer

    async def _send_once(
        self, method: str, path: str, data: _Guarded | None, headers: dict[str, str], timeout_s: float
    ) -> Response:
        assert self._session is not None
        timeout = aiohttp.ClientTimeout(total=timeout_s, sock_connect=_CONNECT_S)
        try:
            async with self._session.request(
                method,
                self._credentials.url + path,
                data=data,
                headers=headers,
                timeout=timeout,
                server_hostname=self._credentials.server_name,
            ) as answer:
                return Response(answer.status, await answer.read(), answer.headers.get("Retry-After"))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Unavailable(f"{method} {path}: {_plain(error, self._credentials.url)}") from error

    @asynccontextmanager
    async def stream(self, path: str) -> AsyncIterator[AsyncIterator[bytes]]:
        assert self._session is not None
        identity = await self._credentials.headers()
        headers = {"Accept": "application/json", **identity}
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S)
        try:
            async with self._session.get(
                self._credentials.url + path,
                headers=headers,
                timeout=timeout,
                server_hostname=self._credentials.server_name,
            ) as answer:
                if answer.status != 200:
                    if answer.status == 401:
                        await self._credentials.renew(refused=identity)
                    raise error_of("GET", path, answer.status, await answer.read(), answer.headers.get("Retry-After"))
                yield answer.content.iter_any()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Unavailable(f"GET {path}: {_plain(error, self._credentials.url)}") from error


class _Guarded(aiohttp.BytesPayload):
    """A body that is written only while it may be; aiohttp holds the headers back to send them along with it."""

    def __init__(self, body: bytes, may_send: MaySend) -> None:
        super().__init__(body)
        self._may_send = may_send

    async def write(self, writer: AbstractStreamWriter) -> None:
        self._check()
        await super().write(writer)

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        self._check()
        await super().write_with_length(writer, content_length)

    def _check(self) -> None:
        if not self._may_send():
            raise PermissionError("held back: it may not be sent any more")


def _plain(error: BaseException, url: str) -> str:
    """The failure in words; aiohttp's own texts are empty for a time limit and verbose for a refused connection."""
    if isinstance(error, asyncio.TimeoutError):
        return f"no answer from {url} in time"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"the certificate of {url} is not trusted: {error.certificate_error}"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"cannot connect to {url}: {error.strerror or error.os_error}"
    return f"connection to {url} broke: {error}"
