"""The TLS context for new connections, rebuilt when its files have changed on disk.

Certificates, keys and authorities are rotated while the process runs: by a kubelet, by cert-manager, by the user. The
files are read when `refresh` is called: once a minute and after a refusal, never for each request. A file that cannot
be used, such as one that is half written, leaves the context as it is.
"""

from __future__ import annotations

import hashlib
import ssl
from pathlib import Path
from typing import Any

import structlog

log = structlog.get_logger()


class Certificates:
    """`configuration` has the fields of kubernetes_asyncio's Configuration; raises ValueError for unusable files."""

    def __init__(self, configuration: Any) -> None:
        self._configuration = configuration
        self._digest = _digest(configuration)
        self._refused = b""  # digest of files that could not be used, and were logged
        self.context = _context(configuration)  # None for a server without TLS

    def refresh(self) -> None:
        """Build a new context if the files have changed."""
        found = _digest(self._configuration)
        if found in (self._digest, self._refused):
            return
        try:
            # Files written after the digest was taken differ from it at the next refresh.
            self.context = _context(self._configuration)
        except ValueError as error:
            self._refused = found if found == _digest(self._configuration) else b""
            log.warning("certificates_not_read", problem=str(error), hint="going on with what we have")
        else:
            self._digest = found
            log.info("certificates_rotated", hint="new connections use the new ones")


def _files(configuration: Any) -> list[str]:
    return [file for file in (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file) if file]


def _digest(configuration: Any) -> bytes:
    """A digest of the files."""
    digest = hashlib.sha256()
    for file in _files(configuration):
        try:
            digest.update(hashlib.sha256(Path(file).read_bytes()).digest())
        except OSError as error:
            digest.update(repr(error).encode())
    return digest.digest()


def _context(configuration: Any) -> ssl.SSLContext | None:
    if configuration.host.lower().startswith("http:"):  # as `Address` reads it, or a token would be sent in plain text
        return None
    try:
        context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    except OSError as error:  # errors of TLS are OSErrors too; none of them names the file
        raise ValueError(f"certificate authority {configuration.ssl_ca_cert}: {error}") from error
    # Cluster CAs often lack the key usage extensions that newer versions of OpenSSL require in strict mode.
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
    """Without it OpenSSL would prompt at the terminal, and wait."""
    return ""
