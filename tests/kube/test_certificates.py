"""Certificates, keys and authorities that are rotated on disk are used without a restart; broken ones are not."""

from __future__ import annotations

import asyncio
import base64
import os
import shutil
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from cryptography.hazmat.primitives import serialization

from koordpy.kube.auth import certificates, credentials, identity
from koordpy.kube.auth.credentials import BadCredentials, load_credentials
from koordpy.kube.client import Client
from koordpy.kube.errors import Unauthorized, Unavailable
from koordpy.kube.http.address import Address
from koordpy.kube.http.dialing import Dialer
from koordpy.kube.http.transport import HttpTransport
from tests.controlplane.certificates import Authority, Pair
from tests.controlplane.fixtures import Real
from tests.kube.rawserver import listening
from tests.kube.test_credentials import kubeconfig, later

NODES = "/api/v1/nodes"


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch) -> None:
    for name in ("KUBECONFIG", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)


@dataclass
class Files:
    """What the kubeconfig names: `ca.crt`, `client.crt` and `client.key`, as rotation writes them."""

    directory: Path

    def put(self, authority: Authority | None = None, client: Pair | None = None) -> None:
        if authority is not None:
            self._replace("ca.crt", authority.pair.certificate.read_bytes())
        if client is not None:
            self._replace("client.crt", client.certificate.read_bytes())
            self._replace("client.key", client.key.read_bytes())

    def _replace(self, name: str, content: bytes) -> None:
        new = self.directory / f"{name}.new"
        new.write_bytes(content)
        new.rename(self.directory / name)

    def kubeconfig(self, server: str) -> Path:
        path = kubeconfig(
            self.directory / "k", {"client-certificate": "client.crt", "client-key": "client.key"}, server=server
        )
        content = yaml.safe_load(path.read_text())
        content["clusters"][0]["cluster"]["certificate-authority"] = "ca.crt"
        path.write_text(yaml.safe_dump(content))
        return path


@dataclass
class Server:
    """A server that knows its clients by the names in their certificates, and can be given another certificate."""

    context: ssl.SSLContext
    url: str = ""
    refuses: set[str] = field(default_factory=set)  # with 401
    served: list[str] = field(default_factory=list)  # who made each request
    connections: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        subject = dict(pair[0] for pair in writer.get_extra_info("peercert")["subject"])
        name = subject["commonName"]
        while await reader.read(65536):
            self.served.append(name)
            status, body = (401, b'{"message":"no"}') if name in self.refuses else (200, b'{"items":[]}')
            writer.write(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body))
        writer.close()


@dataclass
class World:
    server: Server
    files: Files
    client: Client
    authority: Authority


@pytest.fixture
def places(tmp_path) -> Iterator[Path]:
    for name in ("first", "second", "files"):
        (tmp_path / name).mkdir()
    return tmp_path


@asynccontextmanager
async def world(directory: Path) -> AsyncIterator[World]:
    """A server and a client with a certificate in the name of `old`, both signed by the first authority."""
    authority = Authority(directory / "first")
    server = Server(serving(authority, authority))
    files = Files(directory / "files")
    files.put(authority, authority.client("old", "group"))
    async with listening(server.serve, server.context) as port:
        server.url = f"https://127.0.0.1:{port}"
        found = await load_credentials(str(files.kubeconfig(server.url)))
        async with HttpTransport(found, connections=4) as transport:
            yield World(server, files, Client(transport), authority)


def serving(authority: Authority, *trusted: Authority) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # the default since Python 3.13; our certificates are simpler
    show(context, authority)
    for each in trusted:
        context.load_verify_locations(each.pair.certificate)
    return context


def show(context: ssl.SSLContext, authority: Authority) -> None:
    """From now on, show a certificate of this authority."""
    pair = authority.serving()
    context.load_cert_chain(pair.certificate, pair.key)


def warnings(log: list[Any]) -> list[str]:
    return [entry["event"] for entry in log if entry["log_level"] == "warning"]


async def test_a_rotated_client_certificate_is_used_within_a_minute(places, monkeypatch, log) -> None:
    async with world(places) as here:
        await here.client.page(NODES)
        here.files.put(client=here.authority.client("new", "group"))
        await here.client.page(NODES)
        later(monkeypatch, 61)
        await here.client.page(NODES)
        await here.client.page(NODES)
    assert here.server.served == ["old", "old", "new", "new"]
    assert here.server.connections == 2, "the connection in the old name is not used any more"
    assert [entry["event"] for entry in log] == ["certificates_rotated"]


async def test_a_refused_client_certificate_is_replaced_at_once(places) -> None:
    async with world(places) as here:
        await here.client.page(NODES)
        here.files.put(client=here.authority.client("new", "group"))
        here.server.refuses.add("old")
        await here.client.page(NODES)
    assert here.server.served == ["old", "old", "new"]


async def test_a_client_certificate_that_stays_refused_is_not_sent_twice(places) -> None:
    async with world(places) as here:
        here.server.refuses.add("old")
        with pytest.raises(Unauthorized):
            await here.client.page(NODES)
    assert here.server.served == ["old"]


async def test_a_watch_that_is_refused_sends_the_new_certificate_at_the_next_attempt(places) -> None:
    async with world(places) as here:
        here.server.refuses.add("old")
        here.files.put(client=here.authority.client("new", "group"))
        with pytest.raises(Unauthorized):
            await watch(here.client)
        await watch(here.client)
    assert here.server.served == ["old", "new"]


async def watch(client: Client) -> None:
    async with client.watch(NODES):
        pass


async def test_a_watch_that_fails_for_an_old_authority_trusts_the_new_one_at_the_next_attempt(
    places, monkeypatch
) -> None:
    async with world(places) as here:
        second = Authority(places / "second")
        show(here.server.context, second)
        here.files.put(second)
        later(monkeypatch, 2)
        with pytest.raises(Unavailable, match="is not trusted"):
            await watch(here.client)
        await watch(here.client)


async def test_a_request_that_fails_for_an_old_authority_is_repeated_with_the_new_one(places, monkeypatch) -> None:
    async with world(places) as here:
        second = Authority(places / "second")
        show(here.server.context, second)
        here.files.put(second)
        later(monkeypatch, 2)
        await here.client.page(NODES)
    assert here.server.served == ["old"]


async def test_the_old_authority_is_not_trusted_any_more(places, monkeypatch) -> None:
    async with world(places) as here:
        here.files.put(Authority(places / "second"))
        later(monkeypatch, 61)
        with pytest.raises(Unavailable, match="is not trusted"):
            await here.client.page(NODES)


@pytest.mark.parametrize("name", ["ca.crt", "client.crt", "client.key"])
@pytest.mark.parametrize("harm", ["cut", "emptied", "deleted", "garbage"])
async def test_a_broken_file_leaves_the_old_certificates_in_use_with_one_warning(
    places, monkeypatch, log, name, harm
) -> None:
    async with world(places) as here:
        file = here.files.directory / name
        whole = file.read_bytes()
        spoil(file, harm)
        for minute in (61, 122, 183):
            later(monkeypatch, minute)
            await here.client.page(NODES)
        assert here.server.served == ["old"] * 3
        assert warnings(log) == ["certificates_not_read"]
        assert str(file) in log[0]["problem"]
        assert "\n" not in log[0]["problem"]
        file.write_bytes(whole)
        here.files.put(client=here.authority.client("new", "group"))
        later(monkeypatch, 244)
        await here.client.page(NODES)
        assert here.server.served[-1] == "new"


def spoil(file: Path, harm: str) -> None:
    content = file.read_bytes()
    if harm == "deleted":
        file.unlink()
    else:
        file.write_bytes({"cut": content[: len(content) // 2], "emptied": b"", "garbage": b"garbage"}[harm])


async def test_a_certificate_without_its_key_is_used_when_the_key_has_come(places, monkeypatch, log) -> None:
    async with world(places) as here:
        new = here.authority.client("new", "group")
        shutil.copy(new.certificate, here.files.directory / "client.crt")
        later(monkeypatch, 61)
        await here.client.page(NODES)
        shutil.copy(new.key, here.files.directory / "client.key")
        later(monkeypatch, 122)
        await here.client.page(NODES)
    assert here.server.served == ["old", "new"]
    assert warnings(log) == ["certificates_not_read"]


async def test_the_files_are_not_read_for_each_request(places, monkeypatch) -> None:
    looks = 0
    look = certificates._digest

    def counted(configuration: Any) -> bytes:
        nonlocal looks
        looks += 1
        return look(configuration)

    async with world(places) as here:
        monkeypatch.setattr(certificates, "_digest", counted)
        for _ in range(50):
            await here.client.page(NODES)
        assert looks == 0


async def test_an_authority_that_stays_wrong_is_not_reread_for_each_connection(places, monkeypatch) -> None:
    looks = 0

    def look(_: certificates.Certificates) -> None:
        nonlocal looks
        looks += 1

    async with world(places) as here:
        monkeypatch.setattr(certificates.Certificates, "refresh", look)
        monkeypatch.setattr(credentials, "_REREAD_AFTER_FAILURE_S", 30)
        show(here.server.context, Authority(places / "second"))
        later(monkeypatch, 31)
        for _ in range(20):
            with pytest.raises(Unavailable):
                await here.client.page(NODES)
    assert looks == 1


async def test_certificates_inside_the_kubeconfig_are_rotated_with_it(places, monkeypatch) -> None:
    async with world(places) as here:
        path = here.files.kubeconfig(here.server.url)
        inline(path, here.files.directory)
        async with HttpTransport(await load_credentials(str(path)), connections=4) as transport:
            client = Client(transport)
            await client.page(NODES)
            before = set(identity._temporary_files.values())
            here.files.put(client=here.authority.client("new", "group"))
            here.files.kubeconfig(here.server.url)
            inline(path, here.files.directory)
            later(monkeypatch, 61)
            await client.page(NODES)
            after = set(identity._temporary_files.values())
    assert here.server.served == ["old", "new"]
    assert len(before) == len(after) == 3
    assert not any(map(os.path.exists, before - after)), "a replaced key is not left lying about"


def inline(path: Path, directory: Path) -> None:
    content = yaml.safe_load(path.read_text())
    user, cluster = content["users"][0]["user"], content["clusters"][0]["cluster"]
    for holder, key in ((user, "client-certificate"), (user, "client-key"), (cluster, "certificate-authority")):
        holder[f"{key}-data"] = base64.b64encode((directory / holder.pop(key)).read_bytes()).decode()
    path.write_text(yaml.safe_dump(content))


async def test_a_key_that_wants_a_passphrase_stops_the_start_instead_of_asking_for_it(places) -> None:
    authority = Authority(places / "first")
    files = Files(places / "files")
    pair = authority.client("old", "group")
    files.put(authority, pair)
    key = serialization.load_pem_private_key(pair.key.read_bytes(), None)
    (files.directory / "client.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"),
        )
    )
    with pytest.raises(BadCredentials, match=r"client\.key"):
        await load_credentials(str(files.kubeconfig("https://127.0.0.1:1")))


@pytest.mark.parametrize(("server", "expected"), [("HTTPS://x", True), ("https://x", True), ("HTTP://x", False)])
async def test_capitals_in_the_scheme_do_not_send_a_token_in_plain_text(tmp_path, server: str, expected: bool) -> None:
    found = await load_credentials(str(kubeconfig(tmp_path / "k", {"token": "secret"}, server=server)))
    assert (found.ssl_context is not None) is expected
    assert Address.of(found.url).is_tls is expected


async def test_a_server_with_tls_is_never_reached_without_tls(places) -> None:
    with pytest.raises(ssl.SSLError):
        await Dialer("https://127.0.0.1:1").connect(asyncio.Protocol, None, 1)


# --- the pod we run in ---


async def test_a_rotated_authority_of_the_service_account_is_used(places, monkeypatch, log) -> None:
    files = Files(places / "files")
    files.put(Authority(places / "first"))
    (files.directory / "token").write_text("first")
    monkeypatch.setattr(identity, "_SERVICE_ACCOUNT", files.directory)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    found = await load_credentials(None)
    before = found.ssl_context
    (files.directory / "token").write_text("second")
    (files.directory / "ca.crt").write_text("half")
    later(monkeypatch, 61)
    assert await found.headers() == {"Authorization": "Bearer second"}, "whatever is wrong with the authority"
    assert found.ssl_context is before
    files.put(Authority(places / "second"))
    later(monkeypatch, 122)
    await found.headers()
    assert found.ssl_context is not before
    assert [entry["event"] for entry in log] == ["certificates_not_read", "certificates_rotated"]


# --- on the real server ---


@pytest.mark.real
async def test_the_real_server_takes_a_certificate_that_came_later(real: Real, places) -> None:
    path = real.kubeconfig(places)
    content = yaml.safe_load(path.read_text())
    user = content["users"][0]["user"]
    good = Pair(Path(user["client-certificate"]), Path(user["client-key"]))
    files = Files(places / "files")
    files.put(client=Authority(places / "first").client("nobody", "knows"))
    user["client-certificate"], user["client-key"] = (str(files.directory / f"client.{end}") for end in ("crt", "key"))
    path.write_text(yaml.safe_dump(content))
    async with HttpTransport(await load_credentials(str(path)), connections=4) as transport:
        with pytest.raises(Unauthorized):
            await Client(transport).page(NODES)
        files.put(client=good)
        assert msgspec.json.encode((await Client(transport).page(NODES)).metadata)
