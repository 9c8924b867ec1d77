"""Credentials of kubeconfigs of every kind and of service accounts, kept up to date; one line when they are bad."""

from __future__ import annotations

import asyncio
import base64
import stat
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web

from koordpy.kube.auth import credentials as module
from koordpy.kube.auth import identity
from koordpy.kube.auth.credentials import BadCredentials, load_credentials
from koordpy.kube.client import Client
from koordpy.kube.errors import ApiError, Unauthorized, Unavailable
from koordpy.kube.http.transport import HttpTransport
from tests.controlplane.certificates import Authority
from tests.controlplane.fixtures import Real
from tests.controlplane.server import ADMIN_TOKEN

NODES = "/api/v1/nodes"


def kubeconfig(path: Path, user: dict[str, Any], *, server: str = "http://127.0.0.1:1", name: str = "test") -> Path:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server}}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch, tmp_path_factory) -> None:
    proxies = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy")
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", *proxies):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))


def later(monkeypatch, seconds: float) -> None:
    """Move the clock."""
    honest = time.monotonic
    monkeypatch.setattr(module.time, "monotonic", lambda: honest() + seconds)


# --- kubeconfigs ---


async def test_a_token_is_sent_as_it_stands(tmp_path) -> None:
    found = await load_credentials(str(kubeconfig(tmp_path / "k", {"token": "secret"}, server="http://x:80/")))
    assert found.url == "http://x:80"
    assert await found.headers() == {"Authorization": "Bearer secret"}


async def test_a_plain_kubeconfig_is_read_without_kubernetes_asyncio(tmp_path) -> None:
    """Its import is half of what a start takes."""
    path = kubeconfig(tmp_path / "k", {"token": "secret"})
    code = (
        "import asyncio, sys; from koordpy.kube.auth.credentials import load_credentials as load; "
        f"asyncio.run(load({str(path)!r})); print('kubernetes_asyncio' in sys.modules)"
    )
    found = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
    assert (await found.communicate())[0] == b"False\n"


async def test_paths_are_relative_to_the_kubeconfig(tmp_path) -> None:
    (tmp_path / "token").write_text("beside\n")
    found = await load_credentials(str(kubeconfig(tmp_path / "k", {"tokenFile": "token"})))
    assert await found.headers() == {"Authorization": "Bearer beside"}


async def test_a_user_without_credentials_sends_none(tmp_path) -> None:
    assert await (await load_credentials(str(kubeconfig(tmp_path / "k", {})))).headers() == {}


async def test_a_token_file_is_read_again_after_a_minute_and_its_newline_is_not_sent(tmp_path, monkeypatch) -> None:
    token = tmp_path / "token"
    token.write_text("first\n")
    found = await load_credentials(str(kubeconfig(tmp_path / "k", {"tokenFile": str(token)})))
    assert await found.headers() == {"Authorization": "Bearer first"}
    token.write_text("second\n")
    assert await found.headers() == {"Authorization": "Bearer first"}
    later(monkeypatch, 61)
    assert await found.headers() == {"Authorization": "Bearer second"}


async def test_a_token_file_that_is_missing_for_a_moment_leaves_the_old_token_in_use(
    tmp_path, monkeypatch, log
) -> None:
    token = tmp_path / "token"
    token.write_text("first")
    found = await load_credentials(str(kubeconfig(tmp_path / "k", {"tokenFile": str(token)})))
    token.unlink()
    later(monkeypatch, 61)
    assert await found.headers() == {"Authorization": "Bearer first"}
    assert [entry["event"] for entry in log] == ["credentials_not_read"]


def exec_plugin(directory: Path, *, expires: str = "", prints: str = "") -> dict[str, Any]:
    """A plugin that gives token-1, token-2 and so on, one at each call."""
    calls = directory / "calls"
    calls.write_text("")
    script = directory / "plugin.py"
    status = {"expirationTimestamp": expires} if expires else {}
    script.write_text(
        f"#!{sys.executable}\nimport json, pathlib\n"
        f"calls = pathlib.Path({str(calls)!r}); calls.write_text(calls.read_text() + 'x')\n"
        f"status = {status!r} | {{'token': f'token-{{len(calls.read_text())}}'}}\n"
        f"answer = {{'apiVersion': 'client.authentication.k8s.io/v1', 'kind': 'ExecCredential', 'status': status}}\n"
        f"print({prints!r} or json.dumps(answer))\n"
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(script), "args": []}}


async def test_an_exec_plugin_is_asked_and_asked_again_only_when_its_token_has_expired(tmp_path, monkeypatch) -> None:
    user = exec_plugin(tmp_path, expires="2099-01-01T00:00:00Z")
    found = await load_credentials(str(kubeconfig(tmp_path / "k", user)))
    later(monkeypatch, 61)
    assert await found.headers() == {"Authorization": "Bearer token-1"}
    found._source._loader.exec_plugin_expiry = "2020-01-01T00:00:00Z"
    later(monkeypatch, 122)
    assert await found.headers() == {"Authorization": "Bearer token-2"}


async def test_a_refused_token_of_an_exec_plugin_is_replaced_whatever_its_expiry_says(tmp_path) -> None:
    user = exec_plugin(tmp_path, expires="2099-01-01T00:00:00Z")
    found = await load_credentials(str(kubeconfig(tmp_path / "k", user)))
    assert await found.renew(await found.headers(), found.ssl_context)
    assert await found.headers() == {"Authorization": "Bearer token-2"}


async def test_a_plugin_that_fails_is_one_line(tmp_path) -> None:
    path = kubeconfig(tmp_path / "k", exec_plugin(tmp_path, prints="please log in at https://example.com"))
    with pytest.raises(BadCredentials, match=r"kubeconfig .*: exec: failed to decode process output") as caught:
        await load_credentials(str(path))
    assert "\n" not in str(caught.value)


async def test_a_plugin_that_does_not_exist_is_one_line(tmp_path) -> None:
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "/no/such/plugin"}}
    with pytest.raises(BadCredentials, match="/no/such/plugin"):
        await load_credentials(str(kubeconfig(tmp_path / "k", user)))


async def test_a_plugin_that_never_answers_is_given_up(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(module, "_LOAD_TIMEOUT_S", 0.2)
    user = {"exec": {"apiVersion": "v1", "command": "sleep", "args": ["0.6"]}}
    with pytest.raises(BadCredentials, match="its exec plugin took over"):
        await load_credentials(str(kubeconfig(tmp_path / "k", user)))
    await asyncio.sleep(1)  # the plugin ends by itself, and its pipes are closed while their loop is still there


async def test_a_missing_file_is_named(tmp_path) -> None:
    with pytest.raises(BadCredentials, match=f"kubeconfig {tmp_path}/missing: no such file"):
        await load_credentials(str(tmp_path / "missing"))


_CONTEXT = "current-context: x\ncontexts: [{name: x, context: {cluster: x, user: x}}]\nusers: [{name: x, user: {}}]\n"
_GARBAGE = {
    "empty": "",
    "a word": "garbage",
    "a list": "- a\n- b\n",
    "not YAML": "{",
    "not text": "\x00\x01",
    "no clusters": "clusters: 7\n",
    "no names": "clusters: [{}]\n",
    "users that are numbers": "users: [7]\n",
    "a server that is a number": _CONTEXT + "clusters: [{name: x, cluster: {server: 7}}]\n",
    "no certificate": _CONTEXT
    + "clusters: [{name: x, cluster: {server: 'https://x', certificate-authority-data: '!'}}]\n",
}


@pytest.mark.parametrize("content", _GARBAGE.values(), ids=_GARBAGE)
async def test_an_invalid_kubeconfig_is_one_line_that_names_the_file(tmp_path, content) -> None:
    (tmp_path / "k").write_text(content)
    with pytest.raises(BadCredentials, match=rf"^kubeconfig {tmp_path}/k: .+") as caught:
        await load_credentials(str(tmp_path / "k"))
    assert "\n" not in str(caught.value)


# --- the pod we run in ---


@pytest.fixture
def service_account(tmp_path, monkeypatch) -> Path:
    (tmp_path / "ca.crt").write_bytes(Authority(tmp_path).pair.certificate.read_bytes())
    token = tmp_path / "token"
    token.write_text("first\n")
    monkeypatch.setattr(identity, "_SERVICE_ACCOUNT", tmp_path)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    return token


async def test_in_a_pod_the_service_account_is_used(service_account) -> None:
    found = await load_credentials(None)
    assert found.url == "https://10.0.0.1:443"
    assert await found.headers() == {"Authorization": "Bearer first"}


async def test_a_rotated_service_account_token_is_read_again(service_account, monkeypatch) -> None:
    found = await load_credentials(None)
    service_account.write_text("second\n")
    later(monkeypatch, 61)
    assert await found.headers() == {"Authorization": "Bearer second"}


async def test_an_empty_token_in_the_middle_of_a_rotation_is_not_used(service_account, monkeypatch, log) -> None:
    found = await load_credentials(None)
    service_account.write_text("")
    later(monkeypatch, 61)
    assert await found.headers() == {"Authorization": "Bearer first"}


async def test_outside_of_a_pod_and_without_a_kubeconfig_the_user_learns_what_was_tried() -> None:
    with pytest.raises(BadCredentials, match=r"no --kubeconfig, no KUBECONFIG and no ~/.kube/config, and this is not"):
        await load_credentials(None)


# --- in requests ---


@pytest.fixture
async def token_server() -> AsyncIterator[dict[str, Any]]:
    """A server that takes only the token in `accepted`, and remembers which ones it was shown."""
    state: dict[str, Any] = {"accepted": "Bearer second", "shown": []}

    async def answer(request: web.Request) -> web.Response:
        state["shown"].append(request.headers.get("Authorization"))
        await asyncio.sleep(0.01)
        good = request.headers.get("Authorization") == state["accepted"]
        return web.json_response({"items": []} if good else {"message": "Unauthorized"}, status=200 if good else 401)

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    state["url"] = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield state
    await runner.cleanup()


async def test_after_401_the_token_is_read_again_and_the_request_repeated_once(tmp_path, token_server) -> None:
    token = tmp_path / "token"
    token.write_text("first")
    path = kubeconfig(tmp_path / "k", {"tokenFile": str(token)}, server=token_server["url"])
    async with HttpTransport(await load_credentials(str(path)), connections=4) as transport:
        token.write_text("second")
        await Client(transport).page(NODES)
        assert token_server["shown"] == ["Bearer first", "Bearer second"]


async def test_a_token_that_stays_wrong_is_not_sent_twice(tmp_path, token_server) -> None:
    path = kubeconfig(tmp_path / "k", {"token": "wrong"}, server=token_server["url"])
    async with HttpTransport(await load_credentials(str(path)), connections=4) as transport:
        with pytest.raises(Unauthorized):
            await Client(transport).page(NODES)
        assert token_server["shown"] == ["Bearer wrong"]


async def test_when_many_requests_are_refused_at_once_all_of_them_use_the_new_token(tmp_path, token_server) -> None:
    user = exec_plugin(tmp_path)
    token_server["accepted"] = "Bearer token-2"
    path = kubeconfig(tmp_path / "k", user, server=token_server["url"])
    async with HttpTransport(await load_credentials(str(path)), connections=20) as transport:
        await asyncio.gather(*(Client(transport).page(NODES) for _ in range(10)))
    assert (tmp_path / "calls").read_text() == "xx", "and the plugin was asked once for all of them"


async def test_a_watch_that_is_refused_renews_the_token_for_the_next_attempt(tmp_path, token_server) -> None:
    token = tmp_path / "token"
    token.write_text("first")
    path = kubeconfig(tmp_path / "k", {"tokenFile": str(token)}, server=token_server["url"])
    async with HttpTransport(await load_credentials(str(path)), connections=4) as transport:
        token.write_text("second")
        with pytest.raises(Unauthorized):
            async with Client(transport).watch(NODES):
                pass
        async with Client(transport).watch(NODES):
            pass


async def test_a_server_that_is_not_there_is_one_line(tmp_path) -> None:
    async with HttpTransport(await load_credentials(str(kubeconfig(tmp_path / "k", {}))), connections=4) as transport:
        with pytest.raises(Unavailable, match=r"cannot connect to http://127\.0\.0\.1:1") as caught:
            await Client(transport).page(NODES)
        assert "\n" not in str(caught.value)


# --- on the real server ---


def _base64(path: str) -> str:
    return base64.b64encode(Path(path).read_bytes()).decode()


async def _list_nodes(path: Path) -> None:
    async with HttpTransport(await load_credentials(str(path)), connections=4) as transport:
        await Client(transport).page(NODES)


@pytest.mark.real
async def test_the_real_server_takes_a_client_certificate(real: Real, tmp_path) -> None:
    await _list_nodes(real.kubeconfig(tmp_path))


@pytest.mark.real
async def test_the_real_server_takes_a_client_certificate_inside_the_file(real: Real, tmp_path) -> None:
    path = real.kubeconfig(tmp_path)
    content = yaml.safe_load(path.read_text())
    user, cluster = content["users"][0]["user"], content["clusters"][0]["cluster"]
    for holder, key in ((user, "client-certificate"), (user, "client-key"), (cluster, "certificate-authority")):
        holder[f"{key}-data"] = _base64(holder.pop(key))
    path.write_text(yaml.safe_dump(content))
    await _list_nodes(path)


@pytest.mark.real
async def test_the_real_server_takes_a_token(real: Real, tmp_path) -> None:
    await _list_nodes(real.kubeconfig(tmp_path, token=ADMIN_TOKEN))


@pytest.mark.real
async def test_the_real_server_refuses_a_wrong_token(real: Real, tmp_path) -> None:
    with pytest.raises(Unauthorized):
        await _list_nodes(real.kubeconfig(tmp_path, token="wrong"))


@pytest.mark.real
@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"tls-server-name": "localhost"}, None),
        ({"tls-server-name": "elsewhere.example"}, "is not trusted.*elsewhere.example"),
        ({"certificate-authority": "another"}, "the certificate of https://127.0.0.1:[0-9]+ is not trusted"),
        ({"certificate-authority": "another", "insecure-skip-tls-verify": True}, None),
    ],
)
async def test_the_certificate_of_the_server_is_checked_as_the_kubeconfig_says(real, tmp_path, change, error) -> None:
    (tmp_path / "another").mkdir()
    another = str(Authority(tmp_path / "another").pair.certificate)
    path = real.kubeconfig(tmp_path, token=ADMIN_TOKEN)
    content = yaml.safe_load(path.read_text())
    content["clusters"][0]["cluster"] |= {k: another if v == "another" else v for k, v in change.items()}
    path.write_text(yaml.safe_dump(content))
    if error is None:
        await _list_nodes(path)
    else:
        with pytest.raises(ApiError, match=error):
            await _list_nodes(path)
