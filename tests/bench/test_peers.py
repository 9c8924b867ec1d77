"""Building other schedulers with a pretended `go`: what the cache keeps, and what of their modules is changed."""

from pathlib import Path

import pytest

from bench.peers.build import build, cache_directory
from tests.controlplane.golang import BuildError

CRD = "kind: CustomResourceDefinition\nmetadata: {name: podgroups.example.com}\n"
# Answers what the build asks for a module of one library, and notes what it was asked.
PRETENDED_GO = """#!/bin/sh
echo "$@" >> "$0.asked"
case "$1 $2 $3" in
  "mod download "*) echo '{"Dir": "SOURCE"}' ;;
  "mod edit -json") echo '{"Replace": [
      {"Old": {"Path": "k8s.io/api"}, "New": {"Path": "k8s.io/api", "Version": "v0.34.7"}},
      {"Old": {"Path": "k8s.io/kubernetes"}, "New": {"Path": "k8s.io/kubernetes", "Version": "v1.34.7"}}]}' ;;
  "build "*) while [ "$1" != -o ]; do shift; done; echo binary > "$2" ;;
esac
"""


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    source = tmp_path / "source"
    crds = source / "config" / "crd" / "bases"
    crds.mkdir(parents=True)
    (crds / "podgroups.yaml").write_text(CRD)
    crds.chmod(0o555)  # as in Go's own cache
    program = tmp_path / "bin" / "go"
    program.parent.mkdir()
    program.write_text(PRETENDED_GO.replace("SOURCE", str(source)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return program


def _asked(go: Path) -> str:
    return Path(f"{go}.asked").read_text()


def test_a_peer_is_kept_with_its_definitions_and_nothing_else(go: Path):
    built = build("koord-scheduler")
    assert built.program.read_text() == "binary\n"
    assert [crd["metadata"]["name"] for crd in built.definitions()] == ["podgroups.example.com"]
    assert sorted(path.name for path in cache_directory().iterdir()) == [".lock", "koord-scheduler_v1.8.0"]


def test_programs_that_a_peer_needs_beside_it_are_built_with_it(go: Path):
    (go.parents[1] / "source" / "deployments").mkdir()
    (go.parents[1] / "source" / "deployments" / "kai-scheduler").mkdir()
    (go.parents[1] / "source" / "config" / "crd" / "bases").rename(
        go.parents[1] / "source" / "deployments" / "kai-scheduler" / "crds"
    )
    built = build("kai")
    assert {name: path.read_text() for name, path in built.beside.items()} == {
        "binder": "binary\n",
        "podgrouper": "binary\n",
    }
    assert built.program not in built.beside.values()


def test_a_peer_in_the_cache_is_not_built_again_and_needs_no_go(go: Path):
    build("koord-scheduler")
    go.unlink()
    assert build("koord-scheduler").program.exists()


def test_libraries_are_replaced_only_where_a_peer_says_so(go: Path):
    build("koord-scheduler")
    assert "-replace" not in _asked(go)
    build("coscheduling")
    assert "-replace=k8s.io/api=k8s.io/api@v0.34.13" in _asked(go)
    assert "-replace=k8s.io/kubernetes" not in _asked(go)


def test_a_failed_build_leaves_nothing(go: Path):
    go.write_text("#!/bin/sh\necho 'no such module' >&2\nexit 1\n")
    with pytest.raises(BuildError, match="no such module"):
        build("koord-scheduler")
    assert [path.name for path in cache_directory().iterdir()] == [".lock"]
