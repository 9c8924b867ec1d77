"""The certificate of the HTTP server: one that was renewed on disk is shown without a restart, a broken one is not."""

from __future__ import annotations

import asyncio
import shutil
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import structlog
from cryptography import x509

from koordpy.server.certificate import tls
from koordpy.server.settings import Serving
from tests.controlplane.certificates import Authority, Pair, trusting


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    (tmp_path / "authority").mkdir()
    return Authority(tmp_path / "authority")


class Mounted:
    """A Secret as kubelet mounts it: `..data` is a link to the newest version, and the files are links through it."""

    def __init__(self, directory: Path, pair: Pair) -> None:
        self._directory, self._version = directory, 0
        directory.mkdir()
        self.put(pair.certificate, pair.key)
        for name in ("tls.crt", "tls.key"):
            (directory / name).symlink_to(f"..data/{name}")

    def put(self, certificate: Path, key: Path) -> None:
        self._version += 1
        made = self._directory / f"..version-{self._version}"
        made.mkdir()
        shutil.copy(certificate, made / "tls.crt")
        shutil.copy(key, made / "tls.key")
        link = self._directory / "..data-new"
        link.symlink_to(made.name)
        link.replace(self._directory / "..data")

    def remove(self) -> None:
        (self._directory / "tls.crt").unlink()

    @property
    def serving(self) -> Serving:
        certificate, key = (str(self._directory / name) for name in ("tls.crt", "tls.key"))
        return Serving("127.0.0.1", 0, tls_cert_file=certificate, tls_private_key_file=key)


@pytest.fixture
def mounted(tmp_path: Path, authority: Authority) -> Mounted:
    return Mounted(tmp_path / "mounted", authority.serving())


@asynccontextmanager
async def listening(serving: Serving) -> AsyncIterator[int]:
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=tls(serving))
    async with server:
        yield server.sockets[0].getsockname()[1]


async def shown(port: int, authority: Authority, *, name: str | None = "localhost") -> int:
    """The serial number of the certificate that a client is shown; without `name` it asks for no server."""
    context = trusting(authority.pair.certificate)
    if name is None:
        context.check_hostname = False
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=name or "")
    connection: ssl.SSLObject = writer.get_extra_info("ssl_object")
    certificate = connection.getpeercert(binary_form=True)
    writer.close()
    assert certificate
    return x509.load_der_x509_certificate(certificate).serial_number


def serial(pair: Pair) -> int:
    return x509.load_pem_x509_certificate(pair.certificate.read_bytes()).serial_number


@pytest.mark.parametrize("name", ["localhost", None])
async def test_a_renewed_certificate_is_shown_to_the_next_client(authority, mounted, name):
    async with listening(mounted.serving) as port:
        before = await shown(port, authority, name=name)
        renewed = authority.serving()
        mounted.put(renewed.certificate, renewed.key)
        assert before != serial(renewed)
        assert await shown(port, authority, name=name) == serial(renewed)


async def test_a_certificate_whose_key_is_another_one_leaves_the_one_of_before(authority, mounted):
    async with listening(mounted.serving) as port:
        before = await shown(port, authority)
        other_key = authority.client("somebody", "else").key
        renewed = authority.serving()
        with structlog.testing.capture_logs() as entries:
            mounted.put(renewed.certificate, other_key)
            assert await shown(port, authority) == before
            assert await shown(port, authority) == before
        assert [entry["log_level"] for entry in entries] == ["warning"], "once, and not for each client"
        mounted.put(renewed.certificate, renewed.key)
        assert await shown(port, authority) == serial(renewed)


async def test_a_certificate_that_was_removed_leaves_the_one_of_before(authority, mounted):
    async with listening(mounted.serving) as port:
        before = await shown(port, authority)
        mounted.remove()
        assert await shown(port, authority) == before
