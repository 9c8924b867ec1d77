"""Opens connections to the API server: plain or with TLS, directly or through a proxy."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import TypeVar, cast

from koordpy.kube.auth.proxies import Proxy
from koordpy.kube.http.address import Address
from koordpy.kube.http.parsing import AnswerParser, BrokenConnection, NotHttp

P = TypeVar("P", bound=asyncio.BaseProtocol)


class Dialer:
    """Opens connections to one server."""

    def __init__(self, url: str, server_name: str | None = None, proxy: Proxy | None = None) -> None:
        self._server, self._proxy = Address.of(url), proxy
        self._server_name = (server_name or self._server.host) if self._server.is_tls else None
        self.address = self._server  # that requests name
        self.headers = ""  # added to those of each request
        if proxy is not None and not self._server.is_tls:  # the proxy gets requests with absolute URLs
            self.address = self._server._replace(prefix=f"http://{self._server.authority}{self._server.prefix}")
            self.headers = _authorization(proxy)

    async def connect(self, protocol: Callable[[], P], tls: ssl.SSLContext | None, connect_s: float) -> P:
        """Raises OSError, SSLError or TimeoutError."""
        if self._server.is_tls and tls is None:
            raise ssl.SSLError("TLS is wanted, and there are no certificates for it")
        async with asyncio.timeout(connect_s):
            if self._proxy is not None and tls is not None:
                return await self._through_tunnel(self._proxy, protocol, tls)
            _, connected = await asyncio.get_running_loop().create_connection(
                protocol,
                *(self._proxy or self._server)[:2],
                ssl=tls,
                server_hostname=self._server_name,
            )
            return connected

    async def _through_tunnel(self, proxy: Proxy, protocol: Callable[[], P], tls: ssl.SSLContext) -> P:
        loop = asyncio.get_running_loop()
        transport, tunnel = await loop.create_connection(
            lambda: _Tunnel(self._server, proxy, loop.create_future()), proxy.host, proxy.port
        )
        try:
            await tunnel.is_open
        except BaseException:
            transport.abort()
            raise
        connected = protocol()
        # start_tls does not call connection_made: most protocols had their connection before.
        secured = await loop.start_tls(transport, connected, tls, server_hostname=self._server_name)
        connected.connection_made(cast("asyncio.BaseTransport", secured))
        return connected


class _Tunnel(asyncio.Protocol):
    """Opens a tunnel to the server with CONNECT."""

    def __init__(self, server: Address, proxy: Proxy, is_open: asyncio.Future[None]) -> None:
        host = f"[{server.host}]" if ":" in server.host else server.host
        target = f"{host}:{server.port}"
        self._request = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{_authorization(proxy)}\r\n"
        self._parser = AnswerParser()
        self.is_open = is_open

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast("asyncio.Transport", transport).write(self._request.encode("latin-1"))

    def data_received(self, data: bytes) -> None:
        if self.is_open.done():
            return
        try:
            self._parser.feed(data)
        except NotHttp as error:
            self.is_open.set_exception(BrokenConnection(f"the proxy's answer is not HTTP: {error}"))
            return
        head = self._parser.head
        if head is None:
            return
        if head.status // 100 != 2:
            self.is_open.set_exception(BrokenConnection(f"the proxy refuses with status {head.status}"))
        elif self._parser.parts:  # in TLS the client begins
            self.is_open.set_exception(BrokenConnection("the proxy says more than that the tunnel is open"))
        else:
            self.is_open.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.is_open.done():
            self.is_open.set_exception(BrokenConnection(str(exc) if exc else "closed by the proxy"))


def _authorization(proxy: Proxy) -> str:
    return f"Proxy-Authorization: {proxy.authorization}\r\n" if proxy.authorization else ""
