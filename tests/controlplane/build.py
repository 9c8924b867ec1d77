"""Builds the real control plane once, into the user's cache; `python -m tests.controlplane.build [NAME ...]`.

Owns the cache directory and nothing else. It never leaves half a binary there: each one is built in a
directory of its own and renamed into place, under a lock, so that an interrupted build does no harm.
"""

import contextlib
import fcntl
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.controlplane.components import COMPONENTS, DEFAULT, VERSIONS, Component
from tests.controlplane.golang import BuildError, elapsed, find_go, run_go


def main(arguments: list[str]) -> None:
    try:
        build(arguments or DEFAULT)
    except BuildError as error:
        sys.exit(f"error: {error}")


def build(names: Iterable[str] = DEFAULT) -> dict[str, Path]:
    """The path of each named program, built first where it is missing."""
    wanted = [_component(name) for name in names]
    ready: dict[str, Path] = {}
    if assets := os.environ.get("KUBEBUILDER_ASSETS"):
        ready = _ready_made(Path(assets), [component for component in wanted if component.name in DEFAULT])
        wanted = [component for component in wanted if component.name not in ready]
    return ready | _from_the_cache(wanted)


def _from_the_cache(wanted: list[Component]) -> dict[str, Path]:
    directory = cache_directory()
    binaries = {component.name: directory / component.file_name for component in wanted}
    if all(path.exists() for path in binaries.values()):
        return binaries
    with only_one_build(directory):
        # Looked at again: the build that was waited for may have made them.
        missing = [component for component in wanted if not binaries[component.name].exists()]
        go = find_go() if missing else ""
        for component in missing:
            _build(component, go, directory)
    return binaries


def cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "koordpy" / "controlplane" / VERSIONS


def _component(name: str) -> Component:
    if name not in COMPONENTS:
        raise BuildError(f"no component is called {name!r}; there are: {', '.join(COMPONENTS)}")
    return COMPONENTS[name]


def _ready_made(assets: Path, wanted: list[Component]) -> dict[str, Path]:
    binaries = {component.name: assets / component.name for component in wanted}
    missing = [name for name, path in binaries.items() if not path.exists()]
    if missing:
        raise BuildError(
            f"KUBEBUILDER_ASSETS={assets} has no {', '.join(missing)}; "
            f"put the missing binaries there, or unset KUBEBUILDER_ASSETS to have them built"
        )
    return binaries


@contextlib.contextmanager
def only_one_build(directory: Path) -> Iterator[None]:
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("another build is running: waiting for it ...", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield  # closing the file gives the lock back, and so does the death of this process


def _build(component: Component, go: str, directory: Path) -> None:
    started = time.monotonic()
    label = f"{component.name} {component.version}"
    print(f"building {label}, the first time this takes {component.first_build} ...", flush=True)
    with tempfile.TemporaryDirectory(dir=directory, prefix=f".{component.name}-") as temporary:
        workspace = Path(temporary)
        _write_wrapper_module(component, go, workspace)
        flags = " ".join(("-s", "-w", *component.stamps))
        run_go(go, ["build", "-ldflags", flags, "-o", "program", component.package], cwd=workspace, label=label)
        (workspace / "program").replace(directory / component.file_name)
    print(f"built {label} in {elapsed(started)}", flush=True)


def _write_wrapper_module(component: Component, go: str, workspace: Path) -> None:
    """A module of our own around it: `go install` refuses modules with `replace` lines, as Kubernetes has."""
    label = f"{component.name} {component.version}"
    versioned = f"{component.module}@{component.version}"
    found = json.loads(run_go(go, ["mod", "download", "-json", versioned], cwd=workspace, label=label))
    original = json.loads(run_go(go, ["mod", "edit", "-json", found["GoMod"]], cwd=workspace, label=label))
    lines = ["module koordpy.test/controlplane", "", f"go {original['Go']}", ""]
    lines += [f"godebug {setting['Key']}={setting['Value']}" for setting in original.get("Godebug") or ()]
    lines += [f"require {component.module} {component.version}"]
    lines += [f"require k8s.io/{library} {component.staging_version}" for library in component.libraries]
    lines += [f"replace {path} => {path} {component.staging_version}" for path in _staged(original)]
    (workspace / "go.mod").write_text("\n".join(lines) + "\n")
    if component.main:
        (workspace / "main.go").write_text(component.main)


def _staged(module: dict) -> list[str]:
    """The modules in this one's own tree (`=> ./staging/src/k8s.io/api`), published separately too."""
    replaced = module.get("Replace") or ()
    return [entry["Old"]["Path"] for entry in replaced if entry["New"]["Path"].startswith("./staging/")]


if __name__ == "__main__":
    main(sys.argv[1:])
