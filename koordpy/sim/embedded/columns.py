"""The columns of a table and the cells in them: paths, numbers, ages."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Obj = dict[str, Any]
Cell = Callable[[Obj, float], Any]  # from the object and the time

_STEP = re.compile(
    r"\.?((?:\\.|[^.\[\\])+)|\[['\"](.+?)['\"]\]|\[(\d+|-1:)\]"
    r"|\[\?\(@\.(\w+)==(true|false|['\"].+?['\"])\)\]|(\[\*\])"
)


@dataclass(frozen=True, slots=True)
class Column:
    title: str
    cell: Cell
    kind: str = "string"
    format: str = ""
    priority: int = 0  # above 0: shown by `-o wide` only

    def definition(self) -> Obj:
        told = {"name": self.title, "type": self.kind, "format": self.format}
        return told | {"description": self.title, "priority": self.priority}


def text(path: str, absent: str = "") -> Cell:
    def cell(obj: Obj, _now: float) -> str:
        value = at_path(obj, path)
        return absent if value is None else str(value)

    return cell


def number(path: str) -> Cell:
    return lambda obj, _now: at_path(obj, path) or 0


def age(path: str) -> Cell:
    def cell(obj: Obj, now: float) -> str:
        since = at_path(obj, path)
        return duration(now - datetime.fromisoformat(since).timestamp()) if since else "<unknown>"

    return cell


def at_path(obj: Any, path: str) -> Any:
    """A simple JSONPath: `.spec.a`, `.a[0]`, `.a[-1:]`, `.conditions[?(@.type=="Ready")].status`, `.a['x.y/z']`.

    A filter may also be by `==true` or `==false`.
    """
    for key, quoted, index, field, wanted, every in _STEP.findall(path):
        if index or field or every:
            chosen = _choose(obj, index, field, wanted)
        else:
            name = quoted or key.replace("\\", "")
            chosen = obj.get(name) if isinstance(obj, dict) else None
        if chosen is None:
            return None
        obj = chosen
    return obj


def _choose(items: Any, index: str, field: str, wanted: str) -> Any:
    if not isinstance(items, list):
        return None
    if index:
        position = int(index.rstrip(":"))
        return items[position] if position < len(items) and items else None
    value: Any = {"true": True, "false": False}.get(wanted, wanted[1:-1])
    return next((item for item in items if not field or item.get(field) == value), None)


def duration(seconds: float) -> str:
    """As kubectl shows an age: two units while the first is small, one after that."""
    whole = max(int(seconds), 0)
    if whole < 120:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 10:
        return f"{minutes}m{rest}s" if rest else f"{minutes}m"
    hours, left = divmod(minutes, 60)
    if hours < 3:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h{left}m" if left else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    return f"{hours // 24}d"
