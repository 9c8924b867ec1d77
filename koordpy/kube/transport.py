"""Requests to an API server as bytes in, bytes out.

The `Transport` protocol is all the rest of the room knows; over the network it is `HttpTransport`, in tests on virtual
time it is the embedded API itself, without a socket between.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import NamedTuple, Protocol, Self, TypeGuard

import aiohttp

from koordpy import __version__
from koordpy.kube.credentials import Credentials
from koordpy.kube.errors import Unavailable, error_of
from koordpy.kube.wire import Wire

_CONNECT_S = 5.0
# The name of the user agent becomes that of the field manager in managedFields.
_ALWAYS = f"User-Agent: koordpy/{__version__}\r\nAccept: application/json\r\n"


MaySend = Callable[[], bool]


def always() -> bool:
    return True


class Response(NamedTuple):
    status: int
    body: bytes
    retry_after: str | None = None


class _Request(NamedTuple):
    method: str
    path: str
    body: bytes
    content_type: str
    may_send: MaySend


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
        tls = credentials.ssl_context if isinstance(credentials.ssl_context, ssl.SSLContext) else None
        self._wire = Wire(credentials.url, tls, credentials.server_name, connections)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0,  # watches, of which there are a dozen
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
        self._wire.close()
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
        identity = await self._credentials.headers()
        request = _Request(method, path, body, content_type, may_send)
        answer = await self._send_once(request, identity, timeout_s)
        if answer.status == 401 and await self._credentials.renew(refused=identity):
            answer = await self._send_once(request, await self._credentials.headers(), timeout_s)
        return answer

    async def _send_once(self, request: _Request, identity: dict[str, str], timeout_s: float) -> Response:
        method, path, body, content_type, may_send = request
        lines = "".join(f"{name}: {value}\r\n" for name, value in identity.items())
        headers = f"{_ALWAYS}Content-Type: {content_type}\r\n{lines}"
        try:
            async with asyncio.timeout(timeout_s):
                return Response(
                    *await self._wire.send(method, path, headers, body, connect_s=_CONNECT_S, may_send=may_send)
                )
        except (TimeoutError, OSError) as error:  # errors of TLS are OSErrors too
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
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate of {url} is not trusted: {error.verify_message or error}"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"cannot connect to {url}: {error.strerror or error.os_error}"
    if isinstance(error, (ConnectionRefusedError, socket.gaierror)) or _never_connected(error):
        return f"cannot connect to {url}: {error.strerror or error}"
    return f"connection to {url} broke: {error}"


def _never_connected(error: BaseException) -> TypeGuard[OSError]:
    unreachable = (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ECONNREFUSED, errno.ETIMEDOUT)
    return isinstance(error, OSError) and (error.errno in unreachable or "Connect call failed" in str(error))
