"""Through a proxy: requests and watches reach the API server in a tunnel, and a proxy that fails is one line."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import uvloop
import yaml

from koordpy.kube.auth import identity
from koordpy.kube.auth.credentials import BadCredentials, load_credentials
from koordpy.kube.client import Client
from koordpy.kube.errors import Unavailable
from koordpy.kube.http import transport as module
from koordpy.kube.http.transport import HttpTransport
from koordpy.sim.embedded.server import EmbeddedServer
from tests.controlplane.certificates import Authority
from tests.controlplane.fixtures import Real
from tests.kube.proxying import Proxy, proxy_to
from tests.kube.rawserver import listening
from tests.kube.test_credentials import exec_plugin, kubeconfig

PODS = "/api/v1/pods"
LINE = b'{"type":"BOOKMARK","object":{}}\n'


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch) -> None:
    for name in ("KUBECONFIG", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


@asynccontextmanager
async def tls_server(authority: Authority) -> AsyncIterator[int]:
    """An API server of two answers: an empty list, and a watch of one line. Gives its port."""
    pair = authority.serving()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.certificate, pair.key)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := (await reader.read(65536)):
            body = LINE if b"watch=true" in head else b'{"items":[]}'
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        writer.close()

    async with listening(serve, context) as port:
        yield port


@asynccontextmanager
async def tunnelled(directory: Path, *, server: str = "https://localhost:6443") -> AsyncIterator[tuple[Proxy, Path]]:
    """A TLS server, a proxy before it, and a kubeconfig that knows the first one's authority but no proxy."""
    authority = Authority(directory)
    async with tls_server(authority) as port, proxy_to(port) as proxy:
        yield proxy, with_cluster(kubeconfig(directory / "k", {}, server=server), authority)


def with_cluster(path: Path, authority: Authority | None = None, **more: str) -> Path:
    content = yaml.safe_load(path.read_text())
    cluster = content["clusters"][0]["cluster"]
    cluster |= {key.replace("_", "-"): value for key, value in more.items()}
    if authority is not None:
        cluster["certificate-authority"] = str(authority.pair.certificate)
    path.write_text(yaml.safe_dump(content))
    return path


@asynccontextmanager
async def client_of(path: Path) -> AsyncIterator[Client]:
    async with HttpTransport(await load_credentials(str(path)), connections=4) as transport:
        yield Client(transport)


async def list_and_watch(path: Path) -> None:
    async with client_of(path) as client:
        assert (await client.page(PODS)).items == ()
        assert (await client.page(PODS)).items == ()
        async with client.watch(PODS) as chunks:
            assert [chunk async for chunk in chunks] == [LINE]


def loops() -> Any:
    """The tests run on asyncio's own event loop, koordpy on uvloop: both have ways of their own to begin TLS."""
    return pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])


def on(loop: Any, test: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(test)


@loops()
def test_requests_and_watches_go_through_the_proxy_of_the_kubeconfig(loop, tmp_path) -> None:
    async def test() -> None:
        async with tunnelled(tmp_path) as (proxy, path):
            await list_and_watch(with_cluster(path, proxy_url=proxy.url))
            assert proxy.asked == [b"CONNECT localhost:6443 HTTP/1.1\r\nHost: localhost:6443\r\n\r\n"] * 2

    on(loop, test())


async def test_the_proxy_of_the_environment_is_used(tmp_path, monkeypatch) -> None:
    async with tunnelled(tmp_path, server="https://api.example.com:6443") as (proxy, path):
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        await list_and_watch(with_cluster(path, tls_server_name="localhost"))
        assert [head.split()[1] for head in proxy.asked] == [b"api.example.com:6443"] * 2


async def test_a_server_in_no_proxy_is_reached_directly(tmp_path, monkeypatch) -> None:
    async with tunnelled(tmp_path) as (proxy, path):
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        monkeypatch.setenv("NO_PROXY", ".example.com")
        with_cluster(path, server="https://api.example.com:6443")
        assert (await load_credentials(str(path))).proxy is None


async def test_a_pod_uses_the_proxy_of_its_environment(tmp_path, monkeypatch) -> None:
    (tmp_path / "ca.crt").write_bytes(Authority(tmp_path).pair.certificate.read_bytes())
    (tmp_path / "token").write_text("secret")
    monkeypatch.setattr(identity, "_SERVICE_ACCOUNT", tmp_path)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    assert str((await load_credentials(None)).proxy) == "http://proxy:3128"
    monkeypatch.setenv("NO_PROXY", "10.0.0.0/8")
    assert (await load_credentials(None)).proxy is None
    monkeypatch.setenv("HTTPS_PROXY", "socks5://me:secret@proxy:1080")
    monkeypatch.delenv("NO_PROXY")
    with pytest.raises(BadCredentials, match=r"^HTTPS_PROXY: 'socks5://\*\*\*@proxy:1080' cannot be used"):
        await load_credentials(None)


async def test_the_tunnel_is_opened_with_name_and_password(tmp_path) -> None:
    async with tunnelled(tmp_path) as (proxy, path):
        await list_and_watch(with_cluster(path, proxy_url=proxy.url.replace("http://", "http://me:secret@")))
        assert b"\r\nProxy-Authorization: Basic bWU6c2VjcmV0\r\n" in proxy.asked[0]


async def test_a_kubeconfig_with_an_exec_plugin_may_have_a_proxy(tmp_path) -> None:
    path = with_cluster(kubeconfig(tmp_path / "k", exec_plugin(tmp_path)), proxy_url="http://proxy:3128")
    assert str((await load_credentials(str(path))).proxy) == "http://proxy:3128"


@pytest.mark.parametrize("plugin", [False, True])
async def test_a_proxy_that_cannot_be_used_stops_the_start_with_one_line(tmp_path, plugin: bool) -> None:
    user = exec_plugin(tmp_path) if plugin else {}
    path = with_cluster(kubeconfig(tmp_path / "k", user), proxy_url="socks5://me:secret@proxy:1080")
    with pytest.raises(BadCredentials) as caught:
        await load_credentials(str(path))
    assert str(caught.value) == (
        f"kubeconfig {path}: proxy-url: 'socks5://***@proxy:1080' cannot be used: only http:// proxies can"
    )


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", "refuses with status 407"),
        (b"HTTP/1.0 502 Bad Gateway\r\n\r\n<html>", "refuses with status 502"),
        (b"SSH-2.0-x\r\n", "the proxy's answer is not HTTP"),
        (b"HTTP/1.1 200 OK\r\n\r\nhello", "the proxy says more"),
        (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 50_000, "the proxy's answer is not HTTP: over"),
    ],
)
@loops()
def test_a_proxy_that_opens_no_tunnel_is_one_line(loop, tmp_path, answer: bytes, problem: str) -> None:
    async def test() -> None:
        async with tunnelled(tmp_path) as (proxy, path):
            proxy.answer = answer
            async with client_of(with_cluster(path, proxy_url=proxy.url)) as client:
                for call in (client.page(PODS), _opened(client)):
                    with pytest.raises(Unavailable, match=problem) as caught:
                        await call
                    assert f"https://localhost:6443 through proxy {proxy.url}" in str(caught.value)
                    assert "\n" not in str(caught.value)

    on(loop, test())


async def _opened(client: Client) -> None:
    async with client.watch(PODS):
        pass


@loops()
def test_a_proxy_that_never_answers_is_given_up_in_time(loop, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(module, "_CONNECT_S", 0.2)

    async def test() -> None:
        async with tunnelled(tmp_path) as (proxy, path):
            proxy.hangs = True
            async with client_of(with_cluster(path, proxy_url=proxy.url)) as client:
                with pytest.raises(Unavailable, match=r"no answer from .* through proxy .* in time"):
                    await client.page(PODS)

    on(loop, test())


async def test_a_proxy_that_is_not_there_is_one_line(tmp_path) -> None:
    path = with_cluster(kubeconfig(tmp_path / "k", {}, server="https://localhost:1"), proxy_url="http://127.0.0.1:1")
    async with client_of(path) as client:
        with pytest.raises(
            Unavailable, match=r"cannot connect to https://localhost:1 through proxy http://127.0.0.1:1"
        ):
            await client.page(PODS)


@loops()
def test_the_certificate_behind_the_tunnel_is_checked(loop, tmp_path) -> None:
    (tmp_path / "another").mkdir()

    async def test() -> None:
        async with tunnelled(tmp_path) as (proxy, path):
            with_cluster(path, Authority(tmp_path / "another"), proxy_url=proxy.url)
            async with client_of(path) as client:
                with pytest.raises(Unavailable, match=r"the certificate of https://localhost:6443 .* is not trusted"):
                    await client.page(PODS)

    on(loop, test())


async def test_a_server_without_tls_is_asked_through_its_proxy_with_absolute_urls(tmp_path) -> None:
    async with EmbeddedServer(kubelets=False) as server, proxy_to(int(server.url.rpartition(":")[2])) as proxy:
        path = kubeconfig(tmp_path / "k", {}, server="http://api.example.com")
        with_cluster(path, proxy_url=proxy.url.replace("http://", "http://me:secret@"))
        async with client_of(path) as client:
            assert (await client.page(PODS)).items == ()
    assert proxy.asked[0].startswith(b"GET http://api.example.com/api/v1/pods HTTP/1.1\r\nHost: api.example.com\r\n")
    assert b"\r\nProxy-Authorization: Basic bWU6c2VjcmV0\r\n" in proxy.asked[0]


@pytest.mark.real
async def test_the_real_server_is_reached_through_a_proxy(real: Real, tmp_path) -> None:
    port = int(real.control_plane.url.rpartition(":")[2])
    async with proxy_to(port) as proxy:
        path = with_cluster(real.kubeconfig(tmp_path), proxy_url=proxy.url)
        async with client_of(path) as client:
            page = await client.page("/api/v1/namespaces")
            async with client.watch("/api/v1/namespaces") as chunks:
                line = (await anext(aiter(chunks))).partition(b"\n")[0]
    assert page.items
    assert msgspec.json.decode(line)["type"] == "ADDED"
    assert len(proxy.asked) == 2
