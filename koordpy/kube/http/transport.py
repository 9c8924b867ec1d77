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

from koordpy import __version__
from koordpy.kube.auth.credentials import Credentials
from koordpy.kube.errors import Unavailable, error_of
from koordpy.kube.http.connections import Wire
from koordpy.kube.http.dialing import Dialer
from koordpy.kube.http.stream import Stream

_CONNECT_S = 5.0
_MOST_EXPLANATION = 64 * 1024  # bytes; a Status has half a kilobyte
# The name of the user agent becomes that of the field manager in managedFields.
_ALWAYS = f"User-Agent: koordpy/{__version__}\r\n"
JSON = "application/json"


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
    accept: str
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
        accept: str = JSON,
        timeout_s: float,
        may_send: MaySend = always,
    ) -> Response:
        """One request and its whole answer. `path` includes the query.

        `may_send` is asked as the bytes leave us: a connection may take seconds, and planning keeps the loop busy, so
        that a process stopped between the question and the write would otherwise write when it goes on.
        """

    def stream(self, path: str, *, accept: str = JSON) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """A GET whose answer arrives in pieces, for as long as the server cares to send; the caller limits the wait."""


class HttpTransport:
    """The network. Use as an async context manager."""

    def __init__(self, credentials: Credentials, connections: int) -> None:
        self._credentials = credentials
        dialer = Dialer(credentials.url, credentials.server_name, credentials.proxy)
        self._wire = Wire(dialer, lambda: credentials.ssl_context, connections)
        self._where = f"{credentials.url} through proxy {credentials.proxy}" if credentials.proxy else credentials.url

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._wire.close()

    async def send(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        content_type: str,
        accept: str = JSON,
        timeout_s: float,
        may_send: MaySend = always,
    ) -> Response:
        identity, tls = await self._credentials.headers(), self._credentials.ssl_context
        request = _Request(method, path, body, content_type, accept, may_send)
        try:
            answer = await self._send_once(request, identity, timeout_s)
        except Unavailable as error:
            if not await self._is_mended(error, tls):
                raise
        else:
            if answer.status != 401 or not await self._credentials.renew(identity, tls):
                return answer
        return await self._send_once(request, await self._credentials.headers(), timeout_s)

    async def _is_mended(self, error: Unavailable, tls: ssl.SSLContext | None) -> bool:
        """Whether a connection could not be opened for its certificates, and there are others by now."""
        return isinstance(error.__cause__, ssl.SSLError) and await self._credentials.renew_tls(tls)

    async def _send_once(self, request: _Request, identity: dict[str, str], timeout_s: float) -> Response:
        method, path, body, content_type, accept, may_send = request
        headers = f"{_ALWAYS}Accept: {accept}\r\nContent-Type: {content_type}\r\n{_lines(identity)}"
        try:
            async with asyncio.timeout(timeout_s):
                return Response(
                    *await self._wire.send(method, path, headers, body, connect_s=_CONNECT_S, may_send=may_send)
                )
        except (TimeoutError, OSError) as error:  # errors of TLS are OSErrors too
            raise Unavailable(f"{method} {path}: {_plain(error, self._where)}") from error

    @asynccontextmanager
    async def stream(self, path: str, *, accept: str = JSON) -> AsyncIterator[AsyncIterator[bytes]]:
        identity, tls = await self._credentials.headers(), self._credentials.ssl_context
        headers = f"{_ALWAYS}Accept: {accept}\r\n{_lines(identity)}"
        try:
            async with self._wire.stream(path, headers, connect_s=_CONNECT_S) as stream:
                head = await stream.head()
                if head.status != 200:
                    if head.status == 401:
                        await self._credentials.renew(identity, tls)
                    raise error_of("GET", path, head.status, await _explanation(stream), head.retry_after)
                yield stream.pieces()
        except (TimeoutError, OSError) as error:  # errors of TLS are OSErrors too
            if isinstance(error, ssl.SSLError):
                await self._credentials.renew_tls(tls)  # for the next attempt
            raise Unavailable(f"GET {path}: {_plain(error, self._where)}") from error


async def _explanation(stream: Stream) -> bytes:
    """The body of a refusal; of one that does not end, the beginning."""
    body = b""
    async for piece in stream.pieces():
        body += piece
        if len(body) > _MOST_EXPLANATION:
            break
    return body


def _lines(headers: dict[str, str]) -> str:
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())


def _plain(error: BaseException, url: str) -> str:
    """The failure in words."""
    if isinstance(error, asyncio.TimeoutError):
        return f"no answer from {url} in time"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate of {url} is not trusted: {error.verify_message or error}"
    if isinstance(error, (ConnectionRefusedError, socket.gaierror)) or _never_connected(error):
        return f"cannot connect to {url}: {error.strerror or error}"
    return f"connection to {url} broke: {error}"


def _never_connected(error: BaseException) -> TypeGuard[OSError]:
    unreachable = (errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ECONNREFUSED, errno.ETIMEDOUT)
    return isinstance(error, OSError) and (error.errno in unreachable or "Connect call failed" in str(error))
