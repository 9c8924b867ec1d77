"""The layers of the program, read from its imports: everything imports downwards only, and two rooms stay pure."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = sorted((ROOT / "koordpy").rglob("*.py"))

# Lowest first. A module imports from its own room and from layers below; rooms of one layer do not know each other.
LAYERS = (
    {"__version__"},
    {"metrics"},
    {"api"},
    {"state"},
    {"plan", "quota"},
    {"plugin"},
    {"kube"},
    {"scheduler"},
    {"controllers", "server"},
    {"app"},
    {"sim"},
    {"cli"},
    {"__main__"},
)
LAYER_OF = {room: number for number, rooms in enumerate(LAYERS) for room in rooms}

# Rooms that may import less than their layer would allow, so that they can be thought about, and tested, alone.
ONLY = {
    "kube": {"__version__", "api", "metrics"},  # what we say and hear; never what we know or decide
    "server": {"__version__", "api", "state", "metrics"},  # shows what we know; never asks the scheduler
    "sim/embedded": {"__version__", "api", "kube"},  # an API server knows nothing about who schedules on it
}
SYNCHRONOUS = ("api", "state", "plan", "quota")
NOT_IN_SYNCHRONOUS = {"asyncio", "aiohttp", "kubernetes_asyncio", "socket", "ssl", "threading", "time", "random"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_from_its_own_room_and_from_layers_below(path: Path) -> None:
    own = _room(path)
    assert own in LAYER_OF, f"{own} has no layer: give it one in LAYERS"
    above = {room for room in _rooms_imported(path) - {own} if LAYER_OF.get(room, 99) >= LAYER_OF[own]}
    assert not above, f"koordpy.{own} must not import {sorted(above)}"


def test_the_docs_name_the_layers_as_they_are() -> None:
    """Run this file as a program to write the line anew."""
    assert layers_line() in (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def layers_line() -> str:
    rooms = (", ".join(sorted(layer)) for layer in LAYERS if not any(room.startswith("__") for room in layer))
    return f"<!-- layers -->`{' < '.join(rooms)}`<!-- /layers -->"


@pytest.mark.parametrize("room", ONLY)
def test_a_room_that_stands_alone_imports_nothing_else(room: str) -> None:
    for path in MODULES:
        if path.is_relative_to(ROOT / "koordpy" / room):
            assert _rooms_imported(path) <= ONLY[room] | {_room(path)}, path


@pytest.mark.parametrize("room", SYNCHRONOUS)
def test_a_synchronous_room_imports_no_loop_no_network_no_clock_and_no_chance(room: str) -> None:
    for path in MODULES:
        if _room(path) == room:
            assert not {name.partition(".")[0] for name in _imported(path)} & NOT_IN_SYNCHRONOUS, path


def test_only_credentials_imports_kubernetes_asyncio_and_only_when_called() -> None:
    users = [path for path in MODULES if any(name.startswith("kubernetes_asyncio") for name in _imported(path))]
    assert [str(path.relative_to(ROOT)) for path in users] == ["koordpy/kube/auth/credentials.py"]
    assert not any(name.startswith("kubernetes_asyncio") for name in _names(_parsed(users[0]).body))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_opens_with_a_docstring(path: Path) -> None:
    assert ast.get_docstring(_parsed(path)), f"{path.relative_to(ROOT)} does not say what it owns"


def test_imports_are_read_wherever_they_stand(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        "def f():\n    import aiohttp.web\n    from koordpy import scheduler\n    from koordpy.kube.leader import X\n"
    )
    assert set(_imported(module)) == {"aiohttp.web", "koordpy.scheduler", "koordpy.kube.leader"}
    assert _rooms_imported(module) == {"scheduler", "kube"}


def _room(path: Path) -> str:
    inside = path.relative_to(ROOT / "koordpy")
    if len(inside.parts) > 1:
        return inside.parts[0]
    return "__version__" if inside.stem == "__init__" else inside.stem


def _rooms_imported(path: Path) -> set[str]:
    names = (name.split(".") for name in _imported(path))
    return {parts[1] if len(parts) > 1 else "__version__" for parts in names if parts[0] == "koordpy"}


def _imported(path: Path) -> list[str]:
    return list(_names(list(ast.walk(_parsed(path)))))


def _names(nodes: list[ast.stmt] | list[ast.AST]) -> Iterator[str]:
    """Full names of the modules that these statements import: `from koordpy import api` imports `koordpy.api`."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None, f"line {node.lineno}: imports are absolute here"
            yield from (f"koordpy.{a.name}" for a in node.names) if node.module == "koordpy" else (node.module,)


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=sys.version_info[:2])


def _write_the_line() -> None:
    path = ROOT / "docs" / "architecture.md"
    path.write_text(re.sub("<!-- layers -->.*<!-- /layers -->", layers_line(), path.read_text(encoding="utf-8")))


if __name__ == "__main__":
    _write_the_line()
