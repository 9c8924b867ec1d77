"""Credentials from a kubeconfig, or from the service account of the pod that koordpy runs in.

`identity.py` reads plain kubeconfigs. kubernetes_asyncio reads all others (exec plugins, OIDC). This is the only module
that imports it, and only when it is needed, because the import takes half a second.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

import structlog

from koordpy.kube.auth import identity, kubeconfigs
from koordpy.kube.auth.certificates import Certificates
from koordpy.kube.auth.proxies import BadProxy, proxy_for

# The kubelet rotates a projected token after 80 % of its lifetime; client-go also rereads it once a minute.
_REREAD_S = 60.0
_REREAD_AFTER_FAILURE_S = 1.0  # a wrong authority makes every connection fail
_LOAD_TIMEOUT_S = 30.0  # an exec plugin may call a cloud; one that prompts a person must not block the process

log = structlog.get_logger()


class BadCredentials(Exception):
    """The kubeconfig or the service account cannot be used; `str()` is one line."""


class Source(Protocol):
    """A source of credentials."""

    async def load(self, configuration: Any, *, force: bool) -> None:
        """Read them into `configuration`; `force`: the last ones were refused, so ignore their expiry."""


class Credentials:
    """The address, the TLS context and the `Authorization` header, kept up to date."""

    def __init__(self, configuration: Any, source: Source) -> None:
        self._configuration, self._source = configuration, source
        self._read_at = time.monotonic()
        self._renewing = asyncio.Lock()
        self._token: str | None = None
        self._authorization: dict[str, str] = {}  # for this token
        self.url: str = configuration.host.rstrip("/")
        self._certificates = Certificates(configuration)
        self.server_name: str | None = configuration.tls_server_name  # in the certificate, if it is not the host
        self.proxy = proxy_for(self.url, configuration.proxy, os.environ)

    @property
    def ssl_context(self) -> ssl.SSLContext | None:
        """For the next connection; a new one after the certificates were rotated."""
        return self._certificates.context

    async def headers(self) -> dict[str, str]:
        """The `Authorization` header, reread at most once a minute, and the certificates with it."""
        if time.monotonic() >= self._read_at + _REREAD_S:
            await self._reread(force=False)
        return self._headers()

    async def renew(self, refused: dict[str, str], tls: ssl.SSLContext | None) -> bool:
        """After a 401 for these headers and certificates: reread them, and return whether there are new ones to try.

        When a token expires, every request in flight is refused; the first one rereads it for all.
        """
        async with self._renewing:
            if self._headers() == refused and self.ssl_context is tls:
                await self._reread(force=True)
        return self._headers() != refused or self.ssl_context is not tls

    async def renew_tls(self, refused: ssl.SSLContext | None) -> bool:
        """After a handshake that failed with this context: reread the files, and return whether there is a new one."""
        async with self._renewing:
            if self.ssl_context is refused and time.monotonic() >= self._read_at + _REREAD_AFTER_FAILURE_S:
                await self._reread(force=False)
        return self.ssl_context is not refused

    async def _reread(self, *, force: bool) -> None:
        """A file that cannot be read may be in the middle of its rotation: the old credentials stay in use."""
        self._read_at = time.monotonic()
        try:
            async with asyncio.timeout(_LOAD_TIMEOUT_S):
                await self._source.load(self._configuration, force=force)
        except Exception as error:  # noqa: BLE001 - whatever a kubeconfig, a plugin or a disk can raise
            log.warning("credentials_not_read", problem=_one_line(error), hint="going on with what we have")
        self._certificates.refresh()

    def _headers(self) -> dict[str, str]:
        token = self._configuration.api_key.get("BearerToken")
        if token is not self._token:  # built once per token
            self._token = token
            # Token files end in a newline as often as not, and a header must not.
            self._authorization = {"Authorization": " ".join(token.split())} if token else {}
        return self._authorization


async def load_credentials(kubeconfig: str | None, context: str | None = None) -> Credentials:
    """From `--kubeconfig`, else `KUBECONFIG`, else the service account of the pod, else `~/.kube/config`.

    A context is one of a kubeconfig: whoever names one does not mean the service account.
    """
    path = kubeconfigs.named_by_user(kubeconfig, os.environ)
    if path and not kubeconfigs.files_of(path):
        raise BadCredentials(f"kubeconfig {path}: no such file")
    if not path and not context and identity.in_a_pod():
        return await _from_cluster()
    path = path or kubeconfigs.of_home()
    if path is None:
        raise BadCredentials(
            "no --kubeconfig, no KUBECONFIG and no ~/.kube/config"
            + (f" to find context {context!r} in" if context else ", and this is not a pod with a service account")
        )
    return await _from_kubeconfig(path, context)


async def _from_kubeconfig(path: str, context: str | None) -> Credentials:
    plain = _PlainSource(lambda: identity.of_kubeconfig(path, context))
    try:
        found = plain.read()
        if found is not None:
            return Credentials(found, plain)
    except (OSError, ValueError) as error:  # errors of TLS are OSErrors too
        raise BadCredentials(f"kubeconfig {path}: {_one_line(error)}") from error
    return await _from_special_kubeconfig(path, context)


class _PlainSource:
    """A plain kubeconfig or the service account, reread from its files."""

    def __init__(self, read: Callable[[], identity.Identity | None]) -> None:
        self.read = read

    async def load(self, configuration: Any, *, force: bool) -> None:  # noqa: ARG002 - the files are all there is
        found = self.read()
        if found is None:
            raise BadCredentials("it is not what it was when we started; restart koordpy")
        configuration.api_key = found.api_key
        configuration.ssl_ca_cert = found.ssl_ca_cert
        configuration.cert_file, configuration.key_file = found.cert_file, found.key_file
        identity.delete_unused_files(found)


async def _from_special_kubeconfig(path: str, context: str | None) -> Credentials:
    from kubernetes_asyncio import client  # noqa: PLC0415 - heavy, see the module docstring

    configuration = client.Configuration()
    source = _KubeconfigSource(*_as_for_kubectl(path, context))
    try:
        async with asyncio.timeout(_LOAD_TIMEOUT_S):
            await source.load(configuration, force=True)
        return Credentials(configuration, source)
    except TimeoutError:
        raise BadCredentials(f"kubeconfig {path}: its exec plugin took over {_LOAD_TIMEOUT_S:.0f} s") from None
    except Exception as error:  # the loader raises whatever the structure of the file makes it stumble over
        raise BadCredentials(f"kubeconfig {path}: {_one_line(error)}") from error


def _as_for_kubectl(path: str, context: str | None) -> tuple[str, str | None]:
    """Of several files those that say something, and the first current context: the library takes the last."""
    if os.pathsep not in path:
        return path, context
    files = [file for file in kubeconfigs.files_of(path) if file.stat().st_size]
    with suppress(Exception):  # whatever is wrong with the files, the library says it
        context = kubeconfigs.chosen_context(kubeconfigs.joined(files), context)
    return os.pathsep.join(map(str, files)), context


class _KubeconfigSource:
    def __init__(self, path: str, context: str | None) -> None:
        self._path, self._context = path, context
        self._loader: Any = None

    async def load(self, configuration: Any, *, force: bool) -> None:
        """From the file if forced; else from the loaded configuration, where exec plugins check their own expiry."""
        from kubernetes_asyncio import config  # noqa: PLC0415

        if not force and self._loader is not None:
            await self._loader.load_and_set(configuration)
            return
        self._loader = await config.load_kube_config(
            config_file=self._path, context=self._context, client_configuration=configuration, persist_config=False
        )


async def _from_cluster() -> Credentials:
    source = _PlainSource(identity.of_service_account)
    try:
        return Credentials(source.read(), source)
    except BadProxy as error:
        raise BadCredentials(str(error)) from error
    except (OSError, ValueError) as error:
        raise BadCredentials(f"the service account of this pod cannot be used: {_one_line(error)}") from error


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
