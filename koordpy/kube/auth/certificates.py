"""The TLS context for new connections, made anew when the files behind it have changed on disk.

Certificates, keys and authorities are rotated while we run: by a kubelet, by cert-manager, by whoever renews a
kubeconfig. The files are looked at when `refresh` is called: once a minute and after a refusal, never for each request.
Files that cannot be used, such as one that is half written, leave the context as it is.
"""

from __future__ import annotations

import hashlib
import ssl
from pathlib import Path
from typing import Any

import structlog

log = structlog.get_logger()


class Certificates:
    """`configuration` names the files, in the words of kubernetes_asyncio; raises ValueError if they cannot be used."""

    def __init__(self, configuration: Any) -> None:
        self._configuration = configuration
        self._content = _content(configuration)
        self._refused = b""  # content that could not be used, and was complained about
        self.context = _context(configuration)  # None for a server without TLS

    def refresh(self) -> None:
        """Make another context if the files have changed."""
        found = _content(self._configuration)
        if found in (self._content, self._refused):
            return
        try:
            # What is written between these two lines is found different at the next refresh.
            self.context = _context(self._configuration)
        except ValueError as error:
            self._refused = found if found == _content(self._configuration) else b""
            log.warning("certificates_not_read", problem=str(error), hint="going on with what we have")
        else:
            self._content = found
            log.info("certificates_rotated", hint="new connections use the new ones")


def _files(configuration: Any) -> list[str]:
    return [file for file in (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file) if file]


def _content(configuration: Any) -> bytes:
    """Tells one content of the files from another."""
    digest = hashlib.sha256()
    for file in _files(configuration):
        try:
            digest.update(hashlib.sha256(Path(file).read_bytes()).digest())
        except OSError as error:
            digest.update(repr(error).encode())
    return digest.digest()


def _context(configuration: Any) -> ssl.SSLContext | None:
    if configuration.host.lower().startswith("http:"):  # as `Address` reads it: else a token would go out in the clear
        return None
    try:
        context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    except OSError as error:  # errors of TLS are OSErrors too; none of them names the file
        raise ValueError(f"certificate authority {configuration.ssl_ca_cert}: {error}") from error
    # Cluster CAs often lack the key usage extensions that newer OpenSSLs insist on in strict mode.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not configuration.verify_ssl:  # the user wrote insecure-skip-tls-verify into the kubeconfig
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if configuration.cert_file:
        cert, key = configuration.cert_file, configuration.key_file
        try:
            context.load_cert_chain(cert, keyfile=key, password=_no_passphrase)
        except OSError as error:
            raise ValueError(f"client certificate {cert}, key {key}: {error}") from error
    return context


def _no_passphrase() -> str:
    """Else OpenSSL would ask whoever sits at the terminal, and wait."""
    return ""
