"""Where the API server is and who we are, from a kubeconfig or from the pod we run in.

The plain kinds are read by `identity.py`. kubernetes_asyncio reads every format there is (exec plugins, OIDC, several
files); this is the only module that imports it, and only for what is not plain, because the import takes half a
second.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import structlog

from koordpy.kube.auth import identity
from koordpy.kube.auth.certificates import Certificates
from koordpy.kube.auth.proxies import BadProxy, proxy_for

# The kubelet rotates a projected token when 80 % of its life is over; client-go also looks once a minute.
_REREAD_S = 60.0
_AFTER_FAILURE_S = 1.0  # an authority that is not ours makes every connection fail
_LOAD_TIMEOUT_S = 30.0  # an exec plugin may ask a cloud; one that waits for a person at a keyboard must not hang us

log = structlog.get_logger()


class BadCredentials(Exception):
    """The kubeconfig or the service account cannot be used; `str()` is one line."""


class Source(Protocol):
    """Where credentials come from."""

    async def load(self, configuration: Any, *, afresh: bool) -> None:
        """Read them; `afresh` means that the last ones were refused, however long they should have lived."""


class Credentials:
    """An address, a TLS context and the headers that say who we are, kept fresh."""

    def __init__(self, configuration: Any, source: Source) -> None:
        self._configuration, self._source = configuration, source
        self._read_at = time.monotonic()
        self._renewing = asyncio.Lock()
        self._token: str | None = None
        self._made: dict[str, str] = {}  # the headers for this token
        self.url: str = configuration.host.rstrip("/")
        self._certificates = Certificates(configuration)
        self.server_name: str | None = configuration.tls_server_name  # to expect in the certificate, if not the host's
        self.proxy = proxy_for(self.url, configuration.proxy, os.environ)

    @property
    def ssl_context(self) -> ssl.SSLContext | None:
        """For the next connection; another one after the certificates were rotated."""
        return self._certificates.context

    async def headers(self) -> dict[str, str]:
        """The `Authorization` header, reread at most once a minute, and the certificates with it."""
        if time.monotonic() >= self._read_at + _REREAD_S:
            await self._reread(afresh=False)
        return self._headers()

    async def renew(self, refused: dict[str, str], tls: ssl.SSLContext | None) -> bool:
        """After a 401 for these headers and certificates: read them again, and say whether there are others to try.

        When a token expires, every request in flight is refused; the first one renews it for all.
        """
        async with self._renewing:
            if self._headers() == refused and self.ssl_context is tls:
                await self._reread(afresh=True)
        return self._headers() != refused or self.ssl_context is not tls

    async def renew_tls(self, refused: ssl.SSLContext | None) -> bool:
        """After a handshake that failed with this context: look at the files, and say whether there is another one."""
        async with self._renewing:
            if self.ssl_context is refused and time.monotonic() >= self._read_at + _AFTER_FAILURE_S:
                await self._reread(afresh=False)
        return self.ssl_context is not refused

    async def _reread(self, *, afresh: bool) -> None:
        """What cannot be read now may be in the middle of its rotation: what we have stays, and may still be good."""
        self._read_at = time.monotonic()
        try:
            async with asyncio.timeout(_LOAD_TIMEOUT_S):
                await self._source.load(self._configuration, afresh=afresh)
        except Exception as error:  # noqa: BLE001 - whatever a kubeconfig, a plugin or a disk can raise
            log.warning("credentials_not_read", problem=_one_line(error), hint="going on with what we have")
        self._certificates.refresh()

    def _headers(self) -> dict[str, str]:
        token = self._configuration.api_key.get("BearerToken")
        if token is not self._token:  # made once for all requests until it is another one
            self._token = token
            # Token files end in a newline as often as not, and a header must not.
            self._made = {"Authorization": " ".join(token.split())} if token else {}
        return self._made


async def load_credentials(kubeconfig: str | None, context: str | None = None) -> Credentials:
    """From `--kubeconfig`, else `KUBECONFIG`, else the service account of the pod we run in."""
    path = kubeconfig or os.environ.get("KUBECONFIG")
    if path:
        if not any(Path(part).expanduser().is_file() for part in path.split(os.pathsep)):  # noqa: ASYNC240 - at start only
            raise BadCredentials(f"kubeconfig {path}: no such file")
        return await _from_kubeconfig(path, context)
    return await _from_cluster()


async def _from_kubeconfig(path: str, context: str | None) -> Credentials:
    plain = _Plain(lambda: identity.of_kubeconfig(path, context))
    try:
        found = plain.read()
        if found is not None:
            return Credentials(found, plain)
    except (OSError, ValueError) as error:  # errors of TLS are OSErrors too
        raise BadCredentials(f"kubeconfig {path}: {_one_line(error)}") from error
    return await _from_special_kubeconfig(path, context)


class _Plain:
    """What is read without anybody's help, and read again in the same way."""

    def __init__(self, read: Callable[[], identity.Identity | None]) -> None:
        self.read = read

    async def load(self, configuration: Any, *, afresh: bool) -> None:  # noqa: ARG002 - the files are all there is
        found = self.read()
        if found is None:
            raise BadCredentials("it is not what it was when we started; restart koordpy")
        configuration.api_key = found.api_key
        configuration.ssl_ca_cert = found.ssl_ca_cert
        configuration.cert_file, configuration.key_file = found.cert_file, found.key_file
        identity.forget_written_but(found)


async def _from_special_kubeconfig(path: str, context: str | None) -> Credentials:
    from kubernetes_asyncio import client  # noqa: PLC0415 - heavy, see the module docstring

    configuration = client.Configuration()
    source = _Kubeconfig(path, context)
    try:
        async with asyncio.timeout(_LOAD_TIMEOUT_S):
            await source.load(configuration, afresh=True)
        return Credentials(configuration, source)
    except TimeoutError:
        raise BadCredentials(f"kubeconfig {path}: its exec plugin took over {_LOAD_TIMEOUT_S:.0f} s") from None
    except Exception as error:  # the loader raises whatever the structure of the file makes it stumble over
        raise BadCredentials(f"kubeconfig {path}: {_one_line(error)}") from error


class _Kubeconfig:
    def __init__(self, path: str, context: str | None) -> None:
        self._path, self._context = path, context
        self._loader: Any = None

    async def load(self, configuration: Any, *, afresh: bool) -> None:
        """From the file if it was refused before; else from what was read, where plugins know how long it is good."""
        from kubernetes_asyncio import config  # noqa: PLC0415

        if not afresh and self._loader is not None:
            await self._loader.load_and_set(configuration)
            return
        self._loader = await config.load_kube_config(
            config_file=self._path, context=self._context, client_configuration=configuration, persist_config=False
        )


async def _from_cluster() -> Credentials:
    source = _Plain(identity.of_service_account)
    try:
        return Credentials(source.read(), source)
    except BadProxy as error:
        raise BadCredentials(str(error)) from error
    except (OSError, ValueError) as error:
        raise BadCredentials(
            f"no --kubeconfig and no KUBECONFIG, and this is not a pod with a service account: {_one_line(error)}"
        ) from error


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
