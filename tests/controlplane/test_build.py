"""Building with a pretended `go`: what the cache, the lock and the error messages promise."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.controlplane.build import build, cache_directory
from tests.controlplane.golang import BuildError

# Answers the three questions that the build asks, and notes each `go build` in a file beside itself.
PRETENDED_GO = """#!/bin/sh
case "$1 $2" in
  "mod download") echo '{"GoMod": "/any/go.mod"}' ;;
  "mod edit") echo '{"Go": "1.26.0", "Replace": [
      {"Old": {"Path": "k8s.io/api"}, "New": {"Path": "./staging/src/k8s.io/api"}}]}' ;;
  *) cp go.mod "$0.last.mod"; echo built >> "$0.builds"; sleep 0.3; echo binary > program ;;
esac
"""
FAILING_GO = """#!/bin/sh
echo 'cannot find module k8s.io/nothing' >&2
exit 1
"""


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "bin" / "go"
    program.parent.mkdir()
    program.write_text(PRETENDED_GO)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    return program


def _builds(go: Path) -> int:
    return len(Path(f"{go}.builds").read_text().splitlines())


def test_a_program_is_built_into_the_cache_and_nothing_else_stays_there(go: Path):
    assert build(("kube-apiserver",))["kube-apiserver"].read_text() == "binary\n"
    assert sorted(path.name for path in cache_directory().iterdir()) == [".lock", "kube-apiserver"]


def test_what_is_built_is_not_built_again_and_needs_no_go(go: Path):
    build(("etcd",))
    go.unlink()
    assert build(("etcd",))["etcd"].exists()
    assert _builds(go) == 1


def test_the_staging_modules_are_taken_in_the_version_that_belongs_to_kubernetes(go: Path):
    build(("kube-scheduler",))
    module = Path(f"{go}.last.mod").read_text()
    assert "require k8s.io/kubernetes v1.36.3\n" in module
    assert "replace k8s.io/api => k8s.io/api v0.36.3\n" in module


def test_a_failed_build_shows_what_go_said_and_leaves_no_binary(go: Path):
    go.write_text(FAILING_GO)
    with pytest.raises(BuildError, match=r"etcd v3\.7\.3: go mod failed\n    cannot find module k8s\.io/nothing"):
        build(("etcd",))
    assert [path.name for path in cache_directory().iterdir()] == [".lock"]


def test_of_two_builds_at_once_one_waits_for_the_other(go: Path):
    command = [sys.executable, "-m", "tests.controlplane.build", "etcd"]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = "".join(run.communicate(timeout=30)[0] for run in runs)
    assert [run.returncode for run in runs] == [0, 0]
    assert "waiting for it" in said
    assert _builds(go) == 1


def test_ready_binaries_are_used_where_kubebuilder_assets_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "etcd").touch()
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    assert build(("etcd",)) == {"etcd": tmp_path / "etcd"}


def test_a_binary_missing_from_kubebuilder_assets_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "etcd").touch()
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    with pytest.raises(BuildError, match=f"{tmp_path} has no kube-apiserver;"):
        build(("etcd", "kube-apiserver"))


def test_an_unknown_component_is_refused_with_the_known_ones():
    with pytest.raises(BuildError, match="'kublet'; there are: etcd, kube-apiserver"):
        build(("kublet",))
