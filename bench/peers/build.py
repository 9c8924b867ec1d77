"""Builds the schedulers of others once, into the user's cache; `python -m bench.peers.build [NAME ...]`.

Their modules carry `replace` lines, which Go obeys only in the main module: so each is built inside a copy of its own
downloaded source. What is kept is the program and its CustomResourceDefinitions. Owns the cache directory `peers`, and
never leaves half of anything there: each peer is made in a directory of its own, which is renamed when it is whole.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from bench.peers.programs import PROGRAMS, Program
from tests.controlplane.build import only_one_build
from tests.controlplane.golang import BuildError, elapsed, find_go, run_go


@dataclass(frozen=True)
class Built:
    """A peer that is ready to run."""

    program: Path
    crds: Path  # a directory of YAML files
    beside: Mapping[str, Path] = field(default_factory=dict)  # programs that it needs, by the name of their package

    def definitions(self) -> list[dict[str, Any]]:
        found = [yaml.safe_load(path.read_text()) for path in sorted(self.crds.glob("*.yaml"))]
        return [crd for crd in found if crd and crd["kind"] == "CustomResourceDefinition"]


def build(name: str) -> Built:
    """The named peer, built first where it is missing."""
    program = PROGRAMS[name]
    directory = cache_directory() / program.directory_name
    if not directory.exists():
        with only_one_build(cache_directory()):
            if not directory.exists():  # looked at again: the build that was waited for may have made it
                _build(program, find_go(), directory)
    beside = {name: directory / name for name in map(_last, program.beside)}
    return Built(directory / "program", directory / "crds", beside)


def cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "koordpy" / "peers"


def _build(program: Program, go: str, directory: Path) -> None:
    started = time.monotonic()
    label = program.label
    print(f"building {label}, the first time this takes {program.first_build} ...", flush=True)
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=f".{program.name}-") as temporary:
        source, made = Path(temporary) / "source", Path(temporary) / "made"
        made.mkdir()
        _copy_source(program, go, source, label)
        flags = ["-trimpath", "-ldflags", "-s -w"]
        for output, package in (("program", program.package), *((_last(each), each) for each in program.beside)):
            run_go(go, ["build", *flags, "-o", str(made / output), package], cwd=source, label=label)
        shutil.copytree(source / program.crds, made / "crds")
        made.rename(directory)
    print(f"built {label} in {elapsed(started)}", flush=True)


def _last(package: str) -> str:
    return package.rpartition("/")[2]


def _copy_source(program: Program, go: str, source: Path, label: str) -> None:
    """Contents without modes: Go's cache is read-only, and a copy like that could not be built in, or removed."""
    versioned = f"{program.module}@{program.version}"
    found = json.loads(run_go(go, ["mod", "download", "-json", versioned], cwd=source.parent, label=label))
    shutil.copytree(found["Dir"], source, copy_function=shutil.copyfile)
    for directory, _, _ in os.walk(source):
        Path(directory).chmod(0o755)
    _replace_libraries(program, go, source, label)


def _replace_libraries(program: Program, go: str, source: Path, label: str) -> None:
    named, taken = program.libraries
    replaced = json.loads(run_go(go, ["mod", "edit", "-json"], cwd=source, label=label)).get("Replace") or ()
    for entry in (each["New"] for each in replaced):
        if named and entry.get("Version") == named and entry["Path"].startswith("k8s.io/"):
            change = f"-replace={entry['Path']}={entry['Path']}@{taken}"
            run_go(go, ["mod", "edit", change], cwd=source, label=label)


def main(arguments: list[str]) -> None:
    if unknown := [name for name in arguments if name not in PROGRAMS]:
        sys.exit(f"error: no scheduler is called {unknown[0]!r}; there are: {', '.join(PROGRAMS)}")
    try:
        for name in arguments or PROGRAMS:
            build(name)
    except BuildError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
