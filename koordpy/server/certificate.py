"""The server's certificate, read again when its files have changed: cert-manager renews it while we run.

The files are looked at when somebody connects, so nothing runs in between. A pair that cannot be read leaves the one of
before in use: kubelet writes a Secret's files one after the other, and the next connection finds both.
"""

from __future__ import annotations

import ssl
from pathlib import Path

import structlog

from koordpy.server.errors import CannotServe
from koordpy.server.settings import Serving

log = structlog.get_logger()

_Seen = tuple[tuple[int, int, int], ...]  # of each file: inode, time of its last change, size


def tls(serving: Serving) -> ssl.SSLContext | None:
    """The context to listen with; None without a certificate. Raises CannotServe if it is wrong from the start."""
    if not serving.tls_cert_file:
        return None
    try:
        return _Certificate(serving.tls_cert_file, serving.tls_private_key_file or None).listening
    except OSError as error:  # ssl.SSLError is one
        raise CannotServe(f"--tls-cert-file {serving.tls_cert_file}: {error}") from error


class _Certificate:
    """`listening` keeps its first certificate; each connection is moved to the context with the newest one."""

    def __init__(self, certificate: str, key: str | None) -> None:
        self._certificate, self._key = certificate, key
        self._seen = self._refused = self._look()
        self._newest = self.listening = self._read()
        self.listening.sni_callback = self._choose

    def _choose(self, connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _: ssl.SSLContext) -> None:
        """Called by OpenSSL in every handshake, also of clients that name no server."""
        self._renew()
        connection.context = self._newest

    def _renew(self) -> None:
        seen: _Seen = ()
        try:
            seen = self._look()
            if seen == self._seen:
                return
            self._newest, self._seen = self._read(), seen
        except OSError as error:
            if seen != self._refused:  # once for each state of the files, not for each connection
                self._refused = seen
                log.warning("serving_certificate_not_read", file=self._certificate, error=str(error))
        else:
            log.info("serving_certificate_rotated", file=self._certificate)

    def _look(self) -> _Seen:
        found = [Path(path).stat() for path in (self._certificate, self._key) if path]
        return tuple((each.st_ino, each.st_mtime_ns, each.st_size) for each in found)

    def _read(self) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self._certificate, self._key)
        return context
