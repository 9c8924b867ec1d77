"""Asking the scheduler: through the API server's service proxy with the user's own rights, or by URL."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from koordpy.api.answers import PATH
from koordpy.app.process import CannotStart
from koordpy.cli.proxied import TIMEOUT_S, Proxied, message_of
from koordpy.kube.auth.credentials import load_credentials
from koordpy.kube.http.transport import HttpTransport, Response

Ask = Callable[[str, bytes | None], Awaitable[bytes]]


@asynccontextmanager
async def scheduler(server: str, service: str, kubeconfig: str | None, context: str | None) -> AsyncIterator[Ask]:
    """Asks the scheduler for a path; raises CannotStart with one line."""
    if server and not server.startswith(("http://", "https://")):
        raise CannotStart(f"--server {server}: wants a URL such as http://localhost:10251")
    if server:
        # Whoever names a kubeconfig wants to be known: a token is sent to no address without that.
        known = await load_credentials(kubeconfig, context) if kubeconfig or context else None
        async with _by_url(server.rstrip("/"), await known.headers() if known is not None else {}) as ask:
            yield ask
        return
    credentials = await load_credentials(kubeconfig, context)
    async with HttpTransport(credentials, connections=1) as transport:
        yield Proxied(transport, service).ask


@asynccontextmanager
async def _by_url(server: str, headers: dict[str, str]) -> AsyncIterator[Ask]:
    import aiohttp  # noqa: PLC0415 - heavy

    timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
    async with aiohttp.ClientSession(timeout=timeout, headers=headers) as session:

        async def ask(path: str, body: bytes | None) -> bytes:
            method = "GET" if body is None else "POST"
            try:
                async with session.request(method, server + PATH + path, data=body) as answer:
                    found = Response(answer.status, await answer.read())
            except (aiohttp.ClientError, TimeoutError, ValueError) as error:
                raise CannotStart(f"{server} does not answer: {cause_of(error)}") from error
            if found.status != 200:
                raise CannotStart(message_of(found))
            return found.body

        yield ask


def cause_of(error: Exception) -> str:
    """In plain words: aiohttp puts sockets around them, and `ssl:default` also where there is no TLS."""
    cause = getattr(error, "os_error", error)
    if isinstance(cause, TimeoutError):
        return f"nothing came within {TIMEOUT_S:.0f} seconds"
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {cause.verify_message}"
    if isinstance(cause, OSError) and cause.errno and not isinstance(cause, (ssl.SSLError, socket.gaierror)):
        return os.strerror(cause.errno)  # the text of the error itself is about sockets
    return str(getattr(cause, "strerror", "") or cause or type(cause).__name__)
