"""Requests to an API server as bytes in, bytes out.

The `Transport` protocol is all the rest of the room knows; over the network it is `HttpTransport`, in tests on virtual
time it is the embedded API itself, without a socket between.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import NamedTuple, Protocol, Self

import aiohttp

from koordpy import __version__
from koordpy.kube.credentials import Credentials
from koordpy.kube.errors import Unavailable, error_of

_CONNECT_S = 5.0


class Response(NamedTuple):
    status: int
    body: bytes
    retry_after: str | None = None


class Transport(Protocol):
    """Sends requests; raises `Unavailable` when no answer came."""

    async def send(self, method: str, path: str, body: bytes = b"", *, content_type: str, timeout_s: float) -> Response:
        """One request and its whole answer. `path` includes the query."""

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

    async def send(self, method: str, path: str, body: bytes = b"", *, content_type: str, timeout_s: float) -> Response:
        headers = {"Content-Type": content_type, "Accept": "application/json"}
        identity = await self._credentials.headers()
        answer = await self._send_once(method, path, body, headers | identity, timeout_s)
        if answer.status == 401 and await self._credentials.renew(refused=identity):
            identity = await self._credentials.headers()
            answer = await self._send_once(method, path, body, headers | identity, timeout_s)
        return answer

    async def _send_once(
        self, method: str, path: str, body: bytes, headers: dict[str, str], timeout_s: float
    ) -> Response:
        assert self._session is not None
        timeout = aiohttp.ClientTimeout(total=timeout_s, sock_connect=_CONNECT_S)
        try:
            async with self._session.request(
                method,
                self._credentials.url + path,
                data=body or None,
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


def _plain(error: BaseException, url: str) -> str:
    """The failure in words; aiohttp's own texts are empty for a time limit and verbose for a refused connection."""
    if isinstance(error, asyncio.TimeoutError):
        return f"no answer from {url} in time"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"the certificate of {url} is not trusted: {error.certificate_error}"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"cannot connect to {url}: {error.strerror or error.os_error}"
    return f"connection to {url} broke: {error}"
