"""A breakage changes what the code does, and nothing on disk."""

from __future__ import annotations

import ast
from pathlib import Path

import koordpy.kube.writes
from tests.mutations.breaking import Breakage, _Breaker, chosen


def broken(source: str, breakage: Breakage) -> dict[str, object]:
    names: dict[str, object] = {"_broken": lambda: True}
    exec(compile(_Breaker(breakage).visit(ast.parse(source)), "m", "exec"), names)
    return names


def test_a_condition_is_turned_round():
    source = "def f(a):\n    if a > 1:\n        return 'more'\n    return 'less'\n"
    f = broken(source, Breakage("m", 2, 4, "turned", "a > 1"))["f"]
    assert [f(1), f(2)] == ["more", "less"]


def test_a_call_is_left_out():
    source = "def f(a):\n    a.append(1)\n    a.append(2)\n    return a\n"
    f = broken(source, Breakage("m", 2, 4, "left out", "a.append(1)"))["f"]
    assert f([]) == [2]


def test_the_same_number_gives_the_same_breakages_and_leaves_the_files_alone():
    before = Path(koordpy.kube.writes.__file__).read_text()
    assert chosen(30) == chosen(30)
    assert len(set(chosen(120))) == 120
    assert Path(koordpy.kube.writes.__file__).read_text() == before
