"""The table of the chart's values, from values.yaml: a comment that begins with `--` belongs to the next key.

A value without a comment is an error: whoever adds one says what it is for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True)
class Value:
    """A value of the chart, by its path: `scheduler.replicas`."""

    path: str
    default: Any
    about: str

    def row(self) -> str:
        text = json.dumps(self.default, ensure_ascii=False) if self.default != "" else '""'
        return f"| `{self.path}` | `{text}` | {self.about} |"


class Undocumented(Exception):
    """Values that have no comment."""


def read(path: Path) -> list[Value]:
    """Every value that has a comment, in the order of the file."""
    text = path.read_text(encoding="utf-8")
    defaults = yaml.safe_load(text)
    found = [Value(name, _at(defaults, name), about) for name, about in _commented(text)]
    missing = sorted(set(_leaves(defaults, {value.path for value in found})))
    if missing:
        raise Undocumented(f"values.yaml says nothing about {', '.join(missing)}")
    return found


def table(values: list[Value]) -> str:
    return "\n".join(["| value | default | what it is for, and why so |", "|---|---|---|", *(v.row() for v in values)])


def _commented(text: str) -> Iterator[tuple[str, str]]:
    above: list[tuple[int, str]] = []  # the keys that the current line is inside of, with their indentation
    about: list[str] = []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("# -- "):
            about = [stripped.removeprefix("# -- ")]
        elif stripped.startswith("# ") and about:
            about.append(stripped.removeprefix("# "))
        elif ":" in stripped and not stripped.startswith(("#", "-")):
            indent = len(line) - len(line.lstrip())
            above = [(i, key) for i, key in above if i < indent] + [(indent, stripped.partition(":")[0])]
            if about:
                yield ".".join(key for _, key in above), " ".join(about)
            about = []


def _leaves(node: Any, documented: set[str], path: str = "") -> Iterator[str]:
    if path in documented:
        return
    if isinstance(node, dict) and node:
        for key, child in node.items():
            yield from _leaves(child, documented, f"{path}.{key}" if path else key)
    else:
        yield path


def _at(node: Any, path: str) -> Any:
    for key in path.split("."):
        node = node[key]
    return node
