"""Which kubeconfig counts, and several of them joined: as for kubectl."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import yaml

from koordpy.kube.auth import identity
from koordpy.kube.auth.credentials import BadCredentials, load_credentials
from tests.controlplane.certificates import Authority
from tests.kube.test_credentials import exec_plugin, kubeconfig


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path) -> Path:
    """A home without a kubeconfig, outside of a pod."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home" / ".kube").mkdir(parents=True)
    return tmp_path / "home"


@pytest.fixture
def pod(monkeypatch, tmp_path) -> None:
    """The service account of a pod."""
    account = tmp_path / "account"
    account.mkdir()
    (account / "ca.crt").write_bytes(Authority(account).pair.certificate.read_bytes())
    (account / "token").write_text("pod")
    monkeypatch.setattr(identity, "_SERVICE_ACCOUNT", account)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")


async def token(flag: str | None = None, context: str | None = None) -> str:
    """Whose credentials they are."""
    headers = await (await load_credentials(flag, context)).headers()
    return headers["Authorization"].removeprefix("Bearer ")


def written(path: Path, name: str) -> Path:
    """A kubeconfig whose context, user and token have one name."""
    return kubeconfig(path, {"token": name}, name=name)


def several(*paths: Path) -> str:
    return os.pathsep.join(map(str, paths))


# --- which one ---


async def test_the_flag_goes_before_the_environment_before_the_pod_before_home(
    home, pod, tmp_path, monkeypatch
) -> None:
    written(home / ".kube" / "config", "home")
    flag = str(written(tmp_path / "flag", "flag"))
    monkeypatch.setenv("KUBECONFIG", str(written(tmp_path / "env", "environment")))
    assert await token(flag) == "flag"
    assert await token() == "environment"
    monkeypatch.delenv("KUBECONFIG")
    assert await token() == "pod"
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    assert await token() == "home"


async def test_a_token_that_is_not_mounted_is_no_pod(home, pod, monkeypatch, tmp_path) -> None:
    (tmp_path / "account" / "token").unlink()
    written(home / ".kube" / "config", "home")
    assert await token() == "home"


async def test_whoever_names_a_context_does_not_mean_the_service_account(home, pod) -> None:
    written(home / ".kube" / "config", "home")
    assert await token(context="home") == "home"


async def test_a_context_without_any_kubeconfig_is_refused(pod) -> None:
    with pytest.raises(BadCredentials, match=r"no ~/.kube/config to find context 'x' in"):
        await token(context="x")


async def test_a_file_of_the_environment_that_is_not_there_is_named(home, tmp_path, monkeypatch) -> None:
    written(home / ".kube" / "config", "home")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))
    with pytest.raises(BadCredentials, match=f"kubeconfig {tmp_path}/missing: no such file"):
        await token()


# --- several, joined ---


async def test_of_several_the_first_current_context_counts_and_every_context_can_be_chosen(
    tmp_path, monkeypatch
) -> None:
    files = written(tmp_path / "one", "one"), written(tmp_path / "two", "two")
    monkeypatch.setenv("KUBECONFIG", several(tmp_path / "missing", *files))
    assert await token() == "one"
    assert await token(context="two") == "two"


async def test_of_entries_of_one_name_the_first_counts(tmp_path, monkeypatch) -> None:
    first = kubeconfig(tmp_path / "one", {"token": "first"}, name="same")
    second = kubeconfig(tmp_path / "two", {"token": "second"}, name="same")
    monkeypatch.setenv("KUBECONFIG", several(first, second))
    assert await token() == "first"


async def test_a_context_may_stand_in_one_file_and_its_user_in_another(tmp_path, monkeypatch) -> None:
    whole = yaml.safe_load(written(tmp_path / "whole", "x").read_text())
    user = {"users": whole.pop("users")}
    (tmp_path / "context").write_text(yaml.safe_dump(whole))
    (tmp_path / "user").write_text(yaml.safe_dump(user))
    monkeypatch.setenv("KUBECONFIG", several(tmp_path / "context", tmp_path / "user"))
    assert await token() == "x"


async def test_paths_are_relative_to_the_file_that_they_stand_in(tmp_path, monkeypatch) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "token").write_text(name)
        kubeconfig(tmp_path / name / "config", {"tokenFile": "token"}, name=name)
    monkeypatch.setenv("KUBECONFIG", several(tmp_path / "a" / "config", tmp_path / "b" / "config"))
    assert [await token(context="a"), await token(context="b")] == ["a", "b"]


async def test_an_empty_file_among_several_says_nothing(tmp_path, monkeypatch) -> None:
    (tmp_path / "empty").write_text("")
    monkeypatch.setenv("KUBECONFIG", several(tmp_path / "empty", written(tmp_path / "one", "one")))
    assert await token() == "one"


@pytest.mark.parametrize("empty", [True, False], ids=["with an empty file before them", "alone"])
async def test_with_an_exec_plugin_the_first_current_context_counts_too(tmp_path, monkeypatch, empty) -> None:
    """Another library reads these, in which the last one would count."""
    (tmp_path / "empty").write_text("")
    first = kubeconfig(tmp_path / "one", exec_plugin(tmp_path), name="one")
    more = [tmp_path / "empty"] if empty else []
    monkeypatch.setenv("KUBECONFIG", several(*more, first, written(tmp_path / "two", "two")))
    assert await token() == "token-1"


async def test_several_plain_files_are_read_without_the_large_library(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes_asyncio", None)  # an import would raise
    monkeypatch.setenv("KUBECONFIG", several(written(tmp_path / "one", "one"), written(tmp_path / "two", "two")))
    assert await token() == "one"


# --- contexts ---


async def test_an_unknown_context_is_answered_with_those_that_there_are(tmp_path) -> None:
    with pytest.raises(BadCredentials, match=r"kubeconfig .*: there is no context 'elsewhere'; there are one"):
        await token(str(written(tmp_path / "k", "one")), "elsewhere")


async def test_a_kubeconfig_without_a_current_context_asks_for_one(tmp_path) -> None:
    content = yaml.safe_load(written(tmp_path / "k", "one").read_text()) | {"current-context": ""}
    (tmp_path / "k").write_text(yaml.safe_dump(content))
    with pytest.raises(BadCredentials, match="it has no current-context; choose one with --context: one"):
        await token(str(tmp_path / "k"))
