"""The transport: requests to an API server as bytes in, bytes out.

The rest of the package knows the `Transport` protocol only. `HttpTransport` implements it over the network; in tests on
virtual time the embedded API does, without a socket.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import NamedTuple, Protocol, Self, TypeGuard

from koordpy import __version__
from koordpy.kube.auth.credentials import Credentials
from koordpy.kube.errors import Unavailable, error_of
from koordpy.kube.http.connections import ConnectionPool
from koordpy.kube.http.dialing import Dialer
from koordpy.kube.http.stream import Stream

_CONNECT_S = 5.0
_MOST_ERROR_BODY = 64 * 1024  # bytes; a Status has half a kilobyte
# The API server derives the field manager in managedFields from the user agent.
_USER_AGENT = f"User-Agent: koordpy/{__version__}\r\n"
JSON = "application/json"
_NONE: Mapping[str, str] = {}


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
    headers: Mapping[str, str]


class Transport(Protocol):
    """Sends requests; raises `Unavailable` without an answer."""

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
        """One request and its complete answer. `path` includes the query.

        `may_send` is asked when the bytes are written: opening a connection may take seconds, and leadership may be
        lost meanwhile.
        """

    def stream(self, path: str, *, accept: str = JSON) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """A GET whose answer arrives in pieces until the server ends it; the caller sets the timeout."""


class HttpTransport:
    """The transport over the network. Use as an async context manager."""

    def __init__(self, credentials: Credentials, connections: int) -> None:
        self._credentials = credentials
        dialer = Dialer(credentials.url, credentials.server_name, credentials.proxy)
        self._pool = ConnectionPool(dialer, lambda: credentials.ssl_context, connections)
        self._where = f"{credentials.url} through proxy {credentials.proxy}" if credentials.proxy else credentials.url

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._pool.close()

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
        headers: Mapping[str, str] = _NONE,
    ) -> Response:
        identity, tls = await self._credentials.headers(), self._credentials.ssl_context
        request = _Request(method, path, body, content_type, accept, may_send, headers)
        try:
            answer = await self._send_once(request, identity, timeout_s)
        except Unavailable as error:
            if not await self._has_new_certificates(error, tls):
                raise
        else:
            if answer.status != 401 or not await self._credentials.renew(identity, tls):
                return answer
        return await self._send_once(request, await self._credentials.headers(), timeout_s)

    async def _has_new_certificates(self, error: Unavailable, tls: ssl.SSLContext | None) -> bool:
        """Whether a TLS handshake failed, and there are new certificates to try."""
        return isinstance(error.__cause__, ssl.SSLError) and await self._credentials.renew_tls(tls)

    async def _send_once(self, request: _Request, identity: dict[str, str], timeout_s: float) -> Response:
        method, path, body, content_type, accept, may_send, more = request
        headers = (
            f"{_USER_AGENT}Accept: {accept}\r\nContent-Type: {content_type}\r\n{_header_lines({**more, **identity})}"
        )
        try:
            async with asyncio.timeout(timeout_s):
                return Response(
                    *await self._pool.send(method, path, headers, body, connect_s=_CONNECT_S, may_send=may_send)
                )
        except (TimeoutError, OSError) as error:  # errors of TLS are OSErrors too
            raise Unavailable(f"{method} {path}: {_describe(error, self._where)}") from error

    @asynccontextmanager
    async def stream(self, path: str, *, accept: str = JSON) -> AsyncIterator[AsyncIterator[bytes]]:
        identity, tls = await self._credentials.headers(), self._credentials.ssl_context
        headers = f"{_USER_AGENT}Accept: {accept}\r\n{_header_lines(identity)}"
        try:
            async with self._pool.stream(path, headers, connect_s=_CONNECT_S) as stream:
                head = await stream.head()
                if head.status != 200:
                    if head.status == 401:
                        await self._credentials.renew(identity, tls)
                    raise error_of("GET", path, head.status, await _error_body(stream), head.retry_after)
                yield stream.pieces()
        except (TimeoutError, OSError) as error:  # errors of TLS are OSErrors too
            if isinstance(error, ssl.SSLError):
                await self._credentials.renew_tls(tls)  # for the next attempt
            raise Unavailable(f"GET {path}: {_describe(error, self._where)}") from error


async def _error_body(stream: Stream) -> bytes:
    """The body of an error; only the beginning of one that is too long."""
    body = b""
    async for piece in stream.pieces():
        body += piece
        if len(body) > _MOST_ERROR_BODY:
            break
    return body


def _header_lines(headers: Mapping[str, str]) -> str:
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())


def _describe(error: BaseException, url: str) -> str:
    """The error in words for the user."""
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
