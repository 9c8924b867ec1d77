"""Where the API server is and who we are, from a kubeconfig or from the pod we run in.

kubernetes_asyncio reads every format there is (tokens, token files, client certificates, exec plugins, OIDC); this is
the only module that imports it, and only when credentials are loaded, because the import takes half a second.
"""

from __future__ import annotations

import os
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

# The kubelet rotates a projected token when 80 % of its life is over; client-go also looks once a minute.
_REREAD_S = 60.0


class BadCredentials(Exception):
    """The kubeconfig or the service account cannot be used; `str()` is one line."""


class Credentials:
    """An address, a TLS context and the headers that say who we are, kept fresh."""

    def __init__(self, configuration: Any, reload: Callable[[], Awaitable[None]]) -> None:
        self._configuration = configuration
        self._reload = reload
        self._reread_at = time.monotonic() + _REREAD_S
        self.url: str = configuration.host.rstrip("/")
        self.ssl_context = _ssl_context(configuration)

    async def headers(self) -> Mapping[str, str]:
        """The `Authorization` header, reread at most once a minute."""
        if time.monotonic() >= self._reread_at:
            await self.renew()
        token = self._configuration.api_key.get("BearerToken")
        return {"Authorization": token} if token else {}

    async def renew(self) -> bool:
        """Read the token again, now; says whether it is another one."""
        before = self._configuration.api_key.get("BearerToken")
        self._reread_at = time.monotonic() + _REREAD_S
        await self._reload()
        return bool(self._configuration.api_key.get("BearerToken") != before)


async def load_credentials(kubeconfig: str | None, context: str | None = None) -> Credentials:
    """From `--kubeconfig`, else `KUBECONFIG`, else the service account of the pod we run in."""
    path = kubeconfig or os.environ.get("KUBECONFIG")
    if path:
        if not any(Path(part).expanduser().is_file() for part in path.split(os.pathsep)):  # noqa: ASYNC240 - at start only
            raise BadCredentials(f"kubeconfig {path}: no such file")
        return await _from_kubeconfig(path, context)
    return await _from_cluster()


async def _from_kubeconfig(path: str, context: str | None) -> Credentials:
    import yaml  # noqa: PLC0415 - heavy, see the module docstring
    from kubernetes_asyncio import client, config  # noqa: PLC0415

    configuration = client.Configuration()
    try:
        loader = await config.load_kube_config(
            config_file=path, context=context, client_configuration=configuration, persist_config=False
        )
        return Credentials(configuration, reload=lambda: loader.load_and_set(configuration))
    except (config.ConfigException, yaml.YAMLError, OSError, ValueError, TypeError, AssertionError) as error:
        raise BadCredentials(f"kubeconfig {path}: {_one_line(error)}") from error


async def _from_cluster() -> Credentials:
    from kubernetes_asyncio import client, config  # noqa: PLC0415

    configuration = client.Configuration()

    async def reload() -> None:
        config.load_incluster_config(  # type: ignore[no-untyped-call]
            client_configuration=configuration
        )

    try:
        await reload()
    except (config.ConfigException, OSError) as error:
        raise BadCredentials(
            f"no --kubeconfig and no KUBECONFIG, and this is not a pod with a service account: {_one_line(error)}"
        ) from error
    return Credentials(configuration, reload)


def _ssl_context(configuration: Any) -> ssl.SSLContext | bool:
    if not configuration.host.startswith("https:"):
        return True  # aiohttp's word for "the default", never used over plain HTTP
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    # Cluster CAs often lack the key usage extensions that newer OpenSSLs insist on in strict mode.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not configuration.verify_ssl:  # the user wrote insecure-skip-tls-verify into the kubeconfig
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, keyfile=configuration.key_file)
    return context


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
